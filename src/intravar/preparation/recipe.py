"""How a table was prepared, to prepare more patients of it in the same way.

What the columns hold and how they become numbers is found out once, on the patients from whom
everything common is learned. Others are then prepared panel by panel: nothing is found out anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import counted_among
from intravar.observed import Observed
from intravar.preparation.duplicates import CopyRule, each_once
from intravar.preparation.encoding import Coding, complete_rows, encode_with
from intravar.preparation.kinds import Kind, understand_as
from intravar.preparation.roles import Roles
from intravar.request import Missing, Repeated
from intravar.sources.forms import Forms
from intravar.sources.plain_columns import plain_table

#: Why a row is left out whose patients are prepared with the policy to drop.
INCOMPLETE = "a covariate is missing"


@dataclass(frozen=True)
class Recipe:
    """How patients become numbers.

    Attributes
    ----------
    roles
        Which column is what.
    kinds
        What every covariate in use holds.
    codings
        How each becomes numbers, in the same order.
    blocks
        Columns that code one category together.
    missing, repeated
        Policies for missing values, and for copies and patients who come again.
    copies
        By what copies of rows are known; None if rows that agree are none.
    forms
        How numbers and dates are written in text, where a larger table has told.
    """

    roles: Roles
    kinds: tuple[tuple[str, Kind], ...]
    codings: tuple[Coding, ...]
    blocks: tuple[tuple[int, ...], ...]
    missing: Missing
    repeated: Repeated
    copies: CopyRule | None
    forms: Forms | None = None

    def apply(self, table: pl.DataFrame) -> Portion | None:
        """Prepare more patients; None if nobody is left.

        Parameters
        ----------
        table
            As stored, but for physicians under their names and decisions as 0 and 1.
        """
        texts = [name for name, kind in self.kinds if kind == "category"]
        named = [self.roles.physician, self.roles.decision, *texts]
        plain, _ = plain_table(table, named, forms=self.forms)
        rows = np.arange(plain.height)
        dropped: dict[str, int] = {}
        if self.repeated == "once":
            rows, dropped = each_once(plain, self.roles, rows, self.copies)
        with counted_among(rows):
            columns = [
                understand_as(plain[name][rows], kind, categorical=name in self.roles.categorical)
                for name, kind in self.kinds
            ]
        if self.missing == "drop":
            complete = complete_rows(columns)
            dropped[INCOMPLETE] = int((~complete).sum())
            rows = rows[complete]
            columns = [replace(each, values=each.values.filter(complete)) for each in columns]
        if not len(rows):
            return None
        encoded = encode_with(self.codings, columns)
        observed = Observed.of(
            encoded.table,
            plain[self.roles.decision][rows].to_numpy(),
            plain[self.roles.physician][rows],
            self.blocks,
        )
        raw = plain[rows].select(name for name, _ in self.kinds)
        return Portion(observed, rows, raw, dropped, encoded.filled)


@dataclass(frozen=True, eq=False)
class Portion:
    """Some patients, prepared.

    Attributes
    ----------
    observed
        Covariates, decisions and physicians.
    rows
        Rows of the table that are left.
    raw
        The covariates as they were read.
    dropped, filled
        Rows dropped by reason, and cells filled by covariate.
    """

    observed: Observed
    rows: IntArray
    raw: pl.DataFrame
    dropped: dict[str, int]
    filled: dict[str, int]
