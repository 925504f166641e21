"""What every physician's own rule leaves unexplained, learned from all of their patients.

The rule weighs the covariates and the pooled prediction, and has seen the decisions: it says who
decides by chance more often than whom, and bounds nothing. The rule and the held-out errors share
the decisions, and with them chance. How far, to first order: a decision moves the rule's parameters
by their covariance, and these move p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.bound import Left, panel_means
from intravar.prediction.columns import telling_columns
from intravar.prediction.own.rules import Hyper, PersonalRules, fit_rules, learn_hyper
from intravar.prediction.own.sampling import sampled_hyper
from intravar.prediction.stacking import clipped_logit
from intravar.prediction.tasks import Task


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

    def left(self, task: Task, pooled: FloatArray) -> FloatArray:
        """Return the mean of 2 p (1 - p) over every physician's patients, p by their own rule.

        `pooled` is P(yes) by a prediction that does not know the physician. Nobody's value depends
        on who else is asked about.
        """
        Z = _table(task, self.chosen, pooled)
        return _left(task, _fitted(task, Z, self.hyper).slopes(Z, task.code)[0])


def learn_own_rules(
    task: Task, prediction: FloatArray, pooled: FloatArray, seed: int
) -> tuple[OwnRules, Left]:
    """Learn what is common to own rules; return what they leave of those learned from as well.

    Parameters
    ----------
    task
        The panels, made ready.
    prediction, pooled
        P(yes) per patient by predictions that have not seen the decision: the best ones, and those
        that do not know the physician.
    seed
        Of the draws.
    """
    y, code, J = task.y, task.code, len(task.panels)
    common = np.flatnonzero(task.sampled)
    chosen = telling_columns(task.columns, y, code, common, J)
    Z = _table(task, chosen, pooled)
    start = learn_hyper(Z, y, code, common, J)
    hyper = sampled_hyper(Z, y, code, common, J, start, seed)
    rules = _fitted(task, Z, hyper)
    p, slopes = rules.slopes(Z, code)
    size = task.panels.sizes.astype(np.float64)
    moved, held = (
        np.column_stack([panel_means(2 * (1 - 2 * at) * slope, code, size) for slope in slopes.T])
        for at in (p, prediction)
    )
    shared = np.einsum("jk,jkl,jl->j", moved, rules.covariance, held)
    return OwnRules(chosen, hyper), Left(_left(task, p), shared)


def _table(task: Task, chosen: IntArray, pooled: FloatArray) -> FloatArray:
    """Return what rules weigh: a constant, the pooled prediction, columns."""
    return np.column_stack([np.ones(len(pooled)), clipped_logit(pooled), task.columns[:, chosen]])


def _fitted(task: Task, Z: FloatArray, hyper: Hyper) -> PersonalRules:
    rows = np.arange(len(task.y))
    return fit_rules(Z, task.y, task.code, rows, len(task.panels), hyper)


def _left(task: Task, p: FloatArray) -> FloatArray:
    size = np.maximum(task.panels.sizes, 1).astype(np.float64)
    return panel_means(2 * p * (1 - p), task.code, size)
