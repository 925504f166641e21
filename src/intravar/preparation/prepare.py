"""From a table as it is to covariates, decisions and physicians, with a record of every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError, counted_among, option
from intravar.observed import Observed
from intravar.panels import in_content_order
from intravar.preparation.duplicates import AGAIN, COPIES
from intravar.preparation.kinds import Column
from intravar.preparation.leaks import Leak, columns_that_say_the_same, find_leaks
from intravar.preparation.recipe import INCOMPLETE, Portion, Recipe, learn_recipe
from intravar.preparation.roles import Roles
from intravar.preparation.sample import NOBODY, UNDECIDED, Census, Counts, as_measured
from intravar.request import Missing, Request
from intravar.sources.plain import plain_table
from intravar.sources.reading import OWN, ROW
from intravar.sources.texts import Forms
from intravar.text import checked_values, clean_name, clean_texts, shortened
from intravar.wording import Sentence

if TYPE_CHECKING:
    from intravar.preparation.periods import Dealt, Levels, Strata

#: A table is said to be thinned if it loses more rows than this share to copies.
THINNED = 0.01


@dataclass(frozen=True)
class ColumnReport:
    """What became of one column of the table.

    `use` is "physician", "decision", "covariate", "set aside", "after the decision", "case",
    "patient", "excluded" or "not chosen"; `note` says what was done to it, or why it is set aside.
    """

    column: str
    kind: str
    use: str
    n_missing: int | None
    n_distinct: int | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready for the estimators.

    `rows` are those of the source, counted from 0, for every patient; `raw` has the covariates of
    the same rows as they were read, for a reader; `origin` the covariate of every encoded column,
    `columns` what became of every column. `leaks` may give the decision away, sets of covariates in
    `same` say the same. `decision` is its name, and what was counted as 1 and 0. Rows `dropped` go
    by reason, cells `filled` by covariate. `cases` has every decision with its case, where cases
    are named; `dealt` the patients in the levels of a column ("by") and in periods ("date"). The
    `recipe` prepares more patients of the same table in the same way; `about_copies` says what was
    decided about rows that are alike, if any are.
    """

    observed: Observed
    rows: IntArray
    raw: pl.DataFrame
    origin: tuple[str, ...]
    columns: tuple[ColumnReport, ...]
    leaks: tuple[Leak, ...]
    decision: tuple[str, str, str]
    dropped: dict[str, int]
    filled: dict[str, int]
    missing: Missing
    n_rows: int
    recipe: Recipe
    cases: pl.DataFrame | None = None
    dealt: Mapping[str, Dealt] = field(default_factory=dict)
    about_copies: str = ""
    same: tuple[tuple[str, ...], ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever reads the results must know of the preparation."""
        share = sum(self.dropped.get(why, 0) for why in (COPIES, AGAIN)) / max(self.n_rows, 1)
        if share < THINNED:
            return ()
        return (
            f"{share:.0%} of the table's rows were left out, because they copy another row or are "
            "further rows of the same case",
        )

    @property
    def periods(self) -> list[int]:
        """Patients of each period; none where periods are not compared."""
        return self.dealt["date"].counts() if "date" in self.dealt else []

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates in use, before encoding."""
        return tuple(dict.fromkeys(self.origin))


def prepare(
    census: Census,
    counts: Counts,
    rows: pl.DataFrame,
    roles: Roles,
    request: Request,
    forms: Forms,
    strata: Strata | None = None,
) -> tuple[Prepared, list[str]]:
    """Learn from rows of a table how it is prepared, and prepare them; say how texts were read.

    Every row and column that is lost is accounted for. What patients are dealt by (`strata`) is
    known where a larger table has told; otherwise these rows tell.
    """
    stored = as_measured(census, counts, rows)
    numbers, table = stored[ROW].to_numpy(), stored.select(pl.exclude(f"^{OWN}.*$"))
    names = (roles.physician, roles.decision, *roles.categorical)
    plain, notes = plain_table(table, names, forms=forms)
    n_decided = max(int(counts.n_patients.sum()), 1)
    with counted_among(numbers):
        recipe, every, about_copies = learn_recipe(
            plain, roles, request, forms, part=table.height / n_decided
        )
        portion = recipe.apply(table) if recipe.kinds else None
    dropped = counts.dropped
    _check_left(portion, recipe, table.height, dropped)
    assert portion is not None
    observed, order = in_content_order(portion.observed)
    places = portion.rows[order]
    columns = [each.taken(order) for each in portion.columns]
    left = {name: plain[name][places] for name in (roles.by, roles.date) if name is not None}
    strata = strata or strata_of(left.__getitem__, request)
    missing_and_note = {
        roles.physician: (counts.dropped.get(NOBODY, 0), census.note),
        roles.decision: (counts.dropped.get(UNDECIDED, 0), counts.note),
    }
    return Prepared(
        observed=observed,
        rows=numbers[places].astype(np.int64),
        raw=portion.raw[order],
        origin=portion.origin,
        columns=tuple(_reports(plain, roles, every, portion, missing_and_note)),
        leaks=tuple(
            find_leaks(columns, observed.decision, roles.decision, left.get(roles.date or ""))
        ),
        same=tuple(columns_that_say_the_same(columns)),
        decision=counts.decision,
        dropped=dropped | {reason: count for reason, count in portion.dropped.items() if count},
        filled=portion.filled,
        missing=request.missing,
        n_rows=census.n_rows,
        cases=None if roles.case is None else _cases(plain, roles),
        dealt={name: each.deal(left[each.column]) for name, each in strata.items()},
        recipe=replace(recipe, strata=strata),
        about_copies=about_copies,
    ), notes


def strata_of(values: Callable[[str], pl.Series], request: Request) -> Strata:
    """Find the levels and periods that were asked for; `values` gives those of a column."""
    strata: dict[str, Levels] = {}
    if request.by is None and request.date is None:
        return strata
    # Loaded where it is asked for: few compare subgroups or periods.
    from intravar.preparation.periods import levels_of, periods_of

    if request.by is not None:
        strata["by"] = levels_of(values(clean_name(request.by)))
    if request.date is not None:
        strata["date"] = periods_of(values(clean_name(request.date)), request.period or "year")
    return strata


def _cases(plain: pl.DataFrame, roles: Roles) -> pl.DataFrame:
    """Return every decision with its case, those on cases seen again included."""
    assert roles.case is not None
    wanted = "a case is a name or a number"
    case = checked_values(plain[roles.case], "the case", wanted)
    named = checked_values(clean_texts(case.cast(pl.String)), "the case", wanted)
    decision, physician = plain[roles.decision], plain[roles.physician]
    return pl.DataFrame({"case": named, "decision": decision, "physician": physician})


def _check_left(
    portion: Portion | None, recipe: Recipe, n_decided: int, dropped: Mapping[str, int]
) -> None:
    """Refuse a table of which nothing is left to compare."""
    if n_decided and not recipe.kinds:
        raise InputError(
            "no covariate is left to compare by: all are constant, empty, identifiers or "
            "the same for all rows of whoever decides; name others with {}",
            option("covariates"),
        )
    if portion is None:
        lost = {**dropped} | ({INCOMPLETE: n_decided} if n_decided else {})
        reasons = "; ".join(f"{count:,} because {why}" for why, count in lost.items())
        remedy = Sentence("use {} or fewer covariates", option("missing", "indicator"))
        raise InputError(f"no row is left ({reasons}); {{remedy}}", remedy=remedy)
    if len(np.unique(portion.observed.decision)) < 2:
        raise InputError(
            f"every decision in column '{recipe.roles.decision}' is the same in the rows that are "
            "left; "
            "there is nothing to compare"
        )


def _reports(
    table: pl.DataFrame,
    roles: Roles,
    every: Mapping[str, Column],
    portion: Portion,
    missing_and_note: Mapping[str, tuple[int, str]],
) -> list[ColumnReport]:
    uses: dict[str | None, str] = {
        **dict.fromkeys(roles.excluded, "excluded"),
        roles.patient: "patient",
        roles.case: "case",
        **dict.fromkeys(roles.after, "after the decision"),
        roles.date: "date",
        roles.decision: "decision",
        roles.physician: "physician",
    }
    reports = []
    for name in table.columns:
        if name not in every:
            n_missing, note = missing_and_note.get(
                name, (clean_texts(table[name]).null_count(), "")
            )
            use = uses.get(name, "not chosen")
            reports.append(ColumnReport(name, "", use, n_missing, None, note))
            continue
        column, use, note = every[name], "set aside", every[name].note
        if name in portion.origin:
            use, notes, n_columns = "covariate", [column.note], portion.origin.count(name)
            if column.kind == "category":
                notes.append(f"coded in {n_columns} {'column' if n_columns == 1 else 'columns'}")
            if name in portion.pooled:
                notes.append(f"rare levels pooled: {portion.pooled[name]}")
            note = shortened("; ".join(filter(None, notes)), 100)
        counts = (column.values.null_count(), table[name].n_unique())
        reports.append(ColumnReport(name, column.kind, use, *counts, note))
    return reports
