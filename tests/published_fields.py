"""Every published field, and what keeps it from telling on somebody, as the types declare it.

A file's fields are written as paths: `decisions[].rule.tree[].when` is the entry `when` of every
leaf. Tests hold this list against the files and docs/privacy.md; `python
tests/published_fields.py` prints the tables of that page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from intravar.publication.files import SUMMARY, TABLES
from intravar.publication.results import Published
from intravar.request import Request

_HEAD = {"schema": "a fixed number", "what": "a fixed word"}
#: What a row is, of tables by the names of their files.
KINDS = dict(table for tables in TABLES.values() for table in tables.values())


def _declared(kind: Any, path: str, outer: str = "") -> Iterator[tuple[str, str]]:
    """Return the paths of a dataclass with their rules; a figure has that of its field."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        own = get_origin(hint) is Annotated
        rule, inner = (hint.__metadata__[0], get_args(hint)[0]) if own else (outer, hint)
        yield from _of_field(inner, f"{path}.{name}".strip("."), rule)


def _of_field(hint: Any, path: str, rule: str) -> Iterator[tuple[str, str]]:
    if get_origin(hint) in (Union, UnionType):
        kinds = [each for each in get_args(hint) if each is not NoneType]
        if len(kinds) > 1 or not is_dataclass(kinds[0]):
            yield from _of_field(kinds[0], path, rule)
            return
        yield path, rule
        hint = kinds[0]
    if hint in KINDS.values():
        return
    if get_origin(hint) is tuple:
        yield from _of_field(get_args(hint)[0], f"{path}[]", rule)
    elif hint is Request or get_origin(hint) is not None:
        yield f"{path}.*", rule
    elif is_dataclass(hint):
        yield from _declared(hint, path, rule)
    else:
        yield path, rule


#: By file the rule of every field; of tables, of every column.
FIELDS: dict[str, Mapping[str, str]] = {
    **{name: dict(_declared(kind, "")) for name, kind in KINDS.items()},
    SUMMARY: _HEAD | dict(_declared(Published, "")),
}


def paths(content: Any, so_far: str = "") -> Iterator[str]:
    """Return the path of every value.

    Examples
    --------
    >>> sorted(paths({"a": [{"b": 1}, {"b": 2}], "c": 3}))
    ['a[].b', 'a[].b', 'c']
    """
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield from paths(value, f"{so_far}.{name}" if so_far else str(name))
    elif isinstance(content, list):
        for value in content:
            yield from paths(value, f"{so_far}[]")
    else:
        yield so_far


def rule_of(file: str, path: str) -> str | None:
    """Return what makes a field safe; None for a field that is not known."""
    known = FIELDS[file]
    if path in known:
        return known[path]
    for end in range(len(path), 0, -1):
        if path[end - 1] == "." and f"{path[:end]}*" in known:
            return known[f"{path[:end]}*"]
    return None


def as_markdown() -> str:
    """Return the fields of all files as tables of a page."""
    parts = []
    for file, known in FIELDS.items():
        name = f"`{file}`" if file.endswith(".json") else f"`{file}.parquet`, `.csv`"
        rows = [f"| `{path}` | {rule} |" for path, rule in known.items()]
        parts.append("\n".join([f"### {name}", "", "| field | rule |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(as_markdown())
