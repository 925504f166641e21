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
    """Covariates as numbers: one Float64 column per number, date or level.

    `origin` is the covariate that each comes from; `blocks` are the positions of columns that code
    one category together. Levels `pooled` and cells `filled` are counted per covariate.
    """

    columns: list[pl.Series] = field(default_factory=list)
    origin: list[str] = field(default_factory=list)
    blocks: list[tuple[int, ...]] = field(default_factory=list)
    pooled: dict[str, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)

    @property
    def table(self) -> pl.DataFrame:
        """All columns as one table."""
        return pl.DataFrame(self.columns)


def complete_rows(columns: Sequence[Column]) -> npt.NDArray[np.bool_]:
    """Tell which rows have a value in every column."""
    known = pl.all_horizontal(pl.all().is_not_null())
    return pl.DataFrame([each.values for each in columns]).select(known).to_series().to_numpy()


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


def encode_with(codings: Sequence[Coding], columns: Sequence[Column]) -> Encoded:
    """Turn covariates into numbers as it was found out before."""
    encoded, names = Encoded(), set[str]()
    for coding, column in zip(codings, columns, strict=True):
        if n_missing := column.values.null_count():
            encoded.filled[column.name] = n_missing
        if coding.n_pooled > 1 or (coding.n_pooled == 1 and coding.known):
            encoded.pooled[column.name] = coding.n_pooled
        first, coded = len(encoded.columns), coding.coded(column.values)
        for each in coded:
            name = each.name
            while name in names:  # a column may be called what a level of another one is
                name += "*"
            names.add(name)
            encoded.columns.append(each.alias(name))
        encoded.origin += [column.name] * len(coded)
        # The mark of a missing number is a column of its own, not part of a block.
        if coding.known is not None and len(coded) > 1:
            encoded.blocks.append(tuple(range(first, first + len(coded))))
    return encoded


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
