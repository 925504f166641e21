"""Decisions that show a score at work, each beside patients alike who were decided otherwise.

For predictions they are those that surprised most; for the latent rule, clear cases decided against
it; for methods that pair, discordant pairs. Nobody alike is better than somebody who is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.evidence import PAIR, PAIR_SCHEMA, Evidence
from intravar.measurement.cases.pairs import (
    AlikeScale,
    alike_points,
    nearest_within,
    pairs_to_review,
    some_pairs,
)
from intravar.measurement.cases.tables import case_table, pair_table, patient_table
from intravar.observed import Observed
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
MOST_PAIRS = 8
#: What a pair to review is called among the cases.
REVIEW = "to review"


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

    `origin` and `importance` name the covariate of every column, and how much decisions depend on
    each; `pairs` are those of comparable patients. Without `scale` it is learned from these
    patients.

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


@dataclass(frozen=True, eq=False)
class CaseFinder:
    """Finds the decisions of a bucket that show scores at work.

    Attributes
    ----------
    origin, importance
        Covariate of every column, and how much decisions depend on each.
    kinds
        What the covariates hold.
    scale
        By how much they may differ, learned from the sample.
    """

    origin: tuple[str, ...]
    importance: Mapping[str, float]
    kinds: Mapping[str, str]
    scale: AlikeScale

    def __call__(
        self, evidence: Evidence, portion: Portion, rows: IntArray
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return cases and pairs to review, and the patients in them.

        Parameters
        ----------
        evidence
            Behind the scores of the method that measures.
        portion
            The patients of the bucket.
        rows
            Their rows in the source.
        """
        observed = portion.observed
        found = cases_behind(
            evidence,
            observed,
            self.origin,
            self.importance,
            pl.DataFrame(schema=PAIR_SCHEMA),
            most=MOST_BEYOND,
            scale=self.scale,
        )
        every = pairs_to_review(observed, self.origin, self.importance, self.scale)
        pairs = some_pairs(every, observed, MOST_PAIRS)
        listed = [found["patient"], found["other"], pairs["first"], pairs["second"]]
        shown = pl.concat(listed).drop_nulls().unique().sort()
        at = shown.to_numpy()
        ranked = sorted(self.importance, key=lambda name: -self.importance[name])
        patients = patient_table(observed, rows, portion.raw, self.kinds, ranked)[at]
        cases = case_table(found, observed, rows).with_columns(
            pl.lit(None, pl.Boolean).alias("different"), pl.lit(None, pl.Float64).alias("weight")
        )
        kept = pair_table(pairs, observed, rows).select(
            "physician",
            pl.lit(REVIEW).alias("kind"),
            pl.lit(0, pl.Int64).alias("case"),
            pl.col("first").alias("patient"),
            pl.col("second").alias("other"),
            "distance",
            pl.lit(None, pl.Float64).alias("predicted"),
            "different",
            "weight",
        )
        return pl.concat([cases, kept]), patients
