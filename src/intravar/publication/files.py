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
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import polars as pl

from intravar.errors import InputError
from intravar.publication import results
from intravar.publication.results import Decision, Published, frame_of, rows_of, schema_of
from intravar.request import Request, request_of

#: Raised by a release whose files have other fields than those of the one before.
SCHEMA = 2
#: What is different about the files of earlier releases.
EARLIER = {1: "it tells ranges in words, and this version as two numbers"}
WHAT = "measurement"
SUMMARY, CHECKS, DIAGNOSTICS = "summary.json", "checks.json", "diagnostics.json"
#: Rows of every decision, and of several together: what each is, by field and file.
TABLES: dict[str, type] = {
    "physicians": results.PhysicianRow,
    "methods": results.MethodRow,
    "strata": results.StratumRow,
    "changes": results.ChangeRow,
}
JOINT_TABLES: dict[str, tuple[str, type]] = {
    "physicians": ("joint", results.JointRow),
    "by_physician": ("decisions", results.DecisionRow),
    "pairs_by_physician": ("pairs", results.PairRow),
}
#: What a row of each file is.
KINDS: dict[str, type] = TABLES | dict(JOINT_TABLES.values())
#: Fields of a decision that have a file of their own.
_APART: dict[str, tuple[str, type]] = {
    "check": (CHECKS, results.Check),
    "diagnostics": (DIAGNOSTICS, results.Diagnostics),
}
#: A cell that begins like this is a formula to a spreadsheet.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_REMEDY = "measure again, or read it with the version of intravar that wrote it"


def files_of(published: Published) -> dict[str, bytes]:
    """Return what is published as files by their names: JSON and tables."""
    contents = {SUMMARY: plain(published)}
    for field, (name, _) in _APART.items():
        contents[name] = {
            "decisions": [plain(getattr(each, field)) for each in published.decisions]
        }
    head = {"schema": SCHEMA, "what": WHAT}
    files = {
        name: json.dumps(head | content, indent=1, ensure_ascii=False).encode()
        for name, content in contents.items()
    }
    for name, table in tables_of(published).items():
        files[f"{name}.parquet"] = parquet_bytes(table)
        files[f"{name}.csv"] = safe_csv(table).encode()
    return files


def tables_of(published: Published) -> dict[str, pl.DataFrame]:
    """Return the tables by the names of their files."""
    joint, tables = published.joint, {}
    for name, kind in TABLES.items():
        listed = [
            table
            if joint is None
            else table.select(pl.lit(each.decision).alias("decision"), pl.all())
            for each in published.decisions
            if (table := frame_of(getattr(each, name), kind)).height or name == "physicians"
        ]
        if listed:
            tables[name] = pl.concat(listed)
    if joint is not None:
        for field, (name, kind) in JOINT_TABLES.items():
            tables[name] = frame_of(getattr(joint, field), kind)
    return tables


def plain(value: Any) -> Any:
    """Return a value of :mod:`intravar.publication.results` in a form that fits into JSON.

    Tables, and what has a file of its own, are left out.
    """
    if isinstance(value, Request):
        return value.as_dict()
    if is_dataclass(value):
        kind: type = type(value)
        apart = {Decision: (*_APART, *TABLES), results.Joint: JOINT_TABLES}.get(kind, ())
        return {
            each.name: plain(getattr(value, each.name))
            for each in fields(value)
            if each.name not in apart
        }
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def is_published(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a measurement, of whatever version."""
    return _content(Path(folder) / SUMMARY) is not None


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
    stored = _content(folder / SUMMARY)
    if stored is None:
        return None
    request = stored.get("request")
    return str(stored.get("source")), request if isinstance(request, Mapping) else {}


def _content(file: Path) -> dict[str, Any] | None:
    with suppress(InputError):
        content = _loaded(file)
        # A study has a summary as well, and several decisions were once measured into another file.
        if isinstance(content, dict) and content.get("what") == WHAT:
            return content
    return None


def _loaded(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"'{file}' cannot be read: {error.strerror or error}; {_REMEDY}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"'{file}' is damaged: it is not JSON; {_REMEDY}") from error


def read_published(folder: str | os.PathLike[str]) -> Published:
    """Read what was published of a measurement, or say what does not fit.

    Parameters
    ----------
    folder
        What `intravar measure --out` wrote.
    """
    path = measurement_folder(folder)
    summary = _known_schema(path / SUMMARY)
    listed = summary.get("decisions")
    if not isinstance(listed, list) or not listed:
        raise _unfit(path / SUMMARY, "decisions", "is not a list of decisions")
    apart = {}
    for field, (name, kind) in _APART.items():
        stored = _known_schema(path / name).get("decisions")
        if not isinstance(stored, list) or len(stored) != len(listed):
            raise _unfit(path / name, "decisions", f"has not {len(listed)} entries")
        apart[field] = [
            _parsed(kind, each, path / name, f"decisions[{at}]") for at, each in enumerate(stored)
        ]
    tables = _read_tables(path)
    decisions = []
    for at, content in enumerate(listed):
        called = content.get("decision") if isinstance(content, dict) else None
        own: dict[str, Any] = {field: each[at] for field, each in apart.items()}
        for name, kind in TABLES.items():
            table = tables.get(name, pl.DataFrame())
            if len(listed) > 1 and "decision" in table.columns:
                table = table.filter(pl.col("decision") == str(called)).drop("decision")
            own[name] = rows_of(table, kind)
        decisions.append(_parsed(Decision, content, path / SUMMARY, f"decisions[{at}]", own))
    joint: dict[str, Any] = {
        field: rows_of(tables[name], kind)
        for field, (name, kind) in JOINT_TABLES.items()
        if name in tables
    }
    together = summary.get("joint")
    given = {
        "decisions": tuple(decisions),
        "joint": _parsed(results.Joint | None, together, path / SUMMARY, "joint", joint),
    }
    known = {name: value for name, value in summary.items() if name not in ("schema", "what")}
    published: Published = _parsed(
        Published, known | dict.fromkeys(given), path / SUMMARY, "", given
    )
    return published


def _known_schema(file: Path) -> dict[str, Any]:
    """Return the content of a file if its schema is ours."""
    content = _loaded(file)
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        why = f" ({EARLIER[schema]})" if isinstance(schema, int) and schema in EARLIER else ""
        raise _unfit(file, "schema", f"is {schema!r} and this version knows {SCHEMA}{why}")
    return dict(content)


def _read_tables(path: Path) -> dict[str, pl.DataFrame]:
    """Return the tables; one with other columns than its rows have, or other types, is refused."""
    tables = {}
    for name, kind in KINDS.items():
        file = path / f"{name}.parquet"
        if not file.is_file() and name != "physicians":
            continue
        try:
            tables[name] = table = pl.read_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"'{file}' cannot be read; {_REMEDY}") from error
        declared = schema_of(kind)
        marked = "decision" in table.columns and "decision" not in declared
        present = table.drop("decision").schema if marked else table.schema
        for field in [*declared, *present]:
            if field not in declared:
                raise _unfit(file, field, "is not known")
            if field not in present:
                raise _unfit(file, field, "is missing")
            if present[field] not in (declared[field], pl.Null):
                raise _unfit(file, field, f"is of type {present[field]}")
    return tables


def _parsed(
    kind: Any, value: Any, file: Path, where: str, given: Mapping[str, Any] | None = None
) -> Any:
    """Return a stored value as a type, or say which field of which file does not fit."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if value is None and NoneType in kinds:
        return None
    for each in kinds:
        inner = get_args(each)
        if is_dataclass(each):
            return _object(each, value, file, where, given or {})
        if get_origin(each) is tuple and isinstance(value, list):
            listed = enumerate(value)
            return tuple(_parsed(inner[0], one, file, f"{where}[{at}]") for at, one in listed)
        if get_origin(each) not in (None, tuple) and isinstance(value, dict):  # a mapping
            named = value.items()
            return {name: _parsed(inner[1], one, file, f"{where}.{name}") for name, one in named}
        if type(value) is each or (each is float and type(value) is int):
            return each(value)
    raise _unfit(file, where, f"is {_short(value)}")


def _object(kind: Any, value: Any, file: Path, where: str, given: Mapping[str, Any]) -> Any:
    if not isinstance(value, dict):
        raise _unfit(file, where, f"is {_short(value)}")
    if kind is Request:
        try:
            return request_of(value, file)
        except InputError as error:
            raise _unfit(file, where, f"does not fit ({error})") from error
    hints = _hints(kind)
    for name in value:
        if name not in hints:
            raise _unfit(file, f"{where}.{name}".strip("."), "is not known")
    found = dict(given)
    for name, hint in hints.items():
        if name in given:
            continue
        at = f"{where}.{name}".strip(".")
        if name not in value:
            raise _unfit(file, at, "is missing")
        found[name] = _parsed(hint, value[name], file, at)
    return kind(**found)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


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
