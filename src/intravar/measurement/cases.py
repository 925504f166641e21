"""Decisions that show a score at work, each beside patients alike who were decided otherwise.

For predictions they are those that surprised most; for the latent rule, clear cases decided against
it; for methods that pair, discordant pairs. Nobody alike is better than somebody who is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.evidence import PAIR, Evidence
from intravar.measurement.alike import AlikeScale, alike_points, nearest_within
from intravar.observed import Observed

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


def cases_behind(
    evidence: Evidence,
    observed: Observed,
    origin: Sequence[str],
    importance: Mapping[str, float],
    pairs: pl.DataFrame,
    *,
    most: int = MOST_CASES,
    scale: AlikeScale | None = None,
) -> pl.DataFrame:
    """Return the cases of every panel, those that tell most first.

    Parameters
    ----------
    evidence
        Behind the scores of the method that measures.
    observed
        The patients.
    origin, importance
        Covariate of every column, and how much decisions depend on each.
    pairs
        Pairs of comparable patients, see :mod:`intravar.measurement.nearest`.
    most
        Cases of a physician at the most.
    scale
        By how much covariates may differ; by default it is learned from these patients.

    Returns
    -------
    polars.DataFrame
        One row per case and patient beside it: positions of the panel and of both patients, their
        distance (1 is the caliper), and what was predicted. Nobody beside: one row, without.
    """
    shown = evidence.cases()
    if shown is None:
        return _discordant(pairs)
    kind, probability, least = shown
    points = alike_points(observed, origin, importance, probability, scale)
    away = np.abs(observed.decision - probability)
    rows = [
        (at, kind, *found)
        for at, panel in enumerate(observed.panels)
        for found in _cases(panel, observed, points, probability, away, least, most)
    ]
    return pl.DataFrame(rows, schema=CASE_SCHEMA, orient="row")


def _cases(
    panel: IntArray,
    observed: Observed,
    points: FloatArray,
    probability: FloatArray,
    away: FloatArray,
    least: float,
    most: int,
) -> list[tuple[int, int, int | None, float | None, float]]:
    """Return the cases of one panel: number, patient, other, distance, predicted."""
    against = panel[away[panel] > least]
    order = against[np.lexsort((against, -away[against]))][:most]
    by_decision = [panel[observed.decision[panel] == decision] for decision in (0, 1)]
    found: list[tuple[int, int, int | None, float | None, float]] = []
    for number, patient in enumerate(order.tolist(), 1):
        otherwise = by_decision[1 - int(observed.decision[patient])]
        predicted = float(probability[patient])
        beside = nearest_within(points, patient, otherwise, MOST_ALIKE)
        found += [(number, patient, *each, predicted) for each in beside]
        if not beside:
            found.append((number, patient, None, None, predicted))
    return found


def _discordant(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return discordant pairs as cases, the closest first."""
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
