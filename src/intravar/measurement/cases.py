"""Why this score: the cases behind a physician, side by side. Patient-level data.

Cases are decisions that show a score at work, each beside patients alike who were decided
otherwise. For predictions they are those that surprised most; for the latent rule, clear cases
decided against it; for methods that pair, discordant pairs. Nobody alike is better than somebody
who is not.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError, option
from intravar.estimators.evidence import PAIR, PAIR_SCHEMA, Evidence
from intravar.measurement.pairs import (
    AlikeScale,
    nearest_within,
    pairs_to_review,
    some_pairs,
)
from intravar.measurement.result import Measurement
from intravar.observed import Observed
from intravar.preparation.kinds import understand
from intravar.preparation.prepare import Prepared
from intravar.preparation.recipe import Portion

#: Cases of a physician that are kept, those that tell most.
MOST_CASES = 50
#: Patients who are set beside each.
MOST_ALIKE = 3
CASE_SCHEMA = {
    "panel": pl.Int64,
    "kind": pl.String,
    "case": pl.Int64,
    "patient": pl.Int64,
    "other": pl.Int64,
    "distance": pl.Float64,
    "predicted": pl.Float64,
}
#: Cases of a physician beyond the sample that are kept, those that tell most.
MOST_BEYOND = 5
#: Pairs to review that are kept of each, by lot.
MOST_REVIEWED = 8


def cases_behind(
    evidence: Evidence,
    observed: Observed,
    scale: AlikeScale,
    pairs: pl.DataFrame,
    most: int = MOST_CASES,
) -> pl.DataFrame:
    """Return the cases of every panel, those that tell most first.

    `pairs` are those of comparable patients.

    Returns
    -------
    polars.DataFrame
        One row per case and patient beside it: positions of the panel and of both patients, their
        distance (1 is the caliper), and what was predicted. Nobody beside: one row, without.
    """
    shown = evidence.cases()
    if shown is None:
        return (
            pairs.filter("discordant")
            .sort("panel", "distance", "first", "second")
            .select(
                "panel",
                pl.lit(PAIR).alias("kind"),
                (pl.int_range(pl.len()).over("panel") + 1).alias("case"),
                pl.col("first").alias("patient"),
                pl.col("second").alias("other"),
                "distance",
                pl.lit(None, pl.Float64).alias("predicted"),
            )
            .cast(CASE_SCHEMA)  # type: ignore[arg-type]
        )
    kind, probability, least = shown
    points = scale.points(observed.covariates, probability)
    away = np.abs(observed.decision - probability)
    rows: list[tuple[Any, ...]] = []
    for at, panel in enumerate(observed.panels):
        against = panel[away[panel] > least]
        order = against[np.lexsort((against, -away[against]))][:most]
        for number, patient in enumerate(order.tolist(), 1):
            otherwise = panel[observed.decision[panel] != observed.decision[patient]]
            alike = nearest_within(points, patient, otherwise, MOST_ALIKE)
            beside: list[tuple[Any, Any]] = [*alike] or [(None, None)]
            predicted = float(probability[patient])
            rows += [(at, kind, number, patient, *each, predicted) for each in beside]
    return pl.DataFrame(rows, schema=CASE_SCHEMA, orient="row")


def found_in_bucket(
    scale: AlikeScale,
    kinds: Mapping[str, str],
    evidence: Evidence,
    portion: Portion,
    rows: IntArray,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return cases of a bucket, pairs to review, and the patients in them.

    `scale` says by how much patients may differ, learned from the sample; `kinds` what covariates
    hold, the most important first. The evidence is that of the method that measures; `rows` are
    those of the source.
    """
    observed, no_pairs = portion.observed, pl.DataFrame(schema=PAIR_SCHEMA)
    cases = cases_behind(evidence, observed, scale, no_pairs, MOST_BEYOND)
    pairs = some_pairs(pairs_to_review(observed, scale), observed, MOST_REVIEWED)
    listed = [cases["patient"], cases["other"], pairs["first"], pairs["second"]]
    shown = pl.concat(listed).drop_nulls().unique().sort().to_numpy()
    return (
        case_table(cases, observed, rows),
        pair_table(pairs, observed, rows),
        patient_table(observed, rows, portion.raw, kinds)[shown],
    )


#: Cases that can be asked for.
MOST_PAIRS = 1_000_000
_KEPT = ("row", "physician", "decision")
SHOWN_SCHEMA = {
    "kind": pl.String,
    "case": pl.Int64,
    "row": pl.Int64,
    "pair": pl.Int64,
    "predicted": pl.Float64,
    "distance": pl.Float64,
    "row_for": pl.Int64,
    "row_against": pl.Int64,
    "covariate": pl.String,
    "decided_for": pl.String,
    "decided_against": pl.String,
    "difference": pl.String,
}


def patients_of(measurement: Measurement) -> pl.DataFrame:
    """Return the patients: source row, physician, decision, covariates by importance."""
    prepared = measurement.check.prepared
    kinds = ranked_kinds(prepared, measurement.rule.weights)
    patients = patient_table(prepared.observed, prepared.rows, prepared.raw, kinds)
    beyond = measurement.beyond_cases
    if beyond is None:
        return patients
    more = beyond.patients.filter(~pl.col("row").is_in(patients["row"].implode()))
    return pl.concat([patients, more.select(patients.columns)], how="vertical_relaxed")


def ranked_kinds(prepared: Prepared, importance: Mapping[str, float]) -> dict[str, str]:
    """Return what the columns hold; covariates come first, the most important at the top."""
    return {
        **dict.fromkeys(importance, ""),
        **{each.column: each.kind for each in prepared.columns},
    }


def patient_table(
    observed: Observed, rows: IntArray, raw: pl.DataFrame, kinds: Mapping[str, str]
) -> pl.DataFrame:
    """Return patients as a reader sees them.

    `rows` are those of the source, `raw` holds covariates as they were read; `kinds` says what they
    hold, in the order in which they are shown.
    """
    names = dict.fromkeys([*(name for name in kinds if name in raw.columns), *raw.columns])
    return pl.DataFrame(
        [
            pl.Series("row", rows + 1),
            observed.named[observed.code].cast(pl.String).alias("physician"),
            pl.Series("decision", observed.decision),
            *(
                typed(raw[name], kinds.get(name, "")).alias(
                    f"{name} (covariate)" if name in _KEPT else name
                )
                for name in names
            ),
        ]
    )


def typed(column: pl.Series, kind: str) -> pl.Series:
    """Return numbers and dates as such, and codes of a category as labels."""
    if kind == "category":
        return column.cast(pl.String)
    if column.dtype != pl.String or kind not in ("number", "date", "yes/no"):
        return column
    try:
        values = understand(column, chosen=True).values
    except InputError:
        return column
    if values.dtype != pl.Float64:
        return column
    return values.cast(pl.Int32).cast(pl.Date) if kind == "date" else values


def cases_of(measurement: Measurement) -> pl.DataFrame:
    """Return the cases: physician, kind, number, rows of the source, distance, predicted."""
    prepared = measurement.check.prepared
    cases = case_table(measurement.cases, prepared.observed, prepared.rows)
    beyond = measurement.beyond_cases
    return cases if beyond is None else _joined(cases, beyond.cases)


def _joined(sampled: pl.DataFrame, beyond: pl.DataFrame) -> pl.DataFrame:
    """Join what is known of the sample and of those beyond it.

    Whoever is in the sample with a part of the patients was looked at as a whole beyond it.
    """
    again = beyond["physician"].unique()
    return pl.concat([sampled.filter(~pl.col("physician").is_in(again.implode())), beyond])


def case_table(cases: pl.DataFrame, observed: Observed, rows: IntArray) -> pl.DataFrame:
    """Return cases by the rows of the source, see :func:`cases_of`."""
    names = observed.named.cast(pl.String)
    source = pl.Series(rows + 1, dtype=pl.Int64)
    return cases.select(
        names[cases["panel"]].alias("physician"),
        "kind",
        "case",
        source[cases["patient"]].alias("patient"),
        source[cases["other"]].alias("other"),
        "distance",
        "predicted",
    )


def review_pairs_of(measurement: Measurement) -> pl.DataFrame:
    """Return the pairs that reviewers may be shown, by the rows of the source.

    Columns: physician, first, second, distance, different (whether they were decided differently)
    and weight (of how many pairs it is one that was kept).
    """
    prepared = measurement.check.prepared
    observed = prepared.observed
    scale = AlikeScale.of(observed, prepared.origin, measurement.rule.weights)
    pairs = pair_table(pairs_to_review(observed, scale), observed, prepared.rows)
    beyond = measurement.beyond_cases
    return pairs if beyond is None else _joined(pairs, beyond.pairs)


def pair_table(pairs: pl.DataFrame, observed: Observed, rows: IntArray) -> pl.DataFrame:
    """Return pairs by the rows of the source, see :func:`review_pairs_of`."""
    source = pl.Series(rows + 1, dtype=pl.Int64)
    weight = pl.col("weight") if "weight" in pairs.columns else pl.lit(1.0).alias("weight")
    return pairs.select(
        observed.named.cast(pl.String)[pairs["panel"]].alias("physician"),
        source[pairs["first"]].alias("first"),
        source[pairs["second"]].alias("second"),
        "distance",
        pl.col("discordant").alias("different"),
        weight,
    )


def side_by_side(
    cases: pl.DataFrame, patients: pl.DataFrame, physician: str, *, most: int = 5
) -> pl.DataFrame:
    """Set each case beside patients who were decided otherwise, what tells most first.

    Where nobody alike was decided otherwise, the patient stands alone.
    """
    if not 1 <= most <= MOST_PAIRS:
        raise InputError("{} is {}; give 1 to {:,}", option("most"), most, MOST_PAIRS)
    chosen = cases.filter((pl.col("physician") == physician) & (pl.col("case") <= most))
    covariates = [name for name in patients.columns if name not in _KEPT]
    wanted = pl.concat([chosen["patient"], chosen["other"]]).drop_nulls()
    by_row = {
        row["row"]: row
        for row in patients.filter(pl.col("row").is_in(wanted.implode())).iter_rows(named=True)
    }
    rows: list[dict[str, Any]] = []
    for number, case in enumerate(chosen.sort("case", maintain_order=True).to_dicts(), 1):
        one, other = by_row[case["patient"]], by_row.get(case["other"])
        sides = (one, other) if one["decision"] else (other, one)
        values = {key: case[key] for key in ("kind", "case", "predicted", "distance")}
        rows += [
            {
                **values,
                "row": one["row"],
                "pair": number,
                "row_for": sides[0] and sides[0]["row"],
                "row_against": sides[1] and sides[1]["row"],
                "covariate": name,
                "decided_for": sides[0] and as_text(sides[0][name]),
                "decided_against": sides[1] and as_text(sides[1][name]),
                "difference": _difference(sides[0][name], sides[1][name])
                if sides[0] and sides[1]
                else None,
            }
            for name in covariates
        ]
    return pl.DataFrame(rows, schema=SHOWN_SCHEMA)


def as_text(value: Any) -> str:
    """Write a value for a reader: four digits that count, and what is missing as such."""
    if value is None:
        return "missing"
    return _digits(value) if isinstance(value, float) else str(value)


def _digits(value: float, sign: str = "") -> str:
    """Return a whole number as it is, another with four digits that count."""
    whole = value == round(value) and abs(value) < 1e15 if math.isfinite(value) else False
    return f"{value:{sign}.0f}" if whole else f"{value:{sign}.4g}"


def _difference(one: Any, other: Any) -> str:
    """Return by how much one lies above the other, in the unit of the covariate."""
    if one == other:
        return "same"
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return "differs"
    if isinstance(one, int | float) and isinstance(other, int | float):
        return _digits(float(f"{one - other:.3g}"), "+")
    if isinstance(one, datetime.date) and isinstance(other, datetime.date):
        return f"{(one - other) / datetime.timedelta(days=1):+.4g} days"
    return "differs"
