"""Where results lie: one part per finished unit, and the tables made of them.

A part is a Parquet file with scores and a JSON file beside it that says how they came about and
carries the checksums of both. The JSON file is written last: a part without it was not finished.
Everything else is in the folder's ledger. What neither a checksum nor the ledger proves to be ours
is never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError
from intravar.runs.store import PartsFolder, locked, software_versions
from intravar.study.benchmark.units import RUN_SCHEMA, SCORE_SCHEMA, Unit
from intravar.writing import Ledger, make_folder, sweep

_PARTS = "parts"
#: What a record must hold, and of which type.
_RECORD: dict[str, type] = {
    **dict.fromkeys(("unit", "condition", "replicates"), str),
    **dict.fromkeys(("configuration", "versions", "details"), dict),
    "replicate": int,
    "runs": list,
}
#: What a run must hold; parts of earlier versions hold no more.
_RUN = frozenset(("condition", "replicate", "method", "seconds", "error"))


#: What a part says of itself, as it is read back.
Record = dict[str, Any]


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
        for record in self.scan()[0]:
            self._parts.remove(record["unit"])

    # --- parts ---

    def write(self, name: str, scores: pl.DataFrame, record: Record) -> None:
        """Keep the result of a unit; a crash at any moment leaves either all of it or none.

        What lies in its place and is no part is kept under another name.
        """
        if self._parts.record(name).exists() and self._sound(name) is None:
            for path in (self._parts.record(name), self._parts.table(name)):
                try:
                    if path.exists():
                        os.replace(path, path.with_name(f"{name}.damaged{path.suffix}.kept"))
                except OSError as error:
                    raise InputError(
                        f"'{path}' is damaged and cannot be moved away: {error.strerror}"
                    ) from error
        self._parts.keep(name, {"": scores}, record)

    def scan(self) -> tuple[list[Record], list[str]]:
        """Return the records of sound parts, and the names of those truncated or changed."""
        names = [path.stem for path in sorted((self.folder / _PARTS).glob("*.json"))]
        records = {name: self._sound(name) for name in names}
        return [each for each in records.values() if each], [n for n in names if not records[n]]

    def _sound(self, name: str) -> Record | None:
        """Return the record of a part that is whole, unchanged and under its own name, or None."""
        record = self._parts.kept(name)
        # A copy under another name would count a second time.
        if record is None or record.get("unit") != name:
            return None
        typed = all(isinstance(record.get(key), kind) for key, kind in _RECORD.items())
        whole = typed and all(set(run) >= _RUN for run in record["runs"])
        return record if whole else None

    # --- the whole ---

    def gather(self, records: list[Record]) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
        """Join parts to the scores, the runs and the details of the study.

        A method that failed once and went through later counts as having gone through.
        """
        order = ["condition", "replicate", "method", "physician"]
        scores = [pl.DataFrame(schema=SCORE_SCHEMA)]
        done = {key for record in records for key in finished(record)}
        rows: list[dict[str, Any]] = []
        details: dict[str, Any] = {}
        try:
            for record in records:
                table = self._parts.table(record["unit"])
                scores.append(pl.read_parquet(table, columns=list(SCORE_SCHEMA)))
                rows += [
                    run for run in record["runs"] if run["error"] is None or _key(run) not in done
                ]
                key = f"{record['condition']}.r{record['replicate']:03d}"
                details.setdefault(key, {}).update(record["details"])
            runs = pl.DataFrame(rows, schema=RUN_SCHEMA).sort(order[:3])
            return pl.concat(scores).sort(order), runs, details
        except (KeyError, TypeError, ValueError, OSError, pl.exceptions.PolarsError) as error:
            first = str(error).partition("\n")[0]
            raise InputError(
                f"the parts in '{self.folder / _PARTS}' do not fit together ({first}); use --fresh "
                "to start over, or another --out"
            ) from error


def finished(record: Record) -> list[tuple[Any, ...]]:
    """Return condition, replicate and method of all runs of a part that did not fail."""
    return [_key(run) for run in record["runs"] if run["error"] is None]


def _key(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return run["condition"], run["replicate"], run["method"]


def check_parts(records: list[Record], kind: str) -> None:
    """Refuse parts that no table could tell apart, or that would count twice.

    These are fresh and resampled replicates, and two parts that score one method on one cohort.
    """
    file_of: dict[tuple[Any, ...], str] = {}
    for record in records:
        name, stored = record["unit"], record["replicates"]
        if stored != kind:
            raise InputError(
                f"the folder holds {stored} replicates ('{name}'), this run makes {kind} ones; "
                "use another --out, or --fresh to start over"
            )
        for key in finished(record):
            if (other := file_of.setdefault(key, name)) != name:
                condition, replicate, method = key
                raise InputError(
                    f"'{other}' and '{name}' both hold {method} on {condition}, replicate "
                    f"{replicate}; move one of them out of the folder 'parts'"
                )


def check_same_software(records: list[Record], units: Mapping[str, Unit]) -> None:
    """Refuse to mix results of other versions or another configuration with new ones."""
    for record in records:
        then, now = record["versions"] | record["configuration"], dict(software_versions())
        if unit := units.get(record["unit"]):
            now |= unit.configuration()
        changed = [f"{n}: {then.get(n)} then, {now[n]} now" for n in now if then.get(n) != now[n]]
        if changed:
            raise InputError(
                f"the results of '{record['unit']}' were made with another version or "
                f"configuration ({', '.join(changed)}); use --fresh to start over, --allow-mixed "
                "to keep them, or another --out"
            )
