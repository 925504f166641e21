"""Published results as files, and back: one function each way.

JSON holds what :mod:`intravar.publication.results` declares; tables lie beside it, with several
decisions under a first column. A file with another schema, or other fields, is refused.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import polars as pl

from intravar.errors import InputError
from intravar.publication import results
from intravar.publication.results import Decision, Joint, Published, frame_of, rows_of, schema_of
from intravar.request import Request, request_of

#: Raised by a release whose files have other fields than those of the one before.
SCHEMA = 3
#: What is different about the files of earlier releases.
EARLIER = {
    1: "it tells ranges in words, and this version as two numbers",
    2: "it keeps checks and diagnostics in other files, and this version in the summary",
}
WHAT = "measurement"
SUMMARY = "summary.json"
#: Fields that are tables: the name of their files, and what a row is.
TABLES: dict[type, dict[str, tuple[str, type]]] = {
    Decision: {
        "physicians": ("physicians", results.PhysicianRow),
        "methods": ("methods", results.MethodRow),
        "strata": ("strata", results.StratumRow),
        "changes": ("changes", results.ChangeRow),
    },
    Joint: {
        "physicians": ("joint", results.JointRow),
        "by_physician": ("decisions", results.DecisionRow),
        "pairs_by_physician": ("pairs", results.PairRow),
    },
}
#: A cell that begins like this is a formula to a spreadsheet.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_REMEDY = "measure again, or read it with the version of intravar that wrote it"


def files_of(published: Published) -> dict[str, bytes]:
    """Return what is published as files by their names: JSON and tables."""
    content = {"schema": SCHEMA, "what": WHAT} | plain(published)
    files = {SUMMARY: json.dumps(content, indent=1, ensure_ascii=False).encode()}
    for name, table in tables_of(published).items():
        files[f"{name}.parquet"] = parquet_bytes(table)
        files[f"{name}.csv"] = safe_csv(table).encode()
    return files


def tables_of(published: Published) -> dict[str, pl.DataFrame]:
    """Return the tables by the names of their files; of decisions those that have rows."""
    joint, tables = published.joint, {}
    for field, (name, kind) in TABLES[Decision].items():
        rows = [
            (each.decision, row) for each in published.decisions for row in getattr(each, field)
        ]
        table = frame_of([row for _, row in rows], kind)
        if joint is not None:
            of = pl.Series("decision", [decision for decision, _ in rows], pl.String)
            table = table.select(of, pl.all())
        if rows or name == "physicians":
            tables[name] = table
    for field, (name, kind) in TABLES[Joint].items() if joint is not None else ():
        tables[name] = frame_of(getattr(joint, field), kind)
    return tables


def plain(value: Any) -> Any:
    """Return a value of :mod:`intravar.publication.results`, without tables, as JSON has it."""
    if isinstance(value, Request):
        return value.as_dict()
    if is_dataclass(value):
        tables = TABLES.get(type(value), {})
        names = [each.name for each in fields(value) if each.name not in tables]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return value


def is_published(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a measurement, of whatever version."""
    return read_asked(Path(folder)) is not None


def measurement_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder of a measurement, or say that it is none."""
    if not is_published(folder):
        raise InputError(
            f"'{folder}' is not the folder of a measurement; name what 'intravar measure --out' "
            "wrote"
        )
    return Path(folder)


def read_asked(folder: Path) -> tuple[str, Mapping[str, Any]] | None:
    """Return source and request, by sections, of a stored measurement; None where there is none."""
    content = None
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads((folder / SUMMARY).read_text("utf-8"))
    # A study has a summary as well, and several decisions were once measured into another file.
    if not isinstance(content, dict) or content.get("what") != WHAT:
        return None
    request = content.get("request")
    return str(content.get("source")), request if isinstance(request, Mapping) else {}


def read_published(folder: str | os.PathLike[str]) -> Published:
    """Read what was published of a measurement, or say what does not fit.

    Parameters
    ----------
    folder
        What `intravar measure --out` wrote.
    """
    file = measurement_folder(folder) / SUMMARY
    content = json.loads(file.read_text("utf-8"))
    schema = content.pop("schema", None)
    if schema != SCHEMA:
        why = f" ({EARLIER[schema]})" if isinstance(schema, int) and schema in EARLIER else ""
        raise _unfit(file, "schema", f"is {schema!r} and this version knows {SCHEMA}{why}")
    del content["what"]
    published: Published = _Reader(file).value(Published, content, "")
    if not published.decisions:
        raise _unfit(file, "decisions", "is empty")
    return published


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@dataclass(frozen=True)
class _Reader:
    """Reads the file of a measurement, and the tables beside it; refuses what does not fit."""

    file: Path

    def value(self, kind: Any, value: Any, where: str) -> Any:
        """Return a stored value as a type."""
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        if value is None and NoneType in kinds:
            return None
        for each in kinds:
            inner = get_args(each)
            if each is Request and isinstance(value, dict):
                try:
                    return request_of(value, self.file)
                except InputError as error:
                    raise _unfit(self.file, where, f"does not fit ({error})") from error
            if is_dataclass(each) and isinstance(value, dict):
                return self.object(each, value, where)
            if get_origin(each) is tuple and isinstance(value, list):
                listed = enumerate(value)
                return tuple(self.value(inner[0], one, f"{where}[{at}]") for at, one in listed)
            if get_origin(each) not in (None, tuple) and isinstance(value, dict):  # a mapping
                named = value.items()
                return {name: self.value(inner[1], one, f"{where}.{name}") for name, one in named}
            if type(value) is each or (each is float and type(value) is int):
                return each(value)
        text = json.dumps(value)
        raise _unfit(self.file, where, f"is {text if len(text) <= 40 else f'{text[:40]}...'}")

    def object(self, kind: Any, value: dict[str, Any], where: str) -> Any:
        """Return an object with the fields of its type: no other ones, and none missing."""
        tables, read = TABLES.get(kind, {}), {}
        for name in dict.fromkeys([*_hints(kind), *value]):
            at = f"{where}.{name}".strip(".")
            if name in tables:
                read[name] = self.rows(*tables[name], value.get("decision"))
            elif name not in value:
                raise _unfit(self.file, at, "is missing")
            elif name not in _hints(kind):
                raise _unfit(self.file, at, "is not known")
            else:
                read[name] = self.value(_hints(kind)[name], value[name], at)
        return kind(**read)

    def rows(self, name: str, kind: type, decision: str | None) -> tuple[Any, ...]:
        """Return rows from their file; a decision without subgroups, say, has no such rows."""
        file = self.file.with_name(f"{name}.parquet")
        if not file.exists() and name in ("methods", "strata", "changes"):
            return ()
        try:
            table = pl.read_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"'{file}' cannot be read; {_REMEDY}") from error
        if decision is not None and "decision" in table.columns:
            table = table.filter(pl.col("decision") == decision).drop("decision")
        declared = schema_of(kind)
        for field in [*declared, *table.columns]:
            if field not in declared:
                raise _unfit(file, field, "is not known")
            if field not in table.columns:
                raise _unfit(file, field, "is missing")
            if table.schema[field] not in (declared[field], pl.Null):
                raise _unfit(file, field, f"is of type {table.schema[field]}")
        return rows_of(table, kind)


def _unfit(file: Path, field: str, what: str) -> InputError:
    return InputError(f"'{file}' does not fit: field '{field}' {what}; {_REMEDY}")


def parquet_bytes(table: pl.DataFrame) -> bytes:
    """Return a table as the content of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def escaped(text: str) -> str:
    """Return a text that a spreadsheet takes for text and never runs."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def safe_csv(table: pl.DataFrame) -> str:
    """Write a table as CSV with every text and column name escaped."""
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    pattern = r"^([=+\-@\t\r])"
    safe = table.with_columns(pl.col(texts).str.replace(pattern, r"'$1"))
    return safe.rename({name: escaped(name) for name in table.columns}).write_csv()
