"""Let a database leave out rows that cannot belong to a population.

What is pushed down never decides: it may keep too many rows and never loses one that belongs, and
the rows that come back are looked at again as rows of every other source are. So only comparisons
are pushed whose meaning in the database is beyond doubt; of texts only that their letters occur in
order, since a text may have spaces or marks around them that nobody sees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import Literal

from intravar.text import clean_name
from intravar.where import Combined, Compared, OneOf, Population, Value

#: What a column of a database holds: whole numbers and doubles; texts; days; true and false;
#: values of any kind, told for each ("mixed", SQLite); or something that is compared here alone.
ColumnKind = Literal["number", "text", "date", "boolean", "mixed", "other"]
_LARGEST = 2**63


def keeping(population: Population, kinds: Mapping[str, ColumnKind]) -> str | None:
    r"""Return a condition in SQL that every row of the population meets; None if there is none.

    Parameters
    ----------
    population
        The expression.
    kinds
        What the columns of the database hold.

    Examples
    --------
    >>> from intravar.where import parse_population
    >>> kinds = {"age": "number", "sex": "text"}
    >>> keeping(parse_population("age >= 75 and sex = 'F' and not smoker = 1"), kinds)
    '("age" >= 75 AND "sex" LIKE \'%F%\')'
    >>> keeping(parse_population("age >= 75 or smoker = 1"), kinds) is None
    True
    """
    if isinstance(population, Combined):
        parts = [keeping(part, kinds) for part in population.parts]
        if population.word == "or" and None in parts:
            return None
        return _joined([part for part in parts if part is not None], population.word)
    if isinstance(population, OneOf):
        found = [_compared(population.column, "=", value, kinds) for value in population.values]
        return None if None in found else _joined([part for part in found if part], "or")
    if isinstance(population, Compared):
        return _compared(population.column, population.operator, population.value, kinds)
    return None


def _joined(parts: list[str], word: str) -> str | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return "(" + f" {word.upper()} ".join(parts) + ")"


def _compared(
    column: str, comparison: str, value: Value, kinds: Mapping[str, ColumnKind]
) -> str | None:
    named = [name for name in kinds if clean_name(name) == clean_name(column)]
    if len(named) != 1:
        return None
    name, kind = '"' + named[0].replace('"', '""') + '"', kinds[named[0]]
    comparison = "<>" if comparison == "!=" else comparison
    if isinstance(value, bool):
        return f"{name} {comparison} {str(value).upper()}" if kind == "boolean" else None
    if isinstance(value, str):
        if kind == "date" and _is_day(value):
            return f"{name} {comparison} DATE '{value}'"
        return _letters(name, value) if kind == "text" and comparison == "=" else None
    if abs(value) >= _LARGEST or not math.isfinite(value):
        return None
    written = f"{name} {comparison} {value!r}"
    if kind == "mixed":
        return f"(typeof({name}) NOT IN ('integer', 'real') OR {written})"
    return written if kind == "number" else None


def _is_day(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _letters(name: str, value: str) -> str | None:
    """Ask that the letters of a text occur in their order."""
    plain = value.isascii() and value.isalpha() and value.lower() not in ("true", "false")
    return f"{name} LIKE '%{'%'.join(value)}%'" if plain else None
