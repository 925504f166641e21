"""From a table as it is to covariates, decisions and physicians, with a record of every step."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.errors import InputError, counted_among, option
from intravar.panels import in_content_order
from intravar.preparation.duplicates import AGAIN, COPIES
from intravar.preparation.kinds import Column
from intravar.preparation.leaks import Leak, columns_that_say_the_same, find_leaks
from intravar.preparation.periods import Levels, Strata, levels_of, periods_of
from intravar.preparation.recipe import INCOMPLETE, Portion, Recipe, learn_recipe
from intravar.preparation.sample import NOBODY, UNDECIDED, Census, Counts, as_measured
from intravar.request import Request
from intravar.sources.plain import plain_table
from intravar.sources.reading import OWN, ROW
from intravar.sources.texts import Forms
from intravar.text import checked_values, clean_texts, shortened

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
class Prepared(Portion):
    """A table ready for the estimators.

    `rows` are those of the source, counted from 0, for every patient; `columns` say what became of
    every column. `leaks` may give the decision away, sets of covariates in `same` say the same.
    `decision` is its name, and what was counted as 1 and 0. `cases` has every decision with its
    case, where cases are named. The `recipe` prepares more patients of the same table in the same
    way; `about_copies` says what was decided about rows that are alike, if any are.
    """

    columns: tuple[ColumnReport, ...]
    leaks: tuple[Leak, ...]
    same: tuple[tuple[str, ...], ...]
    decision: tuple[str, str, str]
    n_rows: int
    recipe: Recipe
    cases: pl.DataFrame | None
    about_copies: str

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
    roles: Request,
    forms: Forms,
    strata: Strata | None,
    *,
    chosen: bool,
) -> tuple[Prepared, list[str]]:
    """Learn from rows of a table how it is prepared, and prepare them; say how texts were read.

    Every row and column that is lost is accounted for. `roles` is the request in the names of the
    table; covariates may have been `chosen` one by one. What patients are dealt by (`strata`) is
    known where a larger table has told; otherwise these rows tell.
    """
    stored = as_measured(census, counts, rows)
    numbers, table = stored[ROW].to_numpy(), stored.select(pl.exclude(f"^{OWN}.*$"))
    names = (roles.physician, roles.decision, *roles.categorical)
    plain, notes = plain_table(table, names, forms=forms)
    n_decided = max(int(counts.n_patients.sum()), 1)
    with counted_among(numbers):
        recipe, every, about_copies = learn_recipe(
            plain, roles, forms, table.height / n_decided, chosen=chosen
        )
        portion, understood = _applied(recipe, table, counts)
    observed, order = in_content_order(portion.observed)
    if len(np.unique(observed.decision)) < 2:
        raise InputError(
            f"every decision in column '{roles.decision}' is the same in the rows that are left; "
            "there is nothing to compare"
        )
    places = portion.rows[order]
    columns = [each.taken(order) for each in understood]
    left = {name: plain[name][places] for name in (roles.by, roles.date) if name is not None}
    strata = strata or strata_of(left.__getitem__, roles)
    dropped = {reason: count for reason, count in portion.dropped.items() if count}
    return Prepared(
        observed=observed,
        rows=numbers[places].astype(np.int64),
        raw=portion.raw[order],
        origin=portion.origin,
        columns=tuple(_reports(plain, recipe, every, portion.origin, census.note, counts)),
        leaks=tuple(
            find_leaks(columns, observed.decision, roles.decision, left.get(roles.date or ""))
        ),
        same=tuple(columns_that_say_the_same(columns)),
        decision=counts.decision,
        dropped=counts.dropped | dropped,
        filled=portion.filled,
        n_rows=census.n_rows,
        cases=None if roles.case is None else _cases(plain, roles, roles.case),
        dealt={name: each.deal(left[each.column]) for name, each in strata.items()},
        recipe=replace(recipe, strata=strata),
        about_copies=about_copies,
    ), notes


def _applied(recipe: Recipe, table: pl.DataFrame, counts: Counts) -> tuple[Portion, list[Column]]:
    """Prepare the rows; refuse where no covariate or no row is left."""
    if table.height and not recipe.kinds:
        raise InputError(
            "no covariate is left to compare by: all are constant, empty, identifiers or the same "
            f"for all rows of whoever decides; name others with {option('covariates')}"
        )
    applied = recipe.apply(table) if recipe.kinds else None
    if applied is None:
        lost = counts.dropped | ({INCOMPLETE: table.height} if table.height else {})
        reasons = "; ".join(f"{count:,} because {why}" for why, count in lost.items())
        remedy = f"use {option('missing', 'indicator')} or fewer covariates"
        raise InputError(f"no row is left ({reasons}); {{remedy}}", remedy=remedy)
    return applied


def strata_of(values: Callable[[str], pl.Series], roles: Request) -> Strata:
    """Find the levels and periods that were asked for; `values` gives those of a column."""
    strata: dict[str, Levels] = {}
    if roles.by is not None:
        strata["by"] = levels_of(values(roles.by))
    if roles.date is not None:
        strata["date"] = periods_of(values(roles.date), roles.period or "year")
    return strata


def _cases(plain: pl.DataFrame, roles: Request, case: str) -> pl.DataFrame:
    """Return every decision with its case, those on cases seen again included."""
    wanted = "a case is a name or a number"
    column = checked_values(plain[case], "the case", wanted)
    named = checked_values(clean_texts(column.cast(pl.String)), "the case", wanted)
    decision, physician = plain[roles.decision], plain[roles.physician]
    return pl.DataFrame({"case": named, "decision": decision, "physician": physician})


def _reports(
    table: pl.DataFrame,
    recipe: Recipe,
    every: Mapping[str, Column],
    origin: tuple[str, ...],
    about_names: str,
    counts: Counts,
) -> Iterator[ColumnReport]:
    roles = recipe.roles
    uses: dict[str | None, str] = {
        **dict.fromkeys(roles.exclude, "excluded"),
        roles.patient: "patient",
        roles.case: "case",
        **dict.fromkeys(roles.after, "after the decision"),
        roles.date: "date",
        roles.decision: "decision",
        roles.physician: "physician",
    }
    missing_and_note = {
        roles.physician: (counts.dropped.get(NOBODY, 0), about_names),
        roles.decision: (counts.dropped.get(UNDECIDED, 0), counts.note),
    }
    codings = {each.name: each for each in recipe.codings}
    for name in table.columns:
        if name not in every:
            counted = (clean_texts(table[name]).null_count(), "")
            n_missing, note = missing_and_note.get(name, counted)
            use = uses.get(name, "not chosen")
            yield ColumnReport(name, "", use, n_missing, None, note)
            continue
        column, use, note = every[name], "set aside", every[name].note
        if name in codings:
            use, notes, n_columns = "covariate", [column.note], origin.count(name)
            if column.kind == "category":
                notes.append(f"coded in {n_columns} {'column' if n_columns == 1 else 'columns'}")
            if codings[name].n_pooled > (not codings[name].known):
                notes.append(f"rare levels pooled: {codings[name].n_pooled}")
            note = shortened("; ".join(filter(None, notes)), 100)
        n_missing, n_distinct = column.values.null_count(), table[name].n_unique()
        yield ColumnReport(name, column.kind, use, n_missing, n_distinct, note)
