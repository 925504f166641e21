"""Numbers in text: decimal commas, thousands separators, per cent signs.

"1,234" is one number in Zürich and another in London. What a column means is told by the column
where it can be, else by the other columns of the table; where neither tells, nobody guesses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from intravar.sources.columns.plain import Habits

Sign = Literal[".", ","]

_END = r"(?:[eE][+-]?[0-9]+)?$"
_PLAIN = rf"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_END}"
_INFINITE = r"^(?i:[+-]?inf(?:inity)?)$"
_WITH_POINT = rf"^[+-]?(?:(?:[0-9]+|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]*)?|\.[0-9]+){_END}"
_WITH_COMMA = rf"^[+-]?(?:[0-9]+|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+)(?:,[0-9]+)?{_END}"
_GROUPED = r"^[+-]?[0-9]{1,3}(?:[ '’\u{00a0}\u{202f}][0-9]{3})+(?:[.,][0-9]+)?%?$"
_GROUP = r"[ '’\u{00a0}\u{202f}]"
#: 1500 beside 1,234: who separates thousands would have written 1,500.
_UNGROUPED = r"^[+-]?[0-9]{4,}"
_MAYBE = r"^[+-]?(?:[0-9.,]|(?i:inf))"
#: Whole numbers beyond this are not told apart by a float.
EXACT = 2**53


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a column are written.

    Attributes
    ----------
    sign
        The decimal sign; None where the column does not tell and it matters.
    proven
        The decimal sign that only this column's own texts prove; None where they prove nothing.
    grouped
        Whether thousands are separated.
    percent
        Whether every number carries a per cent sign.
    either
        Whether points, taken for decimal points, may separate thousands.
    points
        Whether there are decimal points beyond doubt.
    everywhere
        Whether every number has a point, as fixed decimals have.
    """

    sign: Sign | None
    proven: Sign | None
    grouped: bool = False
    percent: bool = False
    either: bool = False
    points: bool = False
    everywhere: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the texts are numbers as programs write them."""
        return self.sign == "." and not (self.grouped or self.percent or self.either)

    def by_habit(self, habits: Habits) -> Sign | None:
        """Return the decimal sign to read by; None where it cannot be told."""
        if not self.either:
            return self.sign or habits.sign
        # Where people write 5,6 they write 1.234 for 1234. Beside decimal points 1.234 and 8.990
        # are fixed decimals; beside 950 they may be anything.
        if habits.sign is not None:
            return habits.sign
        return "." if habits.points and self.everywhere else None


def number_form(column: pl.Series) -> NumberForm | None:
    """Tell how the texts of a column are written as numbers; None if they are not numbers.

    Examples
    --------
    >>> number_form(pl.Series(["5,6", "7"])).sign
    ','
    >>> number_form(pl.Series(["1,234", "12,500"])).sign is None
    True
    """
    present = column.drop_nulls()
    if not len(present) or not present.head(20).str.contains(_MAYBE).all():
        return None
    if _all(present, _PLAIN):
        # Plain numbers prove nothing: programs write them so, whatever people do.
        either = _all(present.head(20), _WITH_COMMA) and _all(present, _WITH_COMMA)
        return _with_points(present, either)
    texts = present.unique()
    percent = bool(texts.str.ends_with("%").all())
    if not percent and texts.str.ends_with("%").any():
        return None  # 5 and 5 % in one column: nobody knows what the 5 is
    texts, spaced = _bare(texts)
    point, comma = _all(texts, _WITH_POINT), _all(texts, _WITH_COMMA)
    has_comma = bool(texts.str.contains(",", literal=True).any())
    has_point = bool(texts.str.contains(".", literal=True).any())
    if not has_comma:
        if _all(texts, rf"{_PLAIN}|{_INFINITE}"):
            return replace(_with_points(texts, comma), grouped=spaced, percent=percent)
        return NumberForm(",", ",", True, percent) if comma else None
    if point and comma:
        if texts.str.contains(_UNGROUPED).any():
            return NumberForm(",", ",", spaced, percent)
        return NumberForm(None, None, True, percent)
    if point:
        return NumberForm(".", ".", True, percent)
    return NumberForm(",", ",", has_point or spaced, percent) if comma else None


def _with_points(texts: pl.Series, comma: bool) -> NumberForm:
    """Tell what points are among numbers without commas; they may separate thousands."""
    pointed = texts.str.contains(".", literal=True)
    if not pointed.any():
        return NumberForm(".", None)
    if not comma or texts.str.contains(_UNGROUPED).any():
        return NumberForm(".", None, points=True)
    return NumberForm(".", None, either=True, everywhere=bool(pointed.all()))


def numbers(column: pl.Series, form: NumberForm, sign: Sign) -> pl.Series:
    """Return texts as numbers: whole numbers where all are, else floats."""
    plain = form.is_plain and sign == "."
    texts = column if plain else _bare(column)[0]
    if plain:
        pass
    elif sign == ",":
        texts = texts.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    else:
        texts = texts.str.replace_all(",", "", literal=True)
    texts = texts.str.strip_prefix("+")
    if not texts.str.contains(r"[^0-9-]").any():
        whole = texts.cast(pl.Int64, strict=False)
        if whole.null_count() == texts.null_count():
            return whole
    return whole_numbers(texts.cast(pl.Float64))


def whole_numbers(column: pl.Series) -> pl.Series:
    """Return floats as whole numbers if all of them are; a missing one is null, never NaN.

    Examples
    --------
    >>> whole_numbers(pl.Series([7.0, float("nan")])).to_list()
    [7, None]
    """
    column = column.fill_nan(None)
    present = column.drop_nulls()
    if len(present) and ((present == present.round()) & (present.abs() < EXACT)).all():
        return column.cast(pl.Int64)
    return column


def _bare(texts: pl.Series) -> tuple[pl.Series, bool]:
    """Return texts without per cent signs and without spaces between thousands."""
    grouped = texts.str.contains(_GROUPED)
    bare = texts.str.replace(r"\s*%$", "")
    if not grouped.any():
        return bare, False
    return bare.zip_with(~grouped.fill_null(False), bare.str.replace_all(_GROUP, "")), True


def _all(texts: pl.Series, pattern: str) -> bool:
    return bool(texts.str.contains(pattern).all())
