"""Doubt about the learned rule, as it reaches the rates.

Rates are read from g = sigma(a + b score), and a and b are estimates. With few patients in all,
whatever the number per physician, that doubt is larger than the one about a physician's own counts.
It follows from the joint Fisher information of map and rates in one pass.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray
from intravar.latent.calibration import TIGHT, Calibration, Counts

#: The scores are estimates as well as their map. How far they mislead does not show in the counts;
#: with twice the map's doubt intervals hold with one, two and five physicians.
SCORES_TOO = 2.0
#: Patients that the prior of a rate is worth.
STRENGTH = 2.0


def doubt_of_p_high(counts: Counts, fit: Calibration) -> tuple[FloatArray, FloatArray]:
    """Return the standard deviation of every p_high that is owed to the rule being estimated.

    The covariance of intercept and slope, from which it follows, is returned as well.

    Parameters
    ----------
    counts
        Decisions by score.
    fit
        The calibration that the rates are read from.
    """
    g = expit(fit.logit(counts.score)[None, :] + fit.shift[:, None])
    high, low = fit.mean_high[:, None], fit.mean_low[:, None]
    q = np.clip(low + (high - low) * g, 1e-4, 1 - 1e-4)
    weight = (counts.yes + counts.no) / (q * (1 - q))
    bend = (high - low) * g * (1 - g)
    # derivatives of q in p_high, p_low, intercept and slope
    slopes = np.stack([g, 1 - g, bend, bend * counts.score[None, :]])
    information = np.einsum("ajb,cjb,jb->jac", slopes, slopes, weight)
    rates = np.clip(np.column_stack([high, low]), 1e-3, 1 - 1e-3)
    own = information[:, :2, :2] + np.einsum(
        "ja,ac->jac", STRENGTH / (rates * (1 - rates)), np.eye(2)
    )
    reply = np.linalg.solve(own, information[:, :2, 2:])
    shared = information[:, 2:, 2:] - np.swapaxes(information[:, :2, 2:], 1, 2) @ reply
    prior = np.diag(1 / np.square(TIGHT[1][:2]))
    covariance = np.linalg.inv(shared.sum(axis=0) + prior)
    variance = np.einsum("ja,ac,jc->j", reply[:, 0], covariance, reply[:, 0])
    return np.asarray(SCORES_TOO * np.sqrt(np.maximum(variance, 0.0))), covariance
