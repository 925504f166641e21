"""What is finished, kept on disk: a run that was ended goes on where it was.

The folder holds patients and is closed to others. Every part has a record with its digest, written
last; a part without a record, or with another digest, was not finished and is made again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from intravar.errors import InputError, option
from intravar.ledger import checksum, record_checksum
from intravar.runs.readings import BucketRead, Others
from intravar.writing import make_private_folder, sweep, whole_file

_MADE_OF = "made-of.json"
_DEALT = "dealt.json"
_PATIENTS = "patients"
_READ = "read"
_TABLES = ("panels", "differences", "cases", "patients")


class Parts:
    """The finished parts of a measurement in a folder.

    Parameters
    ----------
    folder
        Where they lie.
    made_of
        All that the parts follow from; parts of anything else are removed.
    """

    def __init__(self, folder: Path, made_of: Mapping[str, Any]) -> None:
        self.folder = folder
        self._made_of = json.loads(json.dumps(made_of, sort_keys=True, default=str))
        self._lock = FileLock(folder.with_name(folder.name + ".lock"))

    @property
    def patients(self) -> Path:
        """Where the buckets lie."""
        return self.folder / _PATIENTS

    def open(self) -> None:
        """Take the folder for this run; what is not of the same measurement is removed."""
        try:
            self._lock.acquire(blocking=False)
        except Timeout as error:
            raise InputError(
                f"another run is working in '{self.folder}'; wait for it, or name another folder "
                f"with {option('out')}"
            ) from error
        make_private_folder(self.folder)
        stored = _stored(self.folder / _MADE_OF)
        if stored != self._made_of:
            _emptied(self.folder)
            self._write(_MADE_OF, self._made_of)
        make_private_folder(self.folder / _READ)
        for place in (self.folder, self.folder / _READ):
            sweep(place)

    def close(self, *, finished: bool) -> None:
        """Let go of the folder; once all is finished it is not needed any more."""
        if finished:
            _emptied(self.folder)
            with suppress(OSError):  # what else lies there is somebody's
                self.folder.rmdir()
        self._lock.release()
        if finished:
            Path(self._lock.lock_file).unlink(missing_ok=True)

    def dealt(self, n_buckets: int) -> bool:
        """Tell whether the patients lie in buckets already, each as it was written."""
        known = _stored(self.folder / _DEALT)
        if not isinstance(known, dict) or known.get("n_buckets") != n_buckets:
            return False
        listed = known.get("files")
        return isinstance(listed, dict) and listed == self._digests()

    def deal_again(self) -> Path:
        """Remove buckets that were not finished and return where to write them."""
        (self.folder / _DEALT).unlink(missing_ok=True)
        shutil.rmtree(self.patients, ignore_errors=True)
        make_private_folder(self.patients)
        return self.patients

    def deal_finished(self, n_buckets: int) -> None:
        """Take note that all buckets are written."""
        self._write(_DEALT, {"n_buckets": n_buckets, "files": self._digests()})

    def _digests(self) -> dict[str, str]:
        files = sorted(self.patients.rglob("*.parquet"))
        return {path.relative_to(self.patients).as_posix(): checksum(path) for path in files}

    def keep(self, read: BucketRead) -> None:
        """Keep what was read off a bucket; a crash at any moment leaves all of it or none."""
        record: dict[str, Any] = {
            "number": read.number,
            "dropped": dict(read.found.dropped),
            "filled": dict(read.found.filled),
        }
        for name in _TABLES:
            table: pl.DataFrame = getattr(read.found, name)
            path = self._path(read.number, f"-{name}.parquet")
            with whole_file(path) as beside:
                table.write_parquet(beside)
                record[name] = checksum(beside)
        self._write(self._path(read.number, ".json").relative_to(self.folder), record)

    def kept(self, number: int) -> BucketRead | None:
        """Return what was read off a bucket before; None if it was not, or was changed since."""
        record = _stored(self._path(number, ".json"))
        try:
            if record["number"] != number:
                return None
            tables = {}
            for name in _TABLES:
                path = self._path(number, f"-{name}.parquet")
                if checksum(path) != record[name]:
                    return None
                tables[name] = pl.read_parquet(path)
            found = Others(**tables, dropped=record["dropped"], filled=record["filled"])
            return BucketRead(number, found)
        except (OSError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
            return None

    def _path(self, number: int, rest: str) -> Path:
        return self.folder / _READ / f"bucket-{number:06d}{rest}"

    def _write(self, name: str | Path, content: Mapping[str, Any]) -> None:
        whole = dict(content) | {"sha256": record_checksum(content)}
        with whole_file(self.folder / name) as beside:
            beside.write_text(json.dumps(whole, indent=1, sort_keys=True), "utf-8")


def _stored(path: Path) -> Any:
    """Return what a record says; None if there is none, or if it was changed."""
    try:
        found = json.loads(path.read_text("utf-8"))
        return found if found.pop("sha256") == record_checksum(found) else None
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None


def _emptied(folder: Path) -> None:
    """Remove parts of another measurement, and nothing that is not called as they are."""
    for name in (_MADE_OF, _DEALT):
        (folder / name).unlink(missing_ok=True)
    for name in (_PATIENTS, _READ, "rows"):
        shutil.rmtree(folder / name, ignore_errors=True)
