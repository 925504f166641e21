"""Who is in a large table: every physician with patients and decisions, counted in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError, RowError, option
from intravar.observed import in_natural_order
from intravar.preparation.decisions import CodedDecision, code_decision
from intravar.preparation.physician_names import physician_names
from intravar.sources.columns.plain import plain_column
from intravar.sources.scanning import OWN, ROW, Scanned

#: Columns that are added to the rows of a large table.
CODE, DECIDED = f"{OWN}physician", f"{OWN}decision"
#: Why rows are left out; templates, see :class:`intravar.wording.Sentence`.
NOBODY, UNDECIDED = "the {decider} is missing", "the decision is missing"


@dataclass(frozen=True, eq=False)
class Census:
    """Everybody in a large table.

    Attributes
    ----------
    rows
        The rows with physician and decision, each with the number of its physician, its decision
        as 0 or 1, and its number in the source; to be gone through.
    named
        The physicians in natural order.
    n_patients, n_for
        Rows of each, and those decided for.
    decision
        Name of the decision, and what was counted as 1 and 0.
    said
        What there is to say of the physicians' names, and of the decision.
    dropped
        Rows left out, by reason.
    n_rows
        Rows of the source.
    """

    rows: pl.LazyFrame
    named: pl.Series
    n_patients: IntArray
    n_for: IntArray
    decision: tuple[str, str, str]
    said: tuple[str, str]
    dropped: dict[str, int]
    n_rows: int


def take_census(
    scanned: Scanned,
    physician: str,
    decision: str,
    *,
    positive: str | None = None,
    rows: pl.LazyFrame | None = None,
    outside: str = "",
) -> Census:
    """Count everybody's patients and decisions in one pass.

    Parameters
    ----------
    scanned
        The table.
    physician, decision
        The two columns.
    positive
        The value of the decision that counts as 1.
    rows
        Rows of the patients who are meant; all by default.
    outside
        What to say of rows that are not.
    """
    lazy = scanned.lazy if rows is None else rows
    counted = lazy.group_by(
        pl.col(physician).alias("physician"), pl.col(decision).alias("decision")
    ).agg(pl.len().alias("n"))
    table = counted.collect(engine="streaming")
    if not table.height:
        raise InputError(
            f"no row of '{scanned.name}' belongs to the population of {option('where')}; does "
            "it ask for values that the table has?"
        )
    who, codes, about_names = _physicians(table["physician"].rename(physician))
    decided, values = _decisions(table["decision"].rename(decision), positive, lazy)
    counts = (
        table.join(codes, on="physician", how="left", nulls_equal=True)
        .join(values, on="decision", how="left", nulls_equal=True)
        .sort(CODE, DECIDED, nulls_last=True)
    )
    known = counts.drop_nulls([CODE, DECIDED])
    place = known[CODE].to_numpy()
    n, y = known["n"].to_numpy().astype(np.int64), known[DECIDED].to_numpy()
    dropped = {
        outside: scanned.n_rows - int(table["n"].sum()),
        NOBODY: _total(counts.filter(pl.col(CODE).is_null())),
        UNDECIDED: _total(counts.filter(pl.col(CODE).is_not_null(), pl.col(DECIDED).is_null())),
    }
    known_rows = (
        lazy.join(codes.lazy().rename({"physician": physician}), on=physician, how="inner")
        .join(values.lazy().rename({"decision": decision}), on=decision, how="inner")
    )  # fmt: skip
    return Census(
        known_rows,
        who,
        np.bincount(place, n, minlength=len(who)).astype(np.int64),
        np.bincount(place, n * y, minlength=len(who)).astype(np.int64),
        (decision, decided.positive, decided.negative),
        (about_names, decided.note),
        {reason: count for reason, count in dropped.items() if count},
        scanned.n_rows,
    )


def _total(counts: pl.DataFrame) -> int:
    return int(counts["n"].sum())


def _physicians(stored: pl.Series) -> tuple[pl.Series, pl.DataFrame, str]:
    """Return the physicians in natural order, the number of each name as stored, and a note."""
    raw = stored.unique()
    names, said = physician_names(raw)
    named = in_natural_order(names.drop_nulls().unique())
    place = pl.DataFrame({"name": named, CODE: np.arange(len(named), dtype=np.int64)})
    codes = (
        pl.DataFrame({"physician": raw, "name": names})
        .drop_nulls("name")
        .join(place, on="name", how="inner")
        .select("physician", CODE)
    )
    return named.alias(stored.name), codes, said


def _decisions(
    stored: pl.Series, positive: str | None, rows: pl.LazyFrame
) -> tuple[CodedDecision, pl.DataFrame]:
    """Return how decisions are coded, and 0 or 1 for every value as stored."""
    raw = stored.unique()
    if raw.dtype == pl.String:
        raw = raw.sort()  # of several that cannot be used the same is named every time
    try:
        coded = code_decision(plain_column(raw, keep=True), positive)
    except RowError as error:
        raise _of_source(error, raw, rows) from None
    values = pl.DataFrame({"decision": raw, DECIDED: coded.values}).drop_nulls()
    return coded, values


def _of_source(error: RowError, raw: pl.Series, rows: pl.LazyFrame) -> RowError:
    """Name the first row of the source that holds the value that cannot be used."""
    held = pl.col(raw.name) == raw[error.row]
    first = rows.filter(held).select(pl.col(ROW).min()).collect(engine="streaming")
    return error.at(int(first.item()))


def rows_of(census: Census, codes: Sequence[int] | IntArray) -> pl.LazyFrame:
    """Return the rows of some physicians, to be gone through."""
    wanted = pl.DataFrame({CODE: np.asarray(codes, dtype=np.int64)})
    return census.rows.join(wanted.lazy(), on=CODE, how="semi")


def as_measured(census: Census, rows: pl.DataFrame, physician: str, decision: str) -> pl.DataFrame:
    """Return rows in the order of the source, with physicians by name and decisions as 0 and 1."""
    rows = rows.sort(ROW)
    return rows.with_columns(
        census.named[rows[CODE]].alias(physician), pl.col(DECIDED).alias(decision)
    )
