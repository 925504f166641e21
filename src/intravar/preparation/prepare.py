"""From a table as it is to covariates, decisions and physicians, with a record of every step.

What columns hold and how they become numbers is found out on the rows from which everything common
is learned. Every row is then prepared by that, those rows too: nothing is found out anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.errors import InputError, counted_among, option
from intravar.observed import TRUTH_COLUMNS, UNIDENTIFIED, Observed, identify_repeats
from intravar.panels import in_content_order
from intravar.preparation import duplicates, sample
from intravar.preparation.coding import (
    Coding,
    Strata,
    days_since_1970,
    encode_with,
    learn_codings,
    number_levels,
    strata_of,
)
from intravar.preparation.kinds import Column, sampling_weights, understand, understand_as
from intravar.preparation.leaks import Leak, columns_that_say_the_same, find_leaks
from intravar.request import Request
from intravar.sources.plain import plain_table
from intravar.sources.reading import OWN, ROW
from intravar.sources.texts import Forms
from intravar.text import checked_values, clean_texts, shortened
from intravar.wording import Sentence

#: A table is said to be thinned if it loses more rows than this share to copies.
THINNED = 0.01
_UNUSABLE = ("constant", "empty", "identifier", "other")
WITHIN_PHYSICIAN: str = Sentence(
    "the same for all {cases} of each {decider}; it cannot tell them apart"
)
IDENTIFIES: str = Sentence("identifies the {case}")
#: Why a row is left out whose patients are prepared with the policy to drop.
INCOMPLETE = "a covariate is missing"


@dataclass(frozen=True)
class ColumnReport:
    """What became of one column of the table.

    `use` is "physician", "decision", "covariate", "set aside", "after the decision", "case",
    "patient", "date", "weight", "excluded" or "not chosen"; `note` says what was done to it, or
    why it is set aside. Of a category, `n_pooled` levels are pooled in its columns, with
    `n_pooled_rows` of `n_rows` patients; if `many_levels`, predictions still tell them apart.
    """

    column: str
    kind: str
    use: str
    n_missing: int | None
    n_distinct: int | None
    note: str = ""
    n_pooled: int = 0
    n_pooled_rows: int = 0
    n_rows: int = 0
    many_levels: bool = False


@dataclass(frozen=True, eq=False)
class Portion:
    """Patients, prepared.

    `rows` are those of the table that are left, `raw` has the covariates of the same rows as they
    were read, `origin` the covariate of every encoded column; rows `dropped` go by reason, cells
    `filled` by covariate; `dealt` has the place of every patient among the levels of a column
    ("by") and among periods ("date"), see :meth:`intravar.preparation.coding.Levels.deal`.
    """

    observed: Observed
    rows: IntArray
    raw: pl.DataFrame
    origin: tuple[str, ...]
    dropped: dict[str, int]
    filled: dict[str, int]
    dealt: Mapping[str, IntArray]


@dataclass(frozen=True)
class Recipe:
    """How patients become numbers.

    `roles` is the request in the names of the table, `codings` say what every covariate in use
    holds and how it becomes numbers; `copies` by what copies of rows are known, None if rows that
    agree are none. The whole table tells in which `forms` numbers and dates are written, and what
    patients are dealt by (`strata`). `visits` says whether a column identifies patients who have
    several rows. `unidentified` is the share of rows without an identifier, 0 where no column
    identifies patients.
    """

    roles: Request
    codings: tuple[Coding, ...]
    copies: duplicates.CopyRule | None
    forms: Forms
    strata: Strata = field(default_factory=dict)
    visits: bool = False
    unidentified: float = 0.0

    def apply(self, table: pl.DataFrame) -> tuple[Portion, list[Column]] | None:
        """Prepare patients; None if nobody is left.

        The table has physicians under their names and decisions as 0 and 1; other columns are as
        stored. Covariates are returned as they were understood, too.
        """
        roles = self.roles
        texts = (each.name for each in self.codings if each.kind == "category")
        kept = (roles.physician, roles.decision, *identifiers(table.columns, roles), *texts)
        plain, _ = plain_table(table, kept, forms=self.forms)
        rows, dropped = np.arange(plain.height), dict[str, int]()
        if roles.repeated == "once":
            rows, dropped = duplicates.each_once(plain, roles, self.copies)
        with counted_among(rows):
            columns = [
                understand_as(
                    plain[each.name][rows], each.kind, categorical=each.name in roles.categorical
                )
                for each in self.codings
            ]
        if roles.missing == "drop":
            complete = _complete(columns)
            dropped[INCOMPLETE] = int((~complete).sum())
            rows = rows[complete]
            columns = [each.taken(complete) for each in columns]
        if not len(rows):
            return None
        encoded, origin, blocks = encode_with(self.codings, columns)
        decision, physician = plain[roles.decision][rows], plain[roles.physician][rows]
        time, weight = None, None
        if roles.date is not None:
            time = days_since_1970(self._stored_column(table, roles.date, rows), roles.period)
        if roles.weight is not None:
            with counted_among(rows):
                weight = sampling_weights(self._stored_column(table, roles.weight, rows))
        observed = Observed.of(
            encoded,
            decision.to_numpy(),
            physician,
            blocks,
            categories=number_levels(self.codings, columns),
            time=time,
            weight=weight,
        )
        patient = duplicates.patient_numbers(plain[rows], roles) if self.visits else None
        observed = replace(observed, patient=patient)
        raw = plain[rows].select(each.name for each in self.codings)
        missing = {each.name: each.values.null_count() for each in columns}
        filled = {name: count for name, count in missing.items() if count}
        dealt = dict[str, IntArray]()
        for name, levels in self.strata.items():
            dealt[name] = levels.deal(self._stored_column(table, levels.column, rows))
        return Portion(observed, rows, raw, origin, dropped, filled, dealt), columns

    def _stored_column(self, table: pl.DataFrame, name: str, rows: IntArray) -> pl.Series:
        """Return a column of some rows, with its texts read as in the whole table."""
        one = table.select(name)[rows]
        return plain_table(one, self.roles.categorical, forms=self.forms)[0].to_series()


def identifiers(columns: Sequence[str], roles: Request) -> list[str]:
    """Return the columns that hold identifiers of patients and cases, which are texts."""
    case = [] if roles.case is None else [roles.case]
    return [*duplicates.patient_columns(columns, roles), *case]


def _complete(columns: Sequence[Column]) -> BoolArray:
    """Tell which rows have a value in every column."""
    known = pl.all_horizontal(pl.all().is_not_null())
    return pl.DataFrame([each.values for each in columns]).select(known).to_series().to_numpy()


def learn_recipe(
    table: pl.DataFrame, roles: Request, forms: Forms, part: float, *, chosen: bool
) -> tuple[Recipe, dict[str, Column], str]:
    """Find out what columns hold and how they become numbers.

    The table is plain, with physicians under their names and decisions as 0 and 1; its rows are a
    `part` of all. Covariates may have been `chosen` one by one. Returns the recipe, all covariates
    as they were understood, and what was decided about rows that are alike.
    """
    rows, copies, about_copies = np.arange(table.height), None, ""
    if roles.repeated == "once":
        copies, about_copies = duplicates.learn_copies(table, roles, part)
        rows, _ = duplicates.each_once(table, roles, copies)
    with counted_among(rows):
        left = table[rows]
        every = {
            name: understand(
                left[name], categorical=name in roles.categorical, chosen=chosen, part=part
            )
            for name in sorted(roles.covariates or ())  # their order in the table changes nothing
        }
    if not chosen:
        for name in duplicates.patient_columns(list(every), roles):
            every[name] = Column(name, "identifier", left[name], IDENTIFIES)
    if not chosen and set(TRUTH_COLUMNS) <= set(table.columns):
        # A simulated cohort that was written with its truth.
        for name in TRUTH_COLUMNS:
            every[name] = Column(name, "other", left[name], "the truth of a simulated cohort")
    usable = [column for column in every.values() if column.kind not in _UNUSABLE]
    who = left[roles.physician]
    if who.n_unique() < len(who):
        same = duplicates.same_within([column.values for column in usable], who)
        for column, one in zip(usable, same, strict=True):
            if one:
                every[column.name] = replace(column, note=WITHIN_PHYSICIAN)
        usable = [column for column, one in zip(usable, same, strict=True) if not one]
    complete = _complete(usable) if roles.missing == "drop" and usable else rows[:0]
    if complete.any():
        known = [each.taken(complete) for each in usable]
        usable = [each for each in known if each.values.n_unique() > 1]
        for name in {each.name for each in known} - {each.name for each in usable}:
            every[name] = replace(every[name], note="the same value in every row that is left")
    codings = learn_codings(usable, roles.missing)
    patient = duplicates.patient_numbers(left, roles)
    visits = patient is not None and identify_repeats(patient)
    unidentified = 0.0 if patient is None else float(np.mean(patient == UNIDENTIFIED))
    if visits and patient is not None:
        about_copies = duplicates.describe_visits(patient, part)
    recipe = Recipe(roles, codings, copies, forms, visits=visits, unidentified=unidentified)
    return recipe, every, about_copies


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
        share = sum(
            self.dropped.get(why, 0) for why in (duplicates.COPIES, duplicates.AGAIN)
        ) / max(self.n_rows, 1)
        if share < THINNED:
            return ()
        return (
            f"{share:.0%} of the table's rows were left out, because they copy another row or are "
            "further rows of the same case",
        )

    @property
    def periods(self) -> list[int]:
        """Patients of each period; none where periods are not compared."""
        if "date" not in self.dealt:
            return []
        places, n_periods = self.dealt["date"], len(self.recipe.strata["date"].names)
        return [int(n) for n in np.bincount(places[places >= 0], minlength=n_periods)]

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates in use, before encoding."""
        return tuple(dict.fromkeys(self.origin))


def prepare(
    census: sample.Census,
    counts: sample.Counts,
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
    stored = sample.as_measured(census, counts, rows)
    numbers, table = stored[ROW].to_numpy(), stored.select(pl.exclude(f"^{OWN}.*$"))
    kept = identifiers(table.columns, roles)
    names = (roles.physician, roles.decision, *kept, *roles.categorical)
    plain, notes = plain_table(table, names, forms=forms)
    part = table.height / max(int(counts.n_patients.sum()), 1)
    with counted_among(numbers):
        recipe, every, about_copies = learn_recipe(plain, roles, forms, part, chosen=chosen)
        portion, understood = _applied(recipe, table, counts)
    observed = portion.observed
    if len(observed.decision) == census.n_rows:
        # Of a sample of a larger table it is not known whether all weights are equal.
        observed = observed.without_equal_weights()
    observed, order = in_content_order(observed)
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
    found = find_leaks(
        columns,
        observed.decision,
        roles.decision,
        date=left.get(roles.date or ""),
        physician=observed.code,
    )
    return Prepared(
        observed=observed,
        rows=numbers[places].astype(np.int64),
        raw=portion.raw[order],
        origin=portion.origin,
        columns=tuple(_reports(plain, recipe, every, census, counts, found)),
        leaks=_unconfirmed(found, roles, chosen=chosen),
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


def _unconfirmed(found: Sequence[Leak], roles: Request, *, chosen: bool) -> tuple[Leak, ...]:
    """Return the possible leaks that the user has not confirmed.

    Covariates that were chosen one by one are still asked about, but do not limit the verdict.
    """
    left = [leak for leak in found if leak.column not in roles.confirm]
    if not chosen:
        return tuple(left)
    named = "; it was named as a covariate and does not limit the verdict"
    return tuple(
        replace(leak, why=leak.why + named, certain=False) if leak.certain else leak
        for leak in left
    )


def _applied(
    recipe: Recipe, table: pl.DataFrame, counts: sample.Counts
) -> tuple[Portion, list[Column]]:
    """Prepare the rows; refuse where no covariate or no row is left."""
    if table.height and not recipe.codings:
        raise InputError(
            "no covariate is left to compare by: all are constant, empty, identifiers or the same "
            f"for all rows of whoever decides; name others with {option('covariates')}"
        )
    applied = recipe.apply(table) if recipe.codings else None
    if applied is None:
        lost = counts.dropped | ({INCOMPLETE: table.height} if table.height else {})
        reasons = "; ".join(f"{count:,} because {why}" for why, count in lost.items())
        remedy = f"use {option('missing', 'indicator')} or fewer covariates"
        raise InputError(f"no row is left ({reasons}); {{remedy}}", remedy=remedy)
    return applied


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
    census: sample.Census,
    counts: sample.Counts,
    leaks: Sequence[Leak],
) -> Iterator[ColumnReport]:
    confirmed = {leak.column for leak in leaks if leak.column in recipe.roles.confirm}
    roles, codings = recipe.roles, {each.name: each for each in recipe.codings}
    uses: dict[str | None, str] = {
        **dict.fromkeys(roles.exclude, "excluded"),
        roles.patient: "patient",
        roles.case: "case",
        **dict.fromkeys(roles.after, "after the decision"),
        roles.date: "date",
        roles.weight: "weight",
        roles.decision: "decision",
        roles.physician: "physician",
    }
    told = {
        roles.physician: (counts.dropped.get(sample.NOBODY, 0), census.note),
        roles.decision: (counts.dropped.get(sample.UNDECIDED, 0), counts.note),
    }
    for name in table.columns:
        column, coding = every.get(name), codings.get(name)
        if column is None:
            n_missing, note = told.get(name) or (clean_texts(table[name]).null_count(), "")
            yield ColumnReport(name, "", uses.get(name, "not chosen"), n_missing, None, note)
            continue
        use, note, pooled = "set aside", column.note, dict[str, Any]()
        if coding is not None:
            use, notes, n_columns = "covariate", [note], len(coding.levels)
            if column.kind == "category":
                notes.append(f"coded in {n_columns} {'column' if n_columns == 1 else 'columns'}")
            if coding.n_pooled > (not coding.known):
                pooled = {
                    "n_pooled": coding.n_pooled,
                    "n_pooled_rows": coding.n_pooled_rows,
                    "n_rows": len(column.values),
                    "many_levels": bool(coding.numbered),
                }
            if name in confirmed:
                notes.insert(0, "looks like a leak; confirmed as known before the decision")
            note = shortened("; ".join(filter(None, notes)), 100)
        n_missing = column.values.null_count()
        # A missing value is not a value: it would tell that there is one.
        n_distinct = column.values.drop_nulls().n_unique()
        yield ColumnReport(name, column.kind, use, n_missing, n_distinct, note, **pooled)
