"""How a table is prepared: learned once, from all rows or from a sample, and applied to all.

What columns hold and how they become numbers is found out on the rows from which everything common
is learned. Every row is then prepared by that, those rows too: nothing is found out anew.

A category of k levels becomes k columns of 0 and 1 that form one block. Estimators scale a block as
a whole, so that any two levels lie equally far apart and the category weighs as much as one
number; a category of two levels is one column, which amounts to the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import counted_among
from intravar.observed import TRUTH_COLUMNS, Observed
from intravar.preparation.duplicates import CopyRule, each_once, learn_copies, same_within
from intravar.preparation.kinds import Column, Kind, understand, understand_as
from intravar.preparation.periods import Dealt, Strata
from intravar.request import Missing, Request
from intravar.sources.plain import plain_table
from intravar.sources.texts import Forms
from intravar.wording import Sentence

#: Levels of a category beyond which the rarest are pooled.
MOST_LEVELS = 20
#: Levels with fewer patients are pooled: so few tell nothing apart.
RARE_LEVEL = 11
OTHER = "(other)"
ABSENT = "(missing)"
_UNUSABLE = ("constant", "empty", "identifier", "other")
WITHIN_PHYSICIAN: str = Sentence(
    "the same for all {cases} of each {decider}; it cannot tell them apart"
)
#: Why a row is left out whose patients are prepared with the policy to drop.
INCOMPLETE = "a covariate is missing"


@dataclass(frozen=True)
class Coding:
    """How one covariate becomes numbers, and what takes the place of a missing value.

    A number may be `marked`: a column says where it was missing. `known` are the levels of a
    category, None for a number, that count as themselves; `levels` those that get a column.
    """

    name: str
    fill: float | str | None
    marked: bool = False
    known: tuple[str, ...] | None = None
    levels: tuple[str, ...] = ()
    n_pooled: int = 0

    def coded(self, values: pl.Series) -> list[pl.Series]:
        """Return the columns of some values; levels that were never seen count as pooled."""
        if self.known is None:
            columns = [values.fill_null(self.fill)]
            if self.marked:
                mark = values.is_null().cast(pl.Float64)
                columns.append(mark.alias(f"{self.name} {ABSENT}"))
            return columns
        texts = values.fill_null(OTHER if self.fill is None else self.fill)
        texts = texts.set(~texts.is_in(self.known), OTHER)
        return [
            (texts == level).cast(pl.Float64).alias(f"{self.name}={level}") for level in self.levels
        ]


def learn_codings(
    columns: Sequence[Column], policy: Missing, smallest_level: int = RARE_LEVEL
) -> tuple[Coding, ...]:
    """Find out how covariates become numbers, and what takes the place of a missing value.

    "indicator" fills numbers with the median and marks them in a column of their own, and gives
    missing categories a level of their own; "impute" fills with the median and the most frequent
    level and leaves no mark. Levels with fewer patients than the smallest are pooled.
    """
    codings = []
    patterns: set[bytes] = set()
    for column in columns:
        if column.kind == "category":
            codings.append(_of_category(column, policy, smallest_level))
            continue
        values = column.values
        marked = False
        if values.null_count() and policy == "indicator":
            # Values that are always missing together would otherwise count several times.
            pattern = np.packbits(values.is_null().to_numpy()).tobytes()
            marked = pattern not in patterns
            patterns.add(pattern)
        middle = values.median()
        codings.append(Coding(column.name, None if middle is None else float(middle), marked))  # type: ignore[arg-type]
    return tuple(codings)


def _of_category(column: Column, policy: Missing, smallest_level: int) -> Coding:
    values, fill = column.values, None
    if values.null_count():
        fill = ABSENT if policy == "indicator" else str(values.drop_nulls().mode().sort()[0])
        values = values.fill_null(fill)
    counts = values.value_counts().sort("count", values.name, descending=[True, False])
    common = counts.filter(pl.col("count") >= smallest_level)[values.name].to_list()
    known = sorted(common if len(common) <= MOST_LEVELS else common[: MOST_LEVELS - 1])
    n_pooled = counts.height - len(known)
    levels = [*known, OTHER] if n_pooled else known
    if len(levels) == 2:
        levels = levels[1:] if levels[1] != OTHER else levels[:1]
    return Coding(column.name, fill, False, tuple(known), tuple(levels), n_pooled)


def encode_with(
    codings: Sequence[Coding], columns: Sequence[Column]
) -> tuple[pl.DataFrame, tuple[str, ...], list[tuple[int, ...]]]:
    """Turn covariates into numbers as it was found out before.

    Returns one Float64 column per number, date or level, the covariate that each comes from, and
    the positions of columns that code one category together.
    """
    encoded: dict[str, pl.Series] = {}
    origin, blocks = list[str](), list[tuple[int, ...]]()
    for coding, column in zip(codings, columns, strict=True):
        first, coded = len(encoded), coding.coded(column.values)
        for each in coded:
            name = each.name
            while name in encoded:  # a column may be called what a level of another one is
                name += "*"
            encoded[name] = each
        origin += [column.name] * len(coded)
        # The mark of a missing number is a column of its own, not part of a block.
        if coding.known is not None and len(coded) > 1:
            blocks.append(tuple(range(first, first + len(coded))))
    return pl.DataFrame(encoded), tuple(origin), blocks


def _complete(columns: Sequence[Column]) -> npt.NDArray[np.bool_]:
    """Tell which rows have a value in every column."""
    known = pl.all_horizontal(pl.all().is_not_null())
    return pl.DataFrame([each.values for each in columns]).select(known).to_series().to_numpy()


@dataclass(frozen=True, eq=False)
class Portion:
    """Patients, prepared.

    `rows` are those of the table that are left, `raw` has the covariates of the same rows as they
    were read, `origin` the covariate of every encoded column; rows `dropped` go by reason, cells
    `filled` by covariate; `dealt` has the patients in the levels of a column ("by") and in periods
    ("date").
    """

    observed: Observed
    rows: IntArray
    raw: pl.DataFrame
    origin: tuple[str, ...]
    dropped: dict[str, int]
    filled: dict[str, int]
    dealt: Mapping[str, Dealt]


@dataclass(frozen=True)
class Recipe:
    """How patients become numbers.

    `roles` is the request in the names of the table. `kinds` says what every covariate in use
    holds, `codings` how each becomes numbers, in the same order; `copies` by what copies of rows
    are known, None if rows that agree are none. The whole table tells in which `forms` numbers and
    dates are written, and what patients are dealt by (`strata`).
    """

    roles: Request
    kinds: tuple[tuple[str, Kind], ...]
    codings: tuple[Coding, ...]
    copies: CopyRule | None
    forms: Forms
    strata: Strata = field(default_factory=dict)

    def apply(self, table: pl.DataFrame) -> tuple[Portion, list[Column]] | None:
        """Prepare patients; None if nobody is left.

        The table has physicians under their names and decisions as 0 and 1; other columns are as
        stored. Covariates are returned as they were understood, too.
        """
        texts = [name for name, kind in self.kinds if kind == "category"]
        named = [self.roles.physician, self.roles.decision, *texts]
        plain, _ = plain_table(table, named, forms=self.forms)
        rows, dropped = np.arange(plain.height), dict[str, int]()
        if self.roles.repeated == "once":
            rows, dropped = each_once(plain, self.roles, self.copies)
        with counted_among(rows):
            columns = [
                understand_as(plain[name][rows], kind, categorical=name in self.roles.categorical)
                for name, kind in self.kinds
            ]
        if self.roles.missing == "drop":
            complete = _complete(columns)
            dropped[INCOMPLETE] = int((~complete).sum())
            rows = rows[complete]
            columns = [each.taken(complete) for each in columns]
        if not len(rows):
            return None
        encoded, origin, blocks = encode_with(self.codings, columns)
        observed = Observed.of(
            encoded,
            plain[self.roles.decision][rows].to_numpy(),
            plain[self.roles.physician][rows],
            blocks,
        )
        raw = plain[rows].select(name for name, _ in self.kinds)
        missing = {each.name: each.values.null_count() for each in columns}
        filled = {name: count for name, count in missing.items() if count}
        dealt = self._dealt(table[rows]) if self.strata else {}
        return Portion(observed, rows, raw, origin, dropped, filled, dealt), columns

    def _dealt(self, table: pl.DataFrame) -> dict[str, Dealt]:
        columns = {each.column for each in self.strata.values()}
        plain, _ = plain_table(table.select(columns), self.roles.categorical, forms=self.forms)
        return {name: each.deal(plain[each.column]) for name, each in self.strata.items()}


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
        copies, about_copies = learn_copies(table, roles, part)
        rows, _ = each_once(table, roles, copies)
    with counted_among(rows):
        left = table[rows]
        every = {
            name: understand(
                left[name], categorical=name in roles.categorical, chosen=chosen, part=part
            )
            for name in sorted(roles.covariates or ())  # their order in the table changes nothing
        }
    if not chosen and set(TRUTH_COLUMNS) <= set(table.columns):
        # A simulated cohort that was written with its truth.
        for name in TRUTH_COLUMNS:
            every[name] = Column(name, "other", left[name], "the truth of a simulated cohort")
    usable = [column for column in every.values() if column.kind not in _UNUSABLE]
    who = left[roles.physician]
    if who.n_unique() < len(who):
        same = same_within([column.values for column in usable], who)
        for column in (each for each, one in zip(usable, same, strict=True) if one):
            every[column.name] = replace(column, note=WITHIN_PHYSICIAN)
        usable = [column for column, one in zip(usable, same, strict=True) if not one]
    complete = _complete(usable) if roles.missing == "drop" and usable else rows[:0]
    if complete.any():
        known = [each.taken(complete) for each in usable]
        usable = [each for each in known if each.values.n_unique() > 1]
        for name in {each.name for each in known} - {each.name for each in usable}:
            every[name] = replace(every[name], note="the same value in every row that is left")
    kinds = tuple((column.name, column.kind) for column in usable)
    codings = learn_codings(usable, roles.missing)
    return Recipe(roles, kinds, codings, copies, forms), every, about_copies
