"""What a method says about physicians whom it reads by what was learned from others."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import counted_among
from intravar.estimators.base import Estimator, Reader
from intravar.estimators.evidence import Evidence, no_differences
from intravar.observed import Observed
from intravar.preparation.recipe import INCOMPLETE, Portion, Recipe
from intravar.preparation.sample import CODE, DECIDED
from intravar.sources.reading import ROW

#: Finds cases, and the patients in them, in a bucket: evidence, patients, rows of the source.
Look: TypeAlias = Callable[[Evidence, Portion, IntArray], tuple[pl.DataFrame, pl.DataFrame]]

#: Columns of every reading, whatever the method.
SCHEMA = {
    "method": pl.String,
    "code": pl.Int64,
    "n_patients": pl.Int64,
    "n_for": pl.Int64,
    "score": pl.Float64,
    "reason": pl.String,
    "low": pl.Float64,
    "high": pl.Float64,
    "standard_error": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class BucketTask:
    """A bucket to be read: nothing else is needed, wherever that is done.

    Attributes
    ----------
    number
        Of the bucket.
    content
        The rows, as the content of Parquet files.
    recipe
        How they are prepared.
    models
        The methods by name, as :meth:`intravar.estimators.CommonEstimator.reader` gives them.
    look
        Finds the cases behind the scores of the first method, and the patients in them.
    """

    number: int
    content: tuple[bytes, ...]
    recipe: Recipe
    models: Mapping[str, Reader]
    look: Look


@dataclass(frozen=True, eq=False)
class Others:
    """What was read of physicians beyond the sample.

    Attributes
    ----------
    panels
        One row per method and physician, who is told by number.
    differences
        Which covariates each physician weighs otherwise: physician, covariate, how, n_apart.
    cases, patients
        Decisions that show scores at work, and the patients in them.
    dropped, filled
        Rows dropped by reason, and cells filled by covariate.
    """

    panels: pl.DataFrame
    differences: pl.DataFrame
    cases: pl.DataFrame
    patients: pl.DataFrame
    dropped: Mapping[str, int]
    filled: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class BucketRead:
    """What was read off a bucket, which is told by number."""

    number: int
    found: Others


def read_bucket(task: BucketTask) -> BucketRead:
    """Score the physicians of a bucket by what was learned from others."""
    rows = pl.concat([pl.read_parquet(io.BytesIO(part)) for part in task.content]).sort(ROW)
    roles = task.recipe.roles
    table = rows.with_columns(
        pl.col(CODE).alias(roles.physician), pl.col(DECIDED).alias(roles.decision)
    )
    with counted_among(rows[ROW].to_numpy()):
        portion = task.recipe.apply(table.drop(ROW, CODE, DECIDED))
    if portion is None:
        nobody = pl.DataFrame()
        dropped = {INCOMPLETE: table.height} if task.recipe.missing == "drop" else {}
        panels_of_nobody = pl.DataFrame(schema=SCHEMA)
        found = Others(panels_of_nobody, no_differences(), nobody, nobody, dropped, {})
        return BucketRead(task.number, found)
    observed = portion.observed
    panels, differences = [], no_differences()
    source = rows[ROW].to_numpy().astype(np.int64)[portion.rows]
    seen: tuple[pl.DataFrame, pl.DataFrame] | None = None
    for name, model in task.models.items():
        read = model.read(observed)
        evidence = read.evidence(observed)
        panels.append(panel_table(name, read, evidence, observed))
        if seen is None:
            seen = task.look(evidence, portion, source)
        if evidence.differences is not None:
            differences = with_n_apart(evidence.differences, observed)
    assert seen is not None
    table = pl.concat(panels, how="diagonal")
    found = Others(table, differences, *seen, portion.dropped, portion.filled)
    return BucketRead(task.number, found)


def panel_table(
    name: str,
    model: Estimator,
    evidence: Evidence,
    observed: Observed,
    codes: IntArray | None = None,
) -> pl.DataFrame:
    """Return what a method says about every physician, one row each.

    Parameters
    ----------
    name, model, evidence, observed
        The method, and what it was given.
    codes
        Numbers of the physicians; by default what they are called.
    """
    decided_for = np.bincount(observed.code, observed.decision, minlength=len(observed.named))
    ends = model.ends()
    columns = {
        "method": pl.Series([name] * len(observed.named), dtype=pl.String),
        "code": observed.named if codes is None else codes,
        "n_patients": model.n_patients_,
        "n_for": decided_for,
        "score": model.score_,
        "reason": pl.Series(model.reason_, dtype=pl.String),
        **ends._asdict(),
    }
    table = pl.DataFrame(columns).cast(SCHEMA)  # type: ignore[arg-type]
    return table.with_columns(
        pl.Series(name, list(values), dtype=dtype)
        for name, (values, dtype) in evidence.by_physician().items()
    )


def with_n_apart(differences: pl.DataFrame, observed: Observed) -> pl.DataFrame:
    """Say how many patients of a panel have another value of a covariate than most of it."""
    column = {name: at for at, name in enumerate(observed.names)}
    panel = {str(name): at for name, at in zip(observed.physicians, observed.panels, strict=True)}
    counts = [
        others_than_most(observed.covariates[panel[str(physician)], column[covariate]])
        for physician, covariate in differences.select("physician", "covariate").iter_rows()
    ]
    return differences.with_columns(pl.Series("n_apart", counts, dtype=pl.Int64))


def others_than_most(values: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
    """Return how many values differ from the most frequent one.

    Examples
    --------
    >>> others_than_most([0.0, 0.0, 1.0, 2.0])
    2
    """
    _, counts = np.unique(values, return_counts=True)
    return int(len(values) - counts.max(initial=0))
