"""What is finished, kept on disk: a run that was ended goes on where it was.

A part is some tables and a record beside them with the digests of all, written last. A part without
a record, or with another digest, was not finished or was changed: it is none. Studies and large
measurements keep their parts this way. Parts depend on the software that made them.
"""

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from intravar.errors import InputError, option
from intravar.runs.readings import TABLES, Others
from intravar.writing import checksum, make_private_folder, record_checksum, sweep, whole_file

_MADE_OF = "made-of.json"
_DEALT = "dealt.json"
_PATIENTS = "patients"
_READ = "read"


def locked(path: Path, folder: Path) -> FileLock:
    """Hold a folder for this run alone; the lock goes with the process, however it ends."""
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise InputError(
            f"another run is working in '{folder}'; wait for it, or name another folder with "
            f"{option('out')}"
        ) from error
    except OSError as error:
        raise InputError(f"cannot write into '{folder}': {error.strerror}") from error
    return lock


def write_record(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Write a record with its digest; return it as it will be read back."""
    # Through JSON once, so that the digest is that of what will be read back.
    record: dict[str, Any] = json.loads(json.dumps(content, default=float))
    with whole_file(path) as beside:
        whole = record | {"sha256": record_checksum(record)}
        beside.write_text(json.dumps(whole, indent=1), "utf-8")
    return record


def read_record(path: Path) -> Any:
    """Return what a record says; None if there is none, or if it was changed."""
    try:
        record = json.loads(path.read_text("utf-8"))
        return record if record.pop("sha256") == record_checksum(record) else None
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


class PartsFolder:
    """A folder of finished parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def table(self, name: str, table: str = "") -> Path:
        """Return where a table of a part lies; that of a part with one table has no name."""
        return self.folder / f"{name}{table and '-'}{table}.parquet"

    def record(self, name: str) -> Path:
        """Return where the record of a part lies."""
        return self.folder / f"{name}.json"

    def keep(
        self, name: str, tables: Mapping[str, pl.DataFrame], content: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Keep a part; a crash at any moment leaves all of it or none. Return the record."""
        digests = {}
        for each, table in tables.items():
            with whole_file(self.table(name, each)) as beside:
                table.write_parquet(beside)
                digests[each] = checksum(beside)
        return write_record(self.record(name), {**content, "tables": digests})

    def kept(self, name: str) -> dict[str, Any] | None:
        """Return the record of a part; None if it was not kept, or was changed since."""
        record = read_record(self.record(name))
        try:
            digests = record["tables"].items()
            whole = all(checksum(self.table(name, each)) == digest for each, digest in digests)
            return record if whole else None
        except (OSError, KeyError, TypeError, AttributeError):
            return None

    def remove(self, name: str) -> None:
        """Remove a part, the record first: tables without one are unfinished, not damaged."""
        tables = list((self.kept(name) or {}).get("tables", {}))
        self.record(name).unlink(missing_ok=True)
        for each in tables:
            self.table(name, each).unlink(missing_ok=True)


class Parts:
    """The finished parts of a measurement in a folder, which holds patients: closed to others.

    Parts that follow from anything but what they are `made_of` are removed.
    """

    def __init__(self, folder: Path, made_of: Mapping[str, Any]) -> None:
        self.folder, self.patients = folder, folder / _PATIENTS
        self._made_of = json.loads(json.dumps(made_of, sort_keys=True, default=str))
        self._read = PartsFolder(folder / _READ)
        self._lock: FileLock | None = None

    def open(self) -> None:
        """Take the folder for this run; what is not of the same measurement is removed."""
        self._lock = locked(self.folder.with_name(self.folder.name + ".lock"), self.folder)
        make_private_folder(self.folder)
        if read_record(self.folder / _MADE_OF) != self._made_of:
            _emptied(self.folder)
            write_record(self.folder / _MADE_OF, self._made_of)
        make_private_folder(self.folder / _READ)
        for place in (self.folder, self.folder / _READ):
            sweep(place)

    def close(self, *, finished: bool) -> None:
        """Let go of the folder; once all is finished it is not needed any more."""
        if finished:
            _emptied(self.folder)
            with suppress(OSError):  # what else lies there is somebody's
                self.folder.rmdir()
        assert self._lock is not None
        self._lock.release()
        if finished:
            Path(self._lock.lock_file).unlink(missing_ok=True)

    def deal(self, n_buckets: int, write: Callable[[Path], None]) -> None:
        """Let buckets be written into a folder, unless they lie there as they were written."""

        def listing() -> dict[str, Any]:
            files = sorted(self.patients.rglob("*.parquet"))
            digests = {path.relative_to(self.patients).as_posix(): checksum(path) for path in files}
            return {"n_buckets": n_buckets, "files": digests}

        noted = self.folder / _DEALT
        if read_record(noted) == listing():
            return
        noted.unlink(missing_ok=True)
        shutil.rmtree(self.patients, ignore_errors=True)
        write(make_private_folder(self.patients))
        write_record(noted, listing())

    def keep(self, number: int, decisions: Mapping[str, Others]) -> None:
        """Keep what was read off a bucket."""
        counts = {
            name: {"dropped": dict(each.dropped), "filled": dict(each.filled)}
            for name, each in decisions.items()
        }
        tables = {
            f"{at}-{table}": getattr(each, table)
            for at, each in enumerate(decisions.values())
            for table in TABLES
        }
        self._read.keep(f"bucket-{number:06d}", tables, {"number": number, "counts": counts})

    def kept(self, number: int) -> dict[str, Others] | None:
        """Return what was read off a bucket before; None if it was not, or was changed since."""
        name = f"bucket-{number:06d}"
        record = self._read.kept(name)
        try:
            if record is None or record["number"] != number:
                return None
            decisions = {}
            for at, (decision, counts) in enumerate(record["counts"].items()):
                files = {each: self._read.table(name, f"{at}-{each}") for each in TABLES}
                tables: dict[str, Any] = {e: pl.read_parquet(path) for e, path in files.items()}
                decisions[decision] = Others(**tables, **counts)
            return decisions
        except (OSError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
            return None


def _emptied(folder: Path) -> None:
    """Remove parts of another measurement, and nothing that is not called as they are."""
    for name in (_MADE_OF, _DEALT):
        (folder / name).unlink(missing_ok=True)
    for name in (_PATIENTS, _READ, "rows"):
        shutil.rmtree(folder / name, ignore_errors=True)


@cache
def software_versions() -> dict[str, str]:
    """Return the versions on which results depend."""
    packages = ("intravar", "numpy", "scipy", "scikit-learn", "polars")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


@cache
def fingerprint() -> dict[str, str]:
    """Return what results depend on: versions, and a checksum of intravar's own code and data."""
    root = Path(str(files("intravar")))
    code = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".json", ".csv", ".toml"):
            code.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {**software_versions(), "code of intravar": code.hexdigest()[:12]}
