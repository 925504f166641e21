"""How a table is prepared: learned once, from all rows or from a sample, and applied to all.

What columns hold and how they become numbers is found out on the rows from which everything common
is learned. Every row is then prepared by that, those rows too: nothing is found out anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import counted_among
from intravar.observed import TRUTH_COLUMNS, Observed
from intravar.preparation.duplicates import CopyRule, each_once, learn_copies, same_within
from intravar.preparation.encoding import Coding, complete_rows, encode_with, learn_codings
from intravar.preparation.kinds import Column, Kind, understand, understand_as
from intravar.preparation.roles import Roles
from intravar.request import Missing, Repeated, Request
from intravar.sources.plain import plain_table
from intravar.sources.texts import Forms
from intravar.wording import Sentence

if TYPE_CHECKING:
    from intravar.preparation.periods import Dealt, Strata

_UNUSABLE = ("constant", "empty", "identifier", "other")
WITHIN_PHYSICIAN: str = Sentence(
    "the same for all {cases} of each {decider}; it cannot tell them apart"
)
#: Why a row is left out whose patients are prepared with the policy to drop.
INCOMPLETE = "a covariate is missing"


@dataclass(frozen=True)
class Recipe:
    """How patients become numbers.

    `kinds` says what every covariate in use holds, `codings` how each becomes numbers, in the same
    order; `copies` by what copies of rows are known, None if rows that agree are none. The whole
    table tells in which `forms` numbers and dates are written, and what patients are dealt by
    (`strata`).
    """

    roles: Roles
    kinds: tuple[tuple[str, Kind], ...]
    codings: tuple[Coding, ...]
    missing: Missing
    repeated: Repeated
    copies: CopyRule | None
    forms: Forms
    strata: Strata = field(default_factory=dict)

    def apply(self, table: pl.DataFrame) -> Portion | None:
        """Prepare patients; None if nobody is left.

        The table has physicians under their names and decisions as 0 and 1; other columns are as
        stored.
        """
        texts = [name for name, kind in self.kinds if kind == "category"]
        named = [self.roles.physician, self.roles.decision, *texts]
        plain, _ = plain_table(table, named, forms=self.forms)
        rows, dropped = np.arange(plain.height), dict[str, int]()
        if self.repeated == "once":
            rows, dropped = each_once(plain, self.roles, self.copies)
        with counted_among(rows):
            columns = [
                understand_as(plain[name][rows], kind, categorical=name in self.roles.categorical)
                for name, kind in self.kinds
            ]
        if self.missing == "drop":
            complete = complete_rows(columns)
            dropped[INCOMPLETE] = int((~complete).sum())
            rows = rows[complete]
            columns = [each.taken(complete) for each in columns]
        if not len(rows):
            return None
        encoded = encode_with(self.codings, columns)
        observed = Observed.of(
            encoded.table,
            plain[self.roles.decision][rows].to_numpy(),
            plain[self.roles.physician][rows],
            encoded.blocks,
        )
        return Portion(
            observed,
            rows,
            plain[rows].select(name for name, _ in self.kinds),
            columns,
            tuple(encoded.origin),
            encoded.pooled,
            dropped,
            encoded.filled,
            self._dealt(table[rows]) if self.strata else {},
        )

    def _dealt(self, table: pl.DataFrame) -> dict[str, Dealt]:
        columns = {each.column for each in self.strata.values()}
        plain, _ = plain_table(table.select(columns), self.roles.categorical, forms=self.forms)
        return {name: each.deal(plain[each.column]) for name, each in self.strata.items()}


@dataclass(frozen=True, eq=False)
class Portion:
    """Patients, prepared.

    `rows` are those of the table that are left, `raw` and `columns` the covariates as they were
    read and as they were understood; `origin` has the covariate of every encoded column, `pooled`
    the levels that were pooled by category; rows `dropped` go by reason, cells `filled` by
    covariate.
    """

    observed: Observed
    rows: IntArray
    raw: pl.DataFrame
    columns: list[Column]
    origin: tuple[str, ...]
    pooled: dict[str, int]
    dropped: dict[str, int]
    filled: dict[str, int]
    dealt: dict[str, Dealt]


def learn_recipe(
    table: pl.DataFrame, roles: Roles, request: Request, forms: Forms, part: float
) -> tuple[Recipe, dict[str, Column], str]:
    """Find out what columns hold and how they become numbers.

    The table is plain, with physicians under their names and decisions as 0 and 1; its rows are a
    `part` of all. Returns the recipe, all covariates as they were understood, and what was decided
    about rows that are alike.
    """
    missing, repeated = request.missing, request.repeated
    rows, copies, about_copies = np.arange(table.height), None, ""
    if repeated == "once":
        copies, about_copies = learn_copies(table, roles, part)
        rows, _ = each_once(table, roles, copies)
    with counted_among(rows):
        every = _understand(table[rows], roles, part)
    usable = [column for column in every.values() if column.kind not in _UNUSABLE]
    who = table[roles.physician][rows]
    if who.n_unique() < len(who):
        same = same_within([column.values for column in usable], who)
        for column in (each for each, one in zip(usable, same, strict=True) if one):
            every[column.name] = replace(column, note=WITHIN_PHYSICIAN)
        usable = [column for column, one in zip(usable, same, strict=True) if not one]
    complete = complete_rows(usable) if missing == "drop" and usable else rows[:0]
    if complete.any():
        left = [each.taken(complete) for each in usable]
        usable = [each for each in left if each.values.n_unique() > 1]
        for name in {each.name for each in left} - {each.name for each in usable}:
            every[name] = replace(every[name], note="the same value in every row that is left")
    kinds = tuple((column.name, column.kind) for column in usable)
    codings = learn_codings(usable, missing)
    return Recipe(roles, kinds, codings, missing, repeated, copies, forms), every, about_copies


def _understand(table: pl.DataFrame, roles: Roles, part: float) -> dict[str, Column]:
    every = {
        name: understand(
            table[name], categorical=name in roles.categorical, chosen=roles.chosen, part=part
        )
        for name in sorted(roles.covariates)  # their order in the table changes nothing
    }
    if not roles.chosen and set(TRUTH_COLUMNS) <= set(table.columns):
        # A simulated cohort that was written with its truth.
        for name in TRUTH_COLUMNS:
            every[name] = Column(name, "other", table[name], "the truth of a simulated cohort")
    return every
