"""How covariates become numbers: learned once, from all rows or from a sample, and applied to all.

A category of k levels becomes k columns of 0 and 1 that form one block. Estimators scale a block as
a whole, so that any two levels lie equally far apart and the category weighs as much as one
number; a category of two levels is one column, which amounts to the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from intravar.preparation.kinds import Column, Kind
from intravar.request import Missing

#: Levels of a category beyond which the rarest are pooled.
MOST_LEVELS = 20
#: Levels with fewer patients are pooled: so few tell nothing apart.
RARE_LEVEL = 11
OTHER = "(other)"
ABSENT = "(missing)"


@dataclass(frozen=True)
class Coding:
    """What one covariate holds, how it becomes numbers, and what replaces a missing value.

    A number may be `marked`: a column says where it was missing. `known` are the levels of a
    category that count as themselves; `levels` those that get a column.
    """

    name: str
    kind: Kind
    fill: float | str | None
    marked: bool = False
    known: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    n_pooled: int = 0

    def coded(self, values: pl.Series) -> list[pl.Series]:
        """Return the columns of some values; levels that were never seen count as pooled."""
        if self.kind != "category":
            mark = values.is_null().cast(pl.Float64).alias(f"{self.name} {ABSENT}")
            return [values.fill_null(self.fill), *([mark] if self.marked else [])]
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
        values, marked = column.values, False
        if values.null_count() and policy == "indicator":
            # Values that are always missing together would otherwise count several times.
            pattern = np.packbits(values.is_null().to_numpy()).tobytes()
            marked = pattern not in patterns
            patterns.add(pattern)
        fill = None if (middle := values.median()) is None else float(middle)  # type: ignore[arg-type]
        codings.append(Coding(column.name, column.kind, fill, marked))
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
    return Coding(column.name, column.kind, fill, False, tuple(known), tuple(levels), n_pooled)


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
        first = len(encoded)
        for each in coding.coded(column.values):
            name = each.name
            while name in encoded:  # a column may be called what a level of another one is
                name += "*"
            encoded[name] = each
        origin += [column.name] * (len(encoded) - first)
        # The mark of a missing number is a column of its own, not part of a block.
        if len(coding.levels) > 1:
            blocks.append(tuple(range(first, len(encoded))))
    return pl.DataFrame(encoded), tuple(origin), blocks
