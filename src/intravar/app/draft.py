"""What each column of a table seems to be, and what the user has chosen to measure."""

import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError, Option, flag_of
from intravar.preparation.kinds import understand
from intravar.request import Request, is_request_file, read_request
from intravar.text import shortened
from intravar.where import columns_of
from intravar.wording import declared_in

_DECLARED = declared_in(__package__, "fields")
OPERATORS: dict[str, str] = _DECLARED["operators"]
USES: dict[str, str] = _DECLARED["uses"]
#: What can be downloaded of a measurement.
DOWNLOADS: dict[str, str] = _DECLARED["downloads"]
#: How a table is read.
READING = tuple(_DECLARED["reading"])
#: Fields of the screen by the name of the request's: label, hint, what an empty menu says.
FIELDS: dict[str, dict[str, Any]] = _DECLARED["fields"] | _DECLARED["reading"]
#: Where a screen asks for what an option of the command line says.
ON_SCREEN = {
    flag_of(name): each["label"] for name, each in (FIELDS | _DECLARED["elsewhere"]).items()
}
#: Words in the names of columns of whoever decides, and of a decision; what tells most first.
DECIDERS, DECISIONS = (_DECLARED["words"][name].split() for name in ("deciders", "decisions"))
#: Conditions that the screen has room for.
CONDITIONS = 4
#: Fields that are not read one by one from a form.
_ELSEWHERE = ("physician", "decision", "covariates", *USES, "label", "where")
#: What a form says, whatever a request's file said before.
_ASKED = {*FIELDS, *USES, "labels", "order"} - {"covariates"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass
class Draft:
    """A table and what is chosen about it: fields of a :class:`intravar.Request`.

    `conditions` is the population as menus (column, comparison, value), `written` a condition that
    was written out beside them, `expected` the seconds that measuring may take, `error` what the
    next screen says about the choices. `query_confirmed` is set once the user has read the query
    of a request's file, which somebody else may have written, and asked for it to be run.
    """

    source: Path
    asked: dict[str, Any] = field(default_factory=dict)
    conditions: list[tuple[str, str, str]] = field(default_factory=list)
    written: str = ""
    expected: float = 10.0
    error: str = ""
    query_confirmed: bool = False
    id: str = field(default_factory=lambda: secrets.token_urlsafe(6))

    @property
    def reading(self) -> dict[str, str]:
        """How the table is read."""
        return {name: self.asked[name] for name in (*READING, "query") if self.asked.get(name)}

    @property
    def waits_for_confirmation(self) -> bool:
        """Whether a query must be confirmed before anything is read."""
        return bool(self.asked.get("query")) and not self.query_confirmed

    def reread(self, form: Mapping[str, str]) -> None:
        """Forget all choices but how the table is to be read; a query stays."""
        kept = {name: form[name] for name in READING if form.get(name, "").strip()}
        if query := self.asked.get("query"):
            kept["query"] = query
        self.asked = kept

    def request(self) -> Request:
        """Return the request, checked."""
        return Request(**self.asked)

    def choose(self, form: Mapping[str, str], also: Sequence[str] = ()) -> None:
        """Take over the fields of a form; `also` are decisions beside the first.

        `use:COLUMN` and `label:COLUMN` are of one column. What no form asks for stays.
        """
        asked = {name: value for name, value in self.asked.items() if name not in _ASKED}
        asked["physician"] = form.get("physician", "")
        decisions = [form.get("decision", ""), *also]
        asked["decision"] = ",".join(dict.fromkeys(name for name in decisions if name))
        for name in (name for name in FIELDS if name not in _ELSEWHERE):
            if text := form.get(name, "").strip():
                number = FIELDS[name].get("whole") and text.removeprefix("-").isdecimal()
                asked[name] = int(text) if number else text
        uses: dict[str, list[str]] = {use: [] for use in USES if use}
        labels: dict[str, str] = {}
        for name, value in form.items():
            kind, _, column = name.partition(":")
            if kind == "use" and value in uses and column not in (asked["physician"], *decisions):
                uses[value].append(column)
            elif kind == "label" and value.strip():
                labels[column] = value.strip()
        asked |= {use: columns for use, columns in uses.items() if columns}
        if labels:
            asked["labels"] = labels
        self.conditions = [
            (column, form.get(f"operator-{number}", "="), form.get(f"value-{number}", ""))
            for number in range(CONDITIONS)
            if (column := form.get(f"column-{number}", ""))
        ]
        self.written = form.get("where", "").strip()
        self.asked = asked
        conditions = [condition(*each) for each in self.conditions]
        if self.written:
            columns_of(self.written)
            conditions.append(f"({self.written})" if conditions else self.written)
        if conditions:
            asked["where"] = " and ".join(conditions)


def opened(path: Path, allowed: Callable[[str | os.PathLike[str]], Path]) -> Draft:
    """Return the draft of a table, or of a request's file that names one."""
    if not is_request_file(path):
        return Draft(path)
    source, request = read_request(path, allowed=allowed)
    if "://" in source:
        raise InputError(
            f"'{path.name}' reads a database on a server; measure it on the command line: intravar "
            "measure FILE"
        )
    chosen = {
        each.name: value
        for each in fields(request)
        if (value := getattr(request, each.name)) != each.default
    }
    if request.labels:
        chosen["labels"] = dict(request.labels)
    return Draft(allowed(os.path.abspath(source)), chosen, written=request.where or "")


def condition(column: str, operator: str, value: str) -> str:
    """Return a condition as `--where` reads it.

    Examples
    --------
    >>> condition("age", ">=", "75"), condition("visit date", "is missing", "")
    ('age >= 75', '"visit date" is missing')
    >>> condition("unit", "in", "A, O'Hara")
    "unit in ('A', 'O''Hara')"
    """
    name = _quoted(column, '"')
    with suppress(InputError):  # a name that can be read as it is stands without quotes
        name = column if columns_of(f"{column} = 1") == [column] else name
    if operator in ("is missing", "is not missing"):
        return f"{name} {operator}"
    if operator not in OPERATORS:
        raise InputError(f"'{operator}' is no comparison; choose one of the list")
    if not (value.replace(",", " ") if operator == "in" else value).strip():
        raise InputError(
            f"the condition on '{column}' has no value; write one, or take the column out of it"
        )
    if operator == "in":
        parts = [part.strip() for part in value.split(",") if part.strip()]
        return f"{name} in ({', '.join(_value(part) for part in parts)})"
    return f"{name} {operator} {_value(value.strip())}"


def on_screen(option: Option) -> str:
    """Return an option of a message as the screen calls it.

    Examples
    --------
    >>> on_screen(Option("decider_word", "judge,judges"))
    '“Whoever decides, one and several” judge,judges'
    >>> on_screen(Option("order"))
    '--order on the command line'
    """
    label = ON_SCREEN.get(flag_of(option.name))
    value = "" if option.value is None else f" {option.value}"
    return f"{option.flag} on the command line" if label is None else f"“{label}”{value}"


def _value(text: str) -> str:
    return text if _NUMBER.fullmatch(text) else _quoted(text, "'")


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark


#: Values of a column that are offered to choose from.
MOST_VALUES = 30
#: A decider has this many rows on average at least.
LEAST_PANEL = 5
_PARTS = re.compile(r"[^a-z]+")


def at_first_sight(table: pl.DataFrame, n_rows: int) -> dict[str, Any]:
    """Return what the columns of a table seem to be, and guesses who decides and what.

    Examples
    --------
    >>> table = pl.DataFrame({"doctor": ["Ann", "Ben", "Cem"] * 50, "statin": [0, 1] * 75})
    >>> preview = at_first_sight(table, 150)
    >>> preview["physician"]["why"]
    "'doctor' is named like whoever decides; it has 3 different values."
    >>> preview["decision"]["column"], preview["columns"][0]["levels"]
    ('statin', ['Ann', 'Ben', 'Cem'])
    """
    columns = [_described(column) for column in table.iter_columns()]
    most = max(table.height / LEAST_PANEL, 3)
    deciders = [
        each for each in columns if 3 <= each["distinct"] <= most and each["kind"] != "date"
    ]
    texts = [each for each in deciders if each["kind"] == "category" and each["distinct"] >= 5]
    texts.sort(key=lambda each: -each["distinct"])
    decider = _guess("whoever decides", deciders, DECIDERS, texts)
    two = [each for each in columns if each["distinct"] == 2 and each["name"] != decider["column"]]
    return {
        "columns": columns,
        "rows": [[_as_text(each) for each in row] for row in table.head(8).rows()],
        "n_rows": n_rows,
        "physician": decider,
        "decision": _guess("a decision", two, DECISIONS, two[::-1]),
    }


def _described(column: pl.Series) -> dict[str, Any]:
    """Return what a column seems to hold, some values, and all of them if they are few."""
    distinct = column.drop_nulls().unique(maintain_order=True)
    try:
        content = understand(column)
        kind, note = str(content.kind), content.note
    except InputError as error:
        kind, note = "unclear", error.naming(on_screen)
    few = distinct.sort().to_list() if len(distinct) <= MOST_VALUES else []
    return {
        "name": column.name,
        "kind": kind,
        "examples": [_as_text(value) for value in distinct.head(3).to_list()],
        "levels": [str(value) for value in few],
        "distinct": len(distinct),
        "missing": column.null_count(),
        "note": note,
    }


def _as_text(value: object) -> str:
    """Write a value of a table in short."""
    if value is None:
        return ""
    return shortened(f"{value:.6g}" if isinstance(value, float) else str(value), 80)


def _words_in(name: str) -> set[str]:
    """Return the words in the name of a column, of several also as one."""
    parts = _PARTS.split(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return {*parts, *(part.rstrip("s") for part in parts)}


def _guess(
    what: str, fitting: list[dict[str, Any]], words: list[str], likely: list[dict[str, Any]]
) -> dict[str, str | None]:
    """Return a column and why: by the word in its name that tells most, or one that is likely."""
    named = [each for word in words for each in fitting if word in _words_in(each["name"])]
    if not named and not likely:
        return {"column": None, "why": f"No column looks like {what}; choose one."}
    column = (named or likely)[0]
    how = "is named like" if named else "is not named like it but may be"
    held = f"it has {column['distinct']:,} different values"
    return {"column": column["name"], "why": f"'{column['name']}' {how} {what}; {held}."}
