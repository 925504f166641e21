"""What every physician's own rule leaves unexplained, learned from all of their patients."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray
from intravar.prediction.axes import clipped_logit
from intravar.prediction.bound import panel_means
from intravar.prediction.column_bins import telling_columns
from intravar.prediction.cross_fitting import PredictionTask
from intravar.prediction.personal import fit_rules, learn_hyper
from intravar.prediction.sampling import sampled_hyper


def left_by_own_rules(task: PredictionTask, pooled: FloatArray, seed: int) -> FloatArray:
    """Return the mean of 2 p (1 - p) over every physician's patients, p by their own rule.

    The rule weighs the covariates and the pooled prediction, and has seen the decisions: it says
    who decides by chance more often than whom, and bounds nothing.

    Parameters
    ----------
    task
        The cohort, made ready.
    pooled
        P(yes) per patient, by predictions that know neither the physician nor the decision.
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
    low, high = expit(rules.theta[code, -2]), expit(rules.theta[code, -1])
    p = low + (high - low) * expit(rules.score(Z, code, everybody))
    size = np.bincount(code, minlength=J).astype(np.float64)
    return panel_means(2 * p * (1 - p), code, size)
