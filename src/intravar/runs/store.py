"""What is finished, kept on disk: a run that was ended goes on where it was.

A part is some tables and a record beside them with the digests of all, written last. A part without
a record, or with another digest, was not finished or was changed: it is none. Studies and large
measurements keep their parts this way. Parts depend on the software that made them.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from intravar.errors import InputError, option
from intravar.writing import checksum, record_checksum, whole_file


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
