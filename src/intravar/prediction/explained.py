"""What every physician's own rule leaves unexplained, learned from all of their patients.

The rule and the held-out errors share the decisions, and with them chance. How far, to first order:
a decision moves the rule's parameters by their covariance, and these move p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.axes import clipped_logit
from intravar.prediction.bound import Left, panel_means
from intravar.prediction.column_bins import telling_columns
from intravar.prediction.cross_fitting import PredictionTask
from intravar.prediction.personal import Hyper, fit_rules, learn_hyper
from intravar.prediction.sampling import sampled_hyper


@dataclass(frozen=True, eq=False)
class OwnRules:
    """What is common to the rules of physicians that have seen all of their patients.

    Attributes
    ----------
    chosen
        Columns that rules weigh.
    hyper
        Mean and covariance of the physicians' parameters.
    """

    chosen: IntArray
    hyper: Hyper

    def table(self, columns: FloatArray, pooled: FloatArray) -> FloatArray:
        """Return what rules weigh: a constant, the pooled prediction, columns."""
        return np.column_stack(
            [np.ones(len(pooled)), clipped_logit(pooled), columns[:, self.chosen]]
        )

    def left(
        self, columns: FloatArray, pooled: FloatArray, y: IntArray, code: IntArray, J: int
    ) -> FloatArray:
        """Return what the rules of physicians leave who were not learned from.

        Nobody's value depends on who else is asked about; see :func:`left_by_own_rules`.
        """
        Z = self.table(columns, pooled)
        rules = fit_rules(Z, y, code, np.arange(len(y)), J, self.hyper)
        p, _ = rules.slopes(Z, code)
        size = np.maximum(np.bincount(code, minlength=J), 1).astype(np.float64)
        return panel_means(2 * p * (1 - p), code, size)


def left_by_own_rules(
    task: PredictionTask, prediction: FloatArray, pooled: FloatArray, seed: int
) -> tuple[Left, OwnRules]:
    """Return the mean of 2 p (1 - p) over every physician's patients, p by their own rule.

    The rule weighs the covariates and the pooled prediction, and has seen the decisions: it says
    who decides by chance more often than whom, and bounds nothing. Beside it, what is common.

    Parameters
    ----------
    task
        The cohort, made ready.
    prediction, pooled
        P(yes) per patient by predictions that have not seen the decision: the best ones, and those
        that do not know the physician.
    seed
        Of the draws.
    """
    cohort = task.cohort
    y, code, J = cohort.decision, cohort.code, cohort.n_physicians
    everybody, common = np.arange(len(y)), np.flatnonzero(task.sampled)
    chosen = telling_columns(task.columns, y, code, common, J)
    Z = np.column_stack([np.ones(len(y)), clipped_logit(pooled), task.columns[:, chosen]])
    start = learn_hyper(Z, y, code, common, J)
    hyper = sampled_hyper(Z, y, code, common, J, start, seed)
    rules = fit_rules(Z, y, code, everybody, J, hyper)
    p, slopes = rules.slopes(Z, code)
    size = np.bincount(code, minlength=J).astype(np.float64)
    moved, held = (
        np.column_stack([panel_means(2 * (1 - 2 * at) * slope, code, size) for slope in slopes.T])
        for at in (p, prediction)
    )
    shared = np.einsum("jk,jkl,jl->j", moved, rules.covariance, held)
    left = Left(panel_means(2 * p * (1 - p), code, size), shared)
    return left, OwnRules(chosen, hyper)
