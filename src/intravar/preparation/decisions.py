"""The decision as 0 and 1, however it was written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

import polars as pl

from intravar.errors import NEAR, InputError, option
from intravar.preparation.kinds import without_blanks
from intravar.text import shortened

YES = frozenset({"1", "1.0", "true", "t", "yes", "y"})
NO = frozenset({"0", "0.0", "false", "f", "no", "n"})
_COMPARISON = re.compile(r"^\s*(>=|<=|>|<)\s*([+-]?\d+(?:\.\d+)?)\s*$")


@dataclass(frozen=True)
class CodedDecision:
    """Decisions as 0 and 1, missing where they were, and the words for what was counted as 1."""

    values: pl.Series
    positive: str
    negative: str


def code_decision(column: pl.Series, positive: str | None = None) -> CodedDecision:
    """Turn a column into decisions.

    Parameters
    ----------
    column
        0/1, true/false, yes/no; or anything, if `positive` says what counts.
    positive
        The value that counts as decided for; or a comparison such as ">=4".

    Examples
    --------
    >>> code_decision(pl.Series("drug", ["yes", "No", None])).values.to_list()
    [1, 0, None]
    >>> code_decision(pl.Series("sure", [1, 4, 6]), ">=4").values.to_list()
    [0, 1, 1]
    """
    column = without_blanks(column)
    name = column.name
    if column.null_count() == len(column):
        raise InputError(f"column '{name}' (the decision) is missing in every row")
    comparison = _COMPARISON.match(positive) if positive is not None else None
    texts = without_blanks(column.cast(pl.String))
    if comparison is not None and not (texts == positive).any():
        coded = _compared(column, comparison[1], float(comparison[2]))
        words = (f"{name} {comparison[1]} {comparison[2]}", "otherwise")
    elif positive is not None:
        coded = _equal_to(texts, positive, name)
        words = (positive, f"not {positive}")
    else:
        coded = _yes_or_no(texts, name)
        found = {
            value: texts.filter(coded == value).drop_nulls().head(1).to_list() for value in (0, 1)
        }
        words = ("".join(found[1]) or "1", "".join(found[0]) or "0")
    if coded.drop_nulls().n_unique() < 2:
        only = shortened(str(texts.drop_nulls()[0]), 40)
        what = f"'{only}'" if texts.drop_nulls().n_unique() == 1 else f"'{words[coded.max() == 0]}'"
        raise InputError(
            f"every decision in column '{name}' is {what}; there is nothing to compare"
        )
    return CodedDecision(coded.cast(pl.Int8).alias(name), *words)


def _yes_or_no(texts: pl.Series, name: str) -> pl.Series:
    values = texts.drop_nulls().unique(maintain_order=True).to_list()
    lower = texts.str.to_lowercase()
    if all(value.lower() in YES | NO for value in values):
        return lower.is_in(list(YES)).cast(pl.Int8)
    shown = ", ".join(f"'{shortened(value, 30)}'" for value in values[:5])
    if len(values) <= 2:
        raise InputError(
            f"column '{name}' has the values {shown}; say which one is the decision with "
            f"{option('decision_positive', values[-1])}"
        )
    more = ", ..." if len(values) > 5 else ""
    raise InputError(
        f"column '{name}' has {len(values):,} values ({shown}{more}) and a decision has two; say "
        f"which value counts with {option('decision_positive')}, or a comparison such as '>=4'"
    )


def _equal_to(texts: pl.Series, positive: str, name: str) -> pl.Series:
    wanted = positive.strip()
    coded = (texts == wanted).cast(pl.Int8)
    if coded.sum():
        return coded
    numbers = texts.cast(pl.Float64, strict=False)
    if _is_number(wanted) and (numbers == float(wanted)).any():
        equal = (numbers == float(wanted)).fill_null(False).cast(pl.Int8)
        return equal.set(texts.is_null(), None)
    values = texts.drop_nulls().unique().sort().to_list()
    nearest = get_close_matches(wanted, values, n=1, cutoff=NEAR)
    guess = f"; did you mean '{nearest[0]}'?" if nearest else "."
    shown = ", ".join(f"'{shortened(value, 30)}'" for value in values[:5])
    raise InputError(f"column '{name}' never has the value '{wanted}'{guess} It has {shown}")


def _compared(column: pl.Series, sign: str, bound: float) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    unreadable = numbers.is_null() & column.is_not_null()
    if unreadable.any():
        row = int(unreadable.arg_max() or 0)
        raise InputError(
            f"column '{column.name}' has {column[row]!r} in data row {row + 1}; a comparison such "
            f"as '{sign}{bound:g}' takes numbers only"
        )
    results = {
        ">=": numbers >= bound,
        "<=": numbers <= bound,
        ">": numbers > bound,
        "<": numbers < bound,
    }
    return results[sign].cast(pl.Int8)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
