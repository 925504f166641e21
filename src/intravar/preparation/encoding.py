"""Covariates as numbers fit for distances, and what is done about missing values.

A category of k levels becomes k columns of 0 and 1 that form one block. Estimators scale a block as
a whole, so that any two levels lie equally far apart and the category weighs as much as one
number; a category of two levels is one column, which amounts to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.preparation.kinds import Column
from intravar.request import Missing

#: Levels of a category beyond which the rarest are pooled.
MOST_LEVELS = 20
#: Levels with fewer patients are pooled: so few tell nothing apart.
RARE_LEVEL = 11
OTHER = "(other)"
ABSENT = "(missing)"


@dataclass
class Encoded:
    """Covariates as numbers.

    Attributes
    ----------
    table
        One Float64 column per number, date or level.
    origin
        For every column of the table the covariate it comes from.
    blocks
        Positions of the columns that code one category together.
    pooled
        Levels pooled per category.
    filled
        Cells filled per covariate.
    """

    columns: list[pl.Series] = field(default_factory=list)
    origin: list[str] = field(default_factory=list)
    blocks: list[tuple[int, ...]] = field(default_factory=list)
    pooled: dict[str, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set, repr=False)

    @property
    def table(self) -> pl.DataFrame:
        """All columns as one table."""
        return pl.DataFrame(self.columns)

    def add(self, origin: str, columns: Sequence[pl.Series]) -> None:
        """Add the columns of one covariate."""
        first = len(self.columns)
        for column in columns:
            name = column.name
            while name in self._names:  # a column may be called what a level of another one is
                name += "*"
            self._names.add(name)
            self.columns.append(column.alias(name))
        self.origin += [origin] * len(columns)
        if len(columns) > 1:
            self.blocks.append(tuple(range(first, first + len(columns))))


def complete_rows(columns: Sequence[Column]) -> npt.NDArray[np.bool_]:
    """Tell which rows have a value in every column."""
    complete = np.ones(len(columns[0].values), dtype=np.bool_)
    for column in columns:
        if column.values.null_count():
            complete &= column.values.is_not_null().to_numpy()
    return complete


def encode(columns: Sequence[Column], policy: Missing, smallest_level: int = RARE_LEVEL) -> Encoded:
    """Turn covariates into numbers and fill what is missing.

    Parameters
    ----------
    columns
        As understood; without missing values if the policy is to drop.
    policy
        "indicator" fills numbers with the median and marks them in a column of their own, and
        gives missing categories a level of their own; "impute" fills with the median and the most
        frequent level and leaves no mark.
    smallest_level
        Levels with fewer patients are pooled.
    """
    encoded = Encoded()
    marks: dict[bytes, str] = {}
    for column in columns:
        n_missing = column.values.null_count()
        if n_missing:
            encoded.filled[column.name] = n_missing
        if column.kind == "category":
            _add_category(encoded, column, policy, smallest_level)
            continue
        mark = column.values.is_null()
        encoded.add(column.name, [column.values.fill_null(column.values.median())])
        if n_missing and policy == "indicator":
            # Values that are always missing together would otherwise count several times.
            pattern = np.packbits(mark.to_numpy()).tobytes()
            if pattern not in marks:
                marks[pattern] = column.name
                name = f"{column.name} {ABSENT}"
                encoded.add(column.name, [mark.cast(pl.Float64).alias(name)])
    return encoded


def _add_category(encoded: Encoded, column: Column, policy: Missing, smallest_level: int) -> None:
    values = column.values
    if values.null_count():
        fill = ABSENT if policy == "indicator" else str(values.drop_nulls().mode().sort()[0])
        values = values.fill_null(fill)
    counts = values.value_counts().sort("count", values.name, descending=[True, False])
    common = counts.filter(pl.col("count") >= smallest_level)[values.name].to_list()
    kept = sorted(common if len(common) <= MOST_LEVELS else common[: MOST_LEVELS - 1])
    n_pooled = counts.height - len(kept)
    if n_pooled > 1 or (n_pooled == 1 and kept):
        encoded.pooled[column.name] = n_pooled
    if n_pooled:
        values = values.set(~values.is_in(kept), OTHER)
        kept.append(OTHER)
    if len(kept) == 2:
        kept = kept[1:] if kept[1] != OTHER else kept[:1]
    encoded.add(
        column.name,
        [(values == level).cast(pl.Float64).alias(f"{column.name}={level}") for level in kept],
    )
