"""Where results lie: one part per finished unit, and the tables made of them.

A part is a Parquet file with scores and a JSON file beside it that says how they came about and
carries the checksums of both. The JSON file is written last: a part without it was not finished.
Everything else is in the folder's ledger. What neither a checksum nor the ledger proves to be ours
is never touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError
from intravar.runs.store import PartsFolder, locked, software_versions
from intravar.study.benchmark.units import SCORE_SCHEMA, Unit, UnitResult
from intravar.writing import Ledger, make_folder, sweep

_PARTS = "parts"
#: What a record must hold, and of which type.
_RECORD: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("unit", "condition", "replicates", "configuration_hash"), str),
    **dict.fromkeys(("methods", "runs"), list),
    **dict.fromkeys(("configuration", "versions", "details"), dict),
    "replicate": int,
    "peak_memory_mb": (int, float),
}
_RUN = {"condition", "replicate", "method", "seconds", "error"}

#: One row per run: what is stored of it, and what it shares with its part.
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

    @property
    def finished(self) -> list[tuple[str, int, str]]:
        """Condition, replicate and method of all that did not fail."""
        where = self.record["condition"], self.record["replicate"]
        done = {run["method"] for run in self.record["runs"] if run["error"] is None}
        return [(*where, method) for method in sorted(done)]


class Store:
    """The results of a study in a folder, which is made if its parent exists."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._parts = PartsFolder(self.folder / _PARTS)

    @cached_property
    def ledger(self) -> Ledger:
        """The files of the folder that are ours, parts aside."""
        return Ledger(self.folder)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this run alone; the lock goes with the process, however it ends."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"'{self.folder}' is a file; name a folder with --out")
        if not self.folder.exists() and not self.folder.parent.is_dir():
            raise InputError(f"folder '{self.folder.parent}' does not exist; make it first")
        make_folder(self.folder / _PARTS)
        lock = locked(self.folder / ".intravar.lock", self.folder)
        try:
            # Whoever holds the lock is alone: what is unfinished now was left by a killed run.
            for folder in (self.folder, self.folder / _PARTS, self.folder / "tables"):
                sweep(folder)
            yield
        finally:
            lock.release()

    def clear(self) -> None:
        """Remove the results of earlier runs, and nothing that is not proved to be theirs."""
        self.ledger.clear()
        for part in self.scan()[0]:
            self._parts.remove(part.name)

    # --- parts ---

    def write(self, result: UnitResult) -> None:
        """Keep the result of a unit; a crash at any moment leaves either all of it or none."""
        unit = result.unit
        if self._parts.record(unit.name).exists() and self._sound_part(unit.name) is None:
            self._set_aside(unit.name)
        record = {
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
        }
        self._parts.keep(unit.name, {"": result.scores}, record)

    def scan(self) -> tuple[list[Part], list[str]]:
        """Return the sound parts, and the names of those that are truncated or were changed."""
        names = [path.stem for path in sorted((self.folder / _PARTS).glob("*.json"))]
        found = {name: self._sound_part(name) for name in names}
        return [part for part in found.values() if part], [n for n in names if not found[n]]

    def _set_aside(self, name: str) -> None:
        """Keep under another name what lies where a part is to be written and is none."""
        for path in (self._parts.record(name), self._parts.table(name)):
            try:
                if path.exists():
                    os.replace(path, path.with_name(f"{name}.damaged{path.suffix}.kept"))
            except OSError as error:
                raise InputError(
                    f"'{path}' is damaged and cannot be moved away: {error.strerror}"
                ) from error

    def _sound_part(self, name: str) -> Part | None:
        """Return a part if it is whole, unchanged and under its own name; None otherwise."""
        record = self._parts.kept(name)
        # A copy under another name would count a second time.
        if record is None or record.get("unit") != name:
            return None
        typed = all(isinstance(record.get(key), kind) for key, kind in _RECORD.items())
        whole = typed and all(set(run) >= _RUN for run in record["runs"])
        return Part(name, record) if whole else None

    # --- the whole ---

    def gather(self, parts: list[Part]) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
        """Join parts to the scores, the runs and the details of the study."""
        order = ["condition", "replicate", "method", "physician"]
        scores = [pl.DataFrame(schema=SCORE_SCHEMA)]
        details: dict[str, Any] = {}
        try:
            for part in sorted(parts, key=lambda part: part.name):
                table = self._parts.table(part.name)
                scores.append(pl.read_parquet(table, columns=list(SCORE_SCHEMA)))
                key = f"{part.record['condition']}.r{part.record['replicate']:03d}"
                details.setdefault(key, {}).update(part.record["details"])
            return pl.concat(scores).sort(order), _runs(parts).sort(order[:3]), details
        except (KeyError, TypeError, ValueError, OSError, pl.exceptions.PolarsError) as error:
            first = str(error).partition("\n")[0]
            raise InputError(
                f"the parts in '{self.folder / _PARTS}' do not fit together ({first}); use --fresh "
                "to start over, or another --out"
            ) from error


def check_parts(parts: list[Part], kind: str) -> None:
    """Refuse parts that no table could tell apart, or that would count twice.

    These are fresh and resampled replicates, and two parts that score one method on one cohort.
    """
    seen: dict[tuple[str, int, str], str] = {}
    for part in parts:
        found = part.record["replicates"]
        if found != kind:
            raise InputError(
                f"the folder holds {found} replicates ('{part.name}'), this run makes {kind} ones; "
                "use another --out, or --fresh to start over"
            )
        for condition, replicate, method in part.finished:
            other = seen.setdefault((condition, replicate, method), part.name)
            if other != part.name:
                raise InputError(
                    f"'{other}' and '{part.name}' both hold {method} on {condition}, replicate "
                    f"{replicate}; move one of them out of the folder 'parts'"
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
            then, given = part.record["configuration"], unit.configuration()
            names = [name for name in given if then.get(name) != given[name]]
            changed = ", ".join(f"{n}: {then.get(n)} then, {given[n]} now" for n in names)
            raise InputError(
                f"the results of '{part.name}' were made with another configuration ({changed}); "
                "use --fresh to start over, --allow-mixed to keep them, or another --out"
            )


def _runs(parts: list[Part]) -> pl.DataFrame:
    """Return one row per method and cohort: seconds, memory, versions, error.

    A method that failed once and went through later counts as having gone through.
    """
    finished = {key for part in parts for key in part.finished}
    rows = []
    for part in parts:
        shared = {
            "memory_mb": part.record["peak_memory_mb"],
            "versions": json.dumps(part.record["versions"]),
        }
        for run in part.record["runs"]:
            key = run["condition"], run["replicate"], run["method"]
            if run["error"] is None or key not in finished:
                rows.append(run | shared)
    return pl.DataFrame(rows, schema=RUN_SCHEMA)
