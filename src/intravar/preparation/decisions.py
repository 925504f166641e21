"""Who decided, and what: physicians by their names, the decision as 0 and 1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.errors import InputError, RowError, did_you_mean, option
from intravar.observed import natural_places
from intravar.preparation.kinds import ANSWERS, CODES, about_codes
from intravar.request import MIN_PANEL
from intravar.sources.plain import as_names, plain_column
from intravar.sources.reading import COMPARE
from intravar.sources.texts import EXACT, PLAIN, typed_texts
from intravar.text import MISSING, checked_values, clean_texts, shortened


def physician_names(column: pl.Series) -> tuple[pl.Series, str]:
    """Return physicians, and what to say about them without naming anybody.

    Numbers stay numbers, and 3.0 is physician 3; in a text every digit counts. Only an empty cell
    is nobody: a physician may be called NA.

    Examples
    --------
    >>> physician_names(pl.Series("doctor", ["Ada", "ADA", "Bo"]))[1]
    '2 names differ in capitals, spaces or leading zeros alone; each counts by itself'
    """
    column = plain_column(column, keep=True)
    column = checked_values(column, "who decided", "give names or numbers")
    if column.dtype.is_float() and (column.abs() >= EXACT).any():
        raise InputError(
            f"column '{column.name}' (who decided) has numbers of more than 15 digits stored as "
            "floating point, which does not tell them apart; store them as text or whole numbers"
        )
    if column.dtype.is_integer():
        return column, ""
    names, notes = as_names(column), []
    different = names.drop_nulls().unique()
    bare = different.str.to_lowercase().str.replace_all(r"\s+", "")
    if alike := bare.str.replace(r"^(\D*)0+(\d)", "${1}${2}").is_duplicated().sum():
        notes.append(
            f"{alike:,} names differ in capitals, spaces or leading zeros alone; each counts "
            "by itself"
        )
    if words := sorted(set(different) & set(MISSING)):
        notes.append(
            f"{_quoted(words)} is taken for a name; leave the cell empty if nobody is meant"
        )
    return names, "; ".join(notes)


@dataclass(frozen=True)
class Panels:
    """Panel sizes and who cannot be measured: physician, n_patients, n_for, and the reason."""

    table: pl.DataFrame

    @classmethod
    def of(
        cls,
        named: pl.Series,
        sizes: npt.NDArray[Any],
        decided_for: npt.NDArray[Any],
        min_panel: int = MIN_PANEL,
    ) -> Panels:
        """Say who cannot be measured, patients being counted.

        Examples
        --------
        >>> panels = Panels.of(pl.Series(["Ada"]), np.array([2]), np.array([1]))
        >>> panels.table["reason"].to_list()
        ['fewer than 30 decisions']
        """
        columns = {
            "physician": named,
            "n_patients": sizes.astype(np.int64),
            "n_for": decided_for.astype(np.int64),
            "reason": pl.Series([too_small(size, min_panel) for size in sizes], dtype=pl.String),
        }
        return cls(pl.DataFrame(columns)[natural_places(named)])

    @property
    def n_patients(self) -> int:
        """Patients of all physicians."""
        return int(self.table["n_patients"].sum())

    @property
    def n_for(self) -> int:
        """Patients who were decided for."""
        return int(self.table["n_for"].sum())

    @property
    def n_measurable(self) -> int:
        """Physicians who can be measured."""
        return int(self.table["reason"].null_count())


def too_small(n_patients: int, min_panel: int = MIN_PANEL) -> str | None:
    """Return why a panel is too small; None if it is large enough."""
    return f"fewer than {min_panel} decisions" if n_patients < min_panel else None


YES, NO, DOUBTFUL = (ANSWERS[name] for name in ("yes", "no", "doubtful"))
UNKNOWN = ANSWERS["unknown"] | {word.lower() for word in MISSING}
_COMPARISON = re.compile(r"^\s*(>=|<=|>|<)\s*([+-]?\d+(?:\.\d+)?)\s*$")


def code_decision(
    column: pl.Series, positive: str | None = None, counts: pl.Series | None = None
) -> tuple[pl.Series, tuple[str, str], str]:
    """Turn a column into decisions.

    Returns 0 and 1, missing where they were; the words for 1 and for 0; and what was counted as
    what, where that is not plain.

    Parameters
    ----------
    column
        0/1, true/false, yes/no; or anything, if `positive` says what counts.
    positive
        The value that counts as decided for; or a comparison such as ">=4".
    counts
        How often each value stands in the table; once by default.

    Examples
    --------
    >>> code_decision(pl.Series("drug", ["yes", "No", None]))[0].to_list()
    [1, 0, None]
    >>> code_decision(pl.Series("sure", [1, 4, 6]), ">=4")[0].to_list()
    [0, 1, 1]
    >>> answers = pl.Series("drug", ["statin", "STATIN", "statin", "?", "no"])
    >>> decided, _, note = code_decision(answers, "statin")
    >>> decided.to_list(), note
    ([1, 1, 1, None, 0], "'STATIN' counts as 'statin'; '?' counts as missing")
    """
    name, usual = column.name, "a decision is a number, a text or true and false"
    column = checked_values(plain_column(column, keep=True), "the decision", usual)
    raw = clean_texts(column.cast(pl.String))
    comparison = wanted = None
    if positive is not None:
        comparison = None if (raw == positive).any() else _COMPARISON.match(positive)
        wanted = None if comparison else str(_keys(pl.Series([positive]))[0])
    answers = pl.DataFrame({"text": raw, "count": 1 if counts is None else counts})
    texts, notes = _spelled_alike(answers, wanted, comparison is not None)
    texts = checked_values(texts.alias(name), "the decision", usual)
    values = texts.drop_nulls().unique().sort().to_list()
    if comparison is not None:
        sign, limit = comparison.groups()
        numbers = _numbers(texts, comparison[0].strip())
        coded, words = COMPARE[sign](numbers, float(limit)), (f"{name} {sign} {limit}", "otherwise")
        notes.append(about_codes(numbers))
    elif positive is not None:
        coded, words = _keys(texts) == wanted, (positive, f"not {positive}")
        if not coded.any():
            guess = did_you_mean(positive.strip(), values) or "."
            raise InputError(
                f"column '{name}' never has the value '{positive.strip()}'{guess} It has "
                + ", ".join(f"'{shortened(value, 30)}'" for value in values[:5])
            )
        notes.append(_others(texts.filter(~coded), positive))
    else:
        keys = _keys(texts)
        if not set(keys.drop_nulls()) <= YES | NO:
            raise _neither(name, values)
        coded = keys.is_in(list(YES))
        by = answers.group_by(texts.alias("text"), coded.alias("coded")).agg(pl.col("count").sum())
        by = by.sort("count", "text", descending=[False, True])
        spelled = dict(by.select("coded", "text").iter_rows())
        words = (spelled.get(True, "1"), spelled.get(False, "0"))
    if coded.drop_nulls().n_unique() < 2:
        only = shortened(values[0], 40) if len(values) == 1 else words[not coded.any()]
        raise InputError(
            f"every decision in column '{name}' is '{only}'; there is nothing to compare"
        )
    return coded.cast(pl.Int8).alias(name), words, "; ".join(filter(None, notes))


def _keys(texts: pl.Series) -> pl.Series:
    """Return what spellings of one answer have in common: 1.0 is 1, Statin is statin."""
    plain = clean_texts(texts).str.to_lowercase().str.replace_all(r"\s+", " ")
    is_number = plain.str.contains(PLAIN).fill_null(False)
    numbers = plain.set(~is_number, None).cast(pl.Float64)
    whole = numbers.cast(pl.Int64, strict=False)
    written = whole.cast(pl.String).zip_with(
        (whole.cast(pl.Float64) == numbers).fill_null(False), numbers.cast(pl.String)
    )
    return written.zip_with(is_number, plain)


def _spelled_alike(
    answers: pl.DataFrame, wanted: str | None, compared: bool
) -> tuple[pl.Series, list[str]]:
    """Give spellings of one answer one text, the commonest; leave out what nobody knows; say so."""
    counts = answers.drop_nulls("text").group_by("text").agg(pl.col("count").sum())
    spelled = counts.with_columns(_keys(counts["text"]).alias("key")).sort(
        ["key", "count", "text"], descending=[False, True, False]
    )
    text, key = pl.col("text"), pl.col("key")
    known = set(spelled["key"]) - UNKNOWN - DOUBTFUL
    against = known - {wanted} if wanted is not None else known & NO
    absent = (UNKNOWN | DOUBTFUL if against or compared else UNKNOWN - DOUBTFUL) - {wanted}
    number = key.str.contains(PLAIN)
    answer = pl.when(number).then(key).otherwise(text.first().over("key"))
    spelled = spelled.with_columns(pl.when(~key.is_in(list(absent))).then(answer).alias("answer"))
    # A yes is a yes in any letters, and 1.0 is 1: only other words are worth a word.
    merged = spelled.filter(~number & ~key.is_in(list(YES | NO)) & (pl.col("answer") != text))
    notes = [
        f"'{shortened(text, 20)}' counts as '{shortened(answer, 20)}'"
        for text, answer in merged.select("text", "answer").head(3).iter_rows()
    ]
    if merged.height > 3:
        notes.append("and so on")
    if missing := _quoted(spelled.filter(pl.col("answer").is_null())["text"].sort().to_list()):
        notes.append(f"{missing} counts as missing")
    texts = answers.join(spelled, on="text", how="left", maintain_order="left")["answer"]
    return texts, notes


def _others(texts: pl.Series, positive: str) -> str:
    """Say what counts as decided against, where it is more than one answer."""
    values = texts.drop_nulls().unique().sort().to_list()
    codes = [value for value in values if value in map(str, CODES)]
    if codes and len(values) > 1:
        return (
            f"{_quoted(codes)} counts as not {shortened(positive, 20)}; empty it if it means that "
            "nobody knows"
        )
    return f"{_quoted(values)} count as not {shortened(positive, 20)}" if len(values) > 1 else ""


def _quoted(values: Sequence[str], longest: int = 20) -> str:
    listed = ", ".join(f"'{shortened(value, longest)}'" for value in values[:5])
    return listed + (", ..." if len(values) > 5 else "")


def _neither(name: str, values: Sequence[str]) -> InputError:
    """Word the error for values of which nobody knows which one is the decision."""
    shown = _quoted(values, 30)
    if len(values) <= 2:
        return InputError(
            f"column '{name}' has the values {shown}; say which one is the decision, "
            f"for example with {option('decision_positive', values[-1])}"
        )
    return InputError(
        f"column '{name}' has {len(values):,} values ({shown}) and a decision has two; say which "
        f"value counts with {option('decision_positive')}, or a comparison such as '>=4'"
    )


def _numbers(texts: pl.Series, asked: str) -> pl.Series:
    typed = typed_texts(texts)
    if typed.doubt:
        raise InputError(f"in column '{texts.name}' (the decision) {typed.doubt}")
    numbers = (typed.values if typed.values.dtype.is_numeric() else texts).cast(
        pl.Float64, strict=False
    )
    unreadable = numbers.is_null() & texts.is_not_null()
    if unreadable.any():
        row = int(unreadable.arg_max() or 0)
        raise RowError(
            row,
            f"column '{texts.name}' has {texts[row]!r}",
            f"; a comparison such as '{asked}' takes numbers only",
        )
    return numbers
