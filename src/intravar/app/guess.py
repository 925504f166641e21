"""What each column of a table seems to be, and which are the physician's and the decision's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from intravar.errors import InputError
from intravar.preparation.columns.kinds import understand
from intravar.text import shortened

#: Words in the names of columns, those that tell most first.
DECIDERS = (
    *("physician", "doctor", "prescriber", "surgeon", "clinician", "provider", "consultant"),
    *("radiologist", "pathologist", "judge", "decider", "reader", "officer", "nurse", "rater"),
    *("hospital", "team", "centre", "center", "clinic", "practice", "site", "ward", "unit"),
    *("agency", "group", "respondent", "resp", "umpire", "operator", "gp", "doc"),
)
DECISIONS = (
    *("decision", "decided", "decide", "prescribed", "prescription", "treated", "treatment"),
    *("procedure", "therapy", "surgery", "operation", "referred", "referral", "granted"),
    *("approved", "accepted", "thrombolysis", "statin", "drug", "given", "admitted", "admit"),
)
#: Values of a column that are offered to choose from.
MOST_VALUES = 30
#: A decider has this many rows on average at least.
LEAST_PANEL = 5
_PARTS = re.compile(r"[^a-z]+")


@dataclass(frozen=True)
class ColumnSeen:
    """A column at first sight: what it seems to hold, some values, all of them if they are few.

    `distinct` and `missing` are numbers of different values and of rows without one.
    """

    name: str
    kind: str
    examples: list[str]
    levels: list[str]
    distinct: int
    missing: int
    note: str


def seen(column: pl.Series) -> ColumnSeen:
    """Look at a column.

    Examples
    --------
    >>> seen(pl.Series("sex", ["m", "f", None])).levels
    ['f', 'm']
    """
    present = column.drop_nulls()
    distinct = present.unique(maintain_order=True)
    try:
        found = understand(column)
        kind, note = str(found.kind), found.note
    except InputError as error:
        kind, note = "unclear", error.on_command_line
    few = distinct.sort().to_list() if len(distinct) <= MOST_VALUES else []
    return ColumnSeen(
        column.name,
        kind,
        [_shown(value) for value in distinct.head(3).to_list()],
        [str(value) for value in few],
        len(distinct),
        column.null_count(),
        note,
    )


def _shown(value: object) -> str:
    """Write a value of a table in short."""
    if value is None:
        return ""
    return shortened(f"{value:.6g}" if isinstance(value, float) else str(value), 80)


def guess_decider(columns: list[ColumnSeen], n_rows: int) -> dict[str, str | None]:
    """Say which column may be of whoever decides, and why.

    Examples
    --------
    >>> doctor = ColumnSeen("doctor", "category", ["Ann"], [], 12, 0, "")
    >>> guess_decider([doctor], 600)["why"]
    "'doctor' is named like whoever decides; it has 12 different values, about 50 rows each."
    """
    most = max(n_rows / LEAST_PANEL, 3)
    fit = [each for each in columns if 3 <= each.distinct <= most and each.kind != "date"]
    texts = [each for each in fit if each.kind == "category" and each.distinct >= 5]
    other = max(texts, key=lambda each: each.distinct, default=None)

    def held(chosen: ColumnSeen) -> str:
        each = round(n_rows / chosen.distinct)
        return f"has {chosen.distinct:,} different values, about {each:,} rows each"

    none = "No column looks like whoever decides: choose the one that names them."
    return _guess(_best(fit, DECIDERS), other, "whoever decides", held, none)


def guess_decision(columns: list[ColumnSeen], decider: str | None) -> dict[str, str | None]:
    """Say which column may be the decision, and why.

    Examples
    --------
    >>> statin = ColumnSeen("statin", "yes/no", ["0", "1"], ["0", "1"], 2, 0, "")
    >>> guess_decision([statin], "doctor")["why"]
    "'statin' is named like a decision; it has two values, 0 and 1."
    """
    two = [each for each in columns if each.distinct == 2 and each.name != decider]

    def held(chosen: ColumnSeen) -> str:
        return f"has two values, {' and '.join(chosen.levels)}"

    none = "No column has two values: choose the decision, and say which value counts as yes."
    return _guess(_best(two, DECISIONS), two[-1] if two else None, "a decision", held, none)


def _guess(
    named: ColumnSeen | None,
    other: ColumnSeen | None,
    what: str,
    held: Callable[[ColumnSeen], str],
    none: str,
) -> dict[str, str | None]:
    """Return the column and why: by its name, else by what it holds."""
    if named is not None:
        why = f"'{named.name}' is named like {what}; it {held(named)}."
        return {"column": named.name, "why": why}
    if other is not None:
        why = f"No column is named like {what}; '{other.name}' {held(other)}. Is it right?"
        return {"column": other.name, "why": why}
    return {"column": None, "why": none}


def _best(columns: list[ColumnSeen], words: tuple[str, ...]) -> ColumnSeen | None:
    """Return the column whose name has the word that tells most."""
    for word in words:
        for each in columns:
            parts = _PARTS.split(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each.name).lower())
            if any(word in (part, part.rstrip("s")) for part in parts):
                return each
    return None


def at_first_sight(table: pl.DataFrame, n_rows: int) -> dict[str, Any]:
    """Return what the columns of a table seem to be, with guesses, fit for JSON."""
    columns = [seen(column) for column in table.iter_columns()]
    decider = guess_decider(columns, table.height)
    return {
        "columns": [asdict(each) for each in columns],
        "rows": [[_shown(each) for each in row] for row in table.head(8).rows()],
        "n_rows": n_rows,
        "physician": decider,
        "decision": guess_decision(columns, decider["column"]),
    }
