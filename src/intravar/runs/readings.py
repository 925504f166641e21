"""What a method says about physicians whom it reads by what was learned from others."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import counted_among
from intravar.estimators.base import CommonEstimator, Estimator
from intravar.estimators.evidence import Evidence, no_differences
from intravar.observed import Observed
from intravar.preparation.periods import Dealt, with_period
from intravar.preparation.prepare import INCOMPLETE, Portion, Recipe
from intravar.preparation.sample import CODE
from intravar.sources.reading import OWN, ROW

#: Cases, pairs to review, and the patients in either.
Seen: TypeAlias = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
#: Finds them in a bucket: evidence, patients, rows of the source.
Look: TypeAlias = Callable[[Evidence, Portion, IntArray], Seen]

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


#: Columns of patients' predictions; those by periods are null without a date.
PATIENTS = {
    "row": pl.Int64,
    "code": pl.Int64,
    "decision": pl.Int8,
    "own": pl.Float64,
    "pooled": pl.Float64,
    "by": pl.Int16,
    "date": pl.Int16,
    "own_dated": pl.Float64,
    "pooled_dated": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class ReadBy:
    """What physicians are read by, for one decision.

    `decided` is the column of the decision as 0 and 1; `look` finds the cases behind the scores of
    the first method. Predictions of every patient by the method `predicting` are kept, if there is
    one, and by `dated`, which knows the period beside the covariates.
    """

    recipe: Recipe
    decided: str
    models: Mapping[str, CommonEstimator]
    look: Look
    predicting: str | None = None
    dated: CommonEstimator | None = None


@dataclass(frozen=True, eq=False)
class BucketTask:
    """A bucket to be read, as the content of Parquet files; nothing else is needed for it."""

    number: int
    content: tuple[bytes, ...]
    decisions: Mapping[str, ReadBy]


@dataclass(frozen=True, eq=False)
class Others:
    """What was read of physicians beyond the sample, for one decision; they have numbers.

    `panels` has a row per method and physician, `differences` the covariates that each weighs
    otherwise, `cases` the decisions that show scores at work, `pairs` those that may be reviewed,
    `patients` who is in either, `predicted` the predictions of every patient where they are needed;
    rows `dropped` go by reason, cells `filled` by covariate.
    """

    panels: pl.DataFrame
    differences: pl.DataFrame
    cases: pl.DataFrame
    pairs: pl.DataFrame
    patients: pl.DataFrame
    predicted: pl.DataFrame
    dropped: Mapping[str, int]
    filled: Mapping[str, int]


#: The tables among it.
TABLES = tuple(each.name for each in fields(Others) if "DataFrame" in str(each.type))


def read_bucket(task: BucketTask) -> tuple[int, dict[str, Others]]:
    """Score the physicians of a bucket, for every decision; return its number as well."""
    rows = pl.concat([pl.read_parquet(io.BytesIO(part)) for part in task.content]).sort(ROW)
    return task.number, {name: _read(rows, by) for name, by in task.decisions.items()}


def _read(rows: pl.DataFrame, by: ReadBy) -> Others:
    rows = rows.filter(pl.col(by.decided).is_not_null())
    roles = by.recipe.roles
    table = rows.with_columns(
        pl.col(CODE).alias(roles.physician), pl.col(by.decided).alias(roles.decision)
    ).select(name for name in rows.columns if not name.startswith(OWN))
    with counted_among(rows[ROW].to_numpy()):
        applied = by.recipe.apply(table)
    differences, predicted = no_differences(), pl.DataFrame(schema=PATIENTS)
    if applied is None:
        dropped = {INCOMPLETE: table.height} if roles.missing == "drop" else {}
        panels, nobody = pl.DataFrame(schema=SCHEMA), (pl.DataFrame(),) * 3
        return Others(panels, differences, *nobody, predicted, dropped, {})
    portion, _ = applied
    observed, tables = portion.observed, []
    source = rows[ROW].to_numpy().astype(np.int64)[portion.rows]
    seen: Seen | None = None
    for name, model in by.models.items():
        read = model.read(observed)
        evidence = read.evidence(observed)
        tables.append(panel_table(name, read, evidence, observed))
        seen = seen or by.look(evidence, portion, source)
        if evidence.differences is not None:
            differences = evidence.differences
        if name == by.predicting:
            codes = observed.named.to_numpy()
            dated = None if by.dated is None else by.dated.read
            predicted = patient_table(evidence, observed, source, codes, portion.dealt, dated)
    assert seen is not None
    panels = pl.concat(tables, how="diagonal")
    return Others(panels, differences, *seen, predicted, portion.dropped, portion.filled)


def patient_table(
    evidence: Evidence,
    observed: Observed,
    rows: IntArray,
    codes: IntArray,
    dealt: Mapping[str, Dealt],
    dated: Callable[[Observed], Estimator] | None = None,
) -> pl.DataFrame:
    """Return what was predicted of every patient, with the columns of `PATIENTS`.

    `rows` are those of the source, `codes` the numbers of the physicians, `dealt` the subgroups and
    periods; `dated` gives the method that knows the period, for patients with a date.
    """
    predicted = evidence.predicted()
    assert predicted is not None
    values: dict[str, Any] = {
        "row": rows,
        "code": codes[observed.code],
        "decision": observed.decision,
        "own": predicted[0],
        "pooled": predicted[1],
        **{name: each.place for name, each in dealt.items()},
    }
    if dated is not None:
        known_of, known = with_period(observed, dealt["date"])
        if len(known):
            in_time = dated(known_of).evidence(known_of).predicted()
            assert in_time is not None
            for name, part in zip(("own_dated", "pooled_dated"), in_time, strict=True):
                values[name] = np.full(observed.n_patients, np.nan)
                values[name][known] = part
    missing = [pl.lit(None).alias(name) for name in PATIENTS if name not in values]
    return pl.DataFrame(values).with_columns(missing).select(*PATIENTS).cast(PATIENTS)  # type: ignore[arg-type]


def panel_table(
    name: str,
    model: Estimator,
    evidence: Evidence,
    observed: Observed,
    codes: IntArray | None = None,
) -> pl.DataFrame:
    """Return what a method says about every physician, one row each.

    Physicians are told by `codes`, or by what they are called if that is a number.
    """
    ends = model.ends()
    columns = {
        "method": pl.Series([name] * len(observed.named), dtype=pl.String),
        "code": observed.named if codes is None else codes,
        "n_patients": model.n_patients_,
        "n_for": observed.counts[1],
        "score": model.score_,
        "reason": pl.Series(model.reason_, dtype=pl.String),
        **ends._asdict(),
    }
    table = pl.DataFrame(columns).cast(SCHEMA)  # type: ignore[arg-type]
    return table.with_columns(
        pl.Series(name, values) for name, values in evidence.by_physician().items()
    )
