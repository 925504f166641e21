"""Cases of physicians beyond the sample, found where their bucket is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from intravar.arrays import IntArray
from intravar.estimators.evidence import PAIR_SCHEMA, Evidence
from intravar.measurement.alike import AlikeScale
from intravar.measurement.cases import cases_behind
from intravar.measurement.explanation import case_table, pair_table, patient_table
from intravar.measurement.nearest import pairs_to_review, some_pairs
from intravar.preparation.recipe import Portion

#: Cases of a physician beyond the sample that are kept, those that tell most.
MOST_BEYOND = 5
#: Pairs to review that are kept of each, by lot.
MOST_PAIRS = 8
#: What a pair to review is called among the cases.
REVIEW = "to review"


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
