"""Who is probably eligible, once the decision is known as well."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from intravar.arrays import BoolArray, FloatArray, IntArray


def eligible_given_decision(
    eligible: FloatArray,
    shift: FloatArray,
    decided_for: BoolArray,
    p_high: FloatArray,
    p_low: FloatArray,
    code: IntArray,
) -> FloatArray:
    """Return every patient's probability of being eligible given covariates and decision.

    Where the rule is sharp, the sums of these are the very counts behind p_high and p_low.

    Parameters
    ----------
    eligible
        Probability given the covariates alone.
    shift
        Per patient: shift of its logit by the physician's own threshold.
    decided_for
        Per patient.
    p_high, p_low
        Per physician; without a rule p_low is NaN, and everybody counts as eligible.
    code
        Position of every patient's physician.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        g = expit(logit(eligible) + shift)
        high, low = p_high[code], np.nan_to_num(p_low)[code]
        of_eligible = g * np.where(decided_for, high, 1 - high)
        of_others = (1 - g) * np.where(decided_for, low, 1 - low)
        return np.asarray(np.nan_to_num(of_eligible / (of_eligible + of_others)))
