"""Where results lie: one part per finished unit, and the tables made of them.

A part is a Parquet file with scores and a JSON file beside it that says how they came about and
carries the checksums of both. The JSON file is written last: a part without it was not finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from intravar.benchmarking.score_table import SCORE_SCHEMA, current_scores
from intravar.benchmarking.units import Unit, UnitResult, software_versions
from intravar.errors import InputError
from intravar.writing import whole_file

_PARTS = "parts"
_OURS = (
    _PARTS,
    "tables",
    "figures",
    "scores.parquet",
    "runs.parquet",
    "details.json",
    "summary.json",
    "manifest.json",
    "report.html",
)

RUN_SCHEMA = {
    "condition": pl.String,
    "replicate": pl.Int32,
    "method": pl.String,
    "seconds": pl.Float64,
    "memory_mb": pl.Float64,
    "versions": pl.String,
    "error": pl.String,
}


@dataclass(frozen=True)
class Part:
    """One finished unit as it lies on disk."""

    name: str
    record: Mapping[str, Any]
    path: Path

    @property
    def finished_methods(self) -> frozenset[str]:
        """Methods of the part that did not fail."""
        return frozenset(run["method"] for run in self.record["runs"] if run["error"] is None)


class Store:
    """The results of a study in a folder.

    Parameters
    ----------
    folder
        Where the results lie; made if its parent exists.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this run alone; the lock goes with the process, however it ends."""
        self._make_folder()
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(blocking=False)
        except Timeout as error:
            raise InputError(
                f"another run is writing into '{self.folder}'; wait for it or name another "
                "folder with --out"
            ) from error
        except OSError as error:
            raise InputError(f"cannot write into '{self.folder}': {error.strerror}") from error
        try:
            yield
        finally:
            lock.release()

    def _make_folder(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"'{self.folder}' is a file; name a folder with --out")
        if not self.folder.exists() and not self.folder.parent.is_dir():
            raise InputError(f"folder '{self.folder.parent}' does not exist; make it first")
        try:
            (self.folder / _PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write into '{self.folder}': {error.strerror}") from error

    def clear(self) -> None:
        """Remove the results of earlier runs, and nothing else."""
        for name in _OURS:
            target = self.folder / name
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)
        self._make_folder()

    # --- parts ---

    def write(self, result: UnitResult) -> Part:
        """Keep the result of a unit; a crash at any moment leaves either all of it or none."""
        unit = result.unit
        path = self._path(unit.name)
        with whole_file(path) as beside:
            result.scores.write_parquet(beside)
            digest = _checksum(beside)
        record: dict[str, Any] = {
            "unit": unit.name,
            "condition": unit.condition.name,
            "replicate": unit.replicate,
            "replicates": unit.replicates,
            "group": unit.group,
            "methods": list(unit.method_names),
            "seed": unit.seed,
            "configuration": unit.configuration(),
            "configuration_hash": unit.configuration_hash(),
            "versions": software_versions(),
            "seconds": result.seconds,
            "peak_memory_mb": result.peak_memory_mb,
            "runs": result.runs,
            "details": result.details,
            "scores_sha256": digest,
        }
        # Through JSON once, so that the checksum is that of what will be read back.
        record = json.loads(json.dumps(record, default=float))
        record["record_sha256"] = _record_checksum(record)
        with whole_file(path.with_suffix(".json")) as beside:
            beside.write_text(json.dumps(record, indent=1), "utf-8")
        return Part(unit.name, record, path)

    def scan(self) -> tuple[list[Part], list[str]]:
        """Return the sound parts, and the names of those that are truncated or were changed."""
        sound, damaged = [], []
        for path in sorted((self.folder / _PARTS).glob("*.json")):
            part = _sound_part(path)
            if part is None:
                damaged.append(path.stem)
            else:
                sound.append(part)
        return sound, damaged

    def discard(self, name: str) -> None:
        """Remove a part."""
        self._path(name).with_suffix(".json").unlink(missing_ok=True)
        self._path(name).unlink(missing_ok=True)

    def _path(self, unit_name: str) -> Path:
        return self.folder / _PARTS / f"{unit_name}.parquet"

    # --- the whole ---

    def gather(self, parts: list[Part]) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
        """Join parts to the scores, the runs and the details of the study."""
        frames = [current_scores(pl.read_parquet(part.path)) for part in parts]
        scores = pl.concat(frames) if frames else pl.DataFrame(schema=SCORE_SCHEMA)
        order = ["condition", "replicate", "method", "physician"]
        return (
            scores.sort(order),
            runs_table(parts).sort(order[:3]),
            _details(parts),
        )


def check_same_software(parts: list[Part], units: Mapping[str, Unit]) -> None:
    """Refuse to mix results of other versions or another configuration with new ones."""
    current = software_versions()
    for part in parts:
        made_with = part.record["versions"]
        for package, now in current.items():
            if made_with.get(package) != now:
                raise InputError(
                    f"the results of '{part.name}' were made with {package} "
                    f"{made_with.get(package)}, this is {now}; use --fresh to start over, "
                    "--allow-mixed to keep them, or another --out"
                )
        unit = units.get(part.name)
        if unit and unit.configuration_hash() != part.record["configuration_hash"]:
            raise InputError(
                f"the results of '{part.name}' were made with another configuration "
                f"({_difference(part.record['configuration'], unit.configuration())}); use "
                "--fresh to start over, --allow-mixed to keep them, or another --out"
            )


def runs_table(parts: list[Part]) -> pl.DataFrame:
    """Return one row per method and cohort: seconds, memory, versions, error."""
    rows = [
        {
            **run,
            "memory_mb": part.record["peak_memory_mb"],
            "versions": json.dumps(part.record["versions"]),
        }
        for part in parts
        for run in part.record["runs"]
    ]
    return pl.DataFrame(rows, schema=RUN_SCHEMA)


def _details(parts: list[Part]) -> dict[str, Any]:
    details: dict[str, Any] = {}
    for part in sorted(parts, key=lambda part: part.name):
        key = f"{part.record['condition']}.r{part.record['replicate']:03d}"
        details.setdefault(key, {}).update(part.record["details"])
    return details


def _difference(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    names = [name for name in now if then.get(name) != now[name]]
    return ", ".join(f"{name}: {then.get(name)} then, {now[name]} now" for name in names)


def _sound_part(path: Path) -> Part | None:
    try:
        record = json.loads(path.read_text("utf-8"))
        scores = path.with_suffix(".parquet")
        if record.pop("record_sha256") != _record_checksum(record):
            return None
        if record["scores_sha256"] != _checksum(scores):
            return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return Part(path.stem, record, scores)


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record_checksum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
