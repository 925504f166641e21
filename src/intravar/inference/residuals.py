"""Interval of the overdispersion score of the mixed model.

The score of a physician is the mean of r^2 over the panel. Three things make it uncertain:

1. which patients came, and how they were decided: the spread of r^2 within the panel;
2. the physician's intercept, which is estimated *from the same decisions*, so that its error and
   the first one are correlated and must not simply be added;
3. the fixed effects, which come from the whole cohort.

The first two are joined patient by patient. A decision that is one unit above its expectation moves
the intercept by the intercept's posterior variance v_j, and the score by g_j times that, g_j being
the derivative of the score in the intercept. The influence of patient i on the score is therefore
r_i^2 + n_j g_j v_j (y_i - p_i), and the variance is that of its mean. The third is added from the
posterior of the fixed effects. The interval is symmetric on the log scale, where the score, which
is positive and leans right, is closer to normal.

References
----------
Huber, The behavior of maximum likelihood estimates under nonstandard conditions, Proc Fifth
Berkeley Symp 1967;1:221-233 (the posterior variance as bread, the residuals as filling).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from intravar.arrays import FloatArray
from intravar.inference.intervals import LEVEL, Interval, checked_level


def overdispersion_standard_error(
    decision: npt.ArrayLike,
    probability: npt.ArrayLike,
    squared_residual: npt.ArrayLike,
    physician: npt.ArrayLike,
    design: npt.ArrayLike,
    fixed_sd: npt.ArrayLike,
    random_sd: npt.ArrayLike,
) -> FloatArray:
    """Return the standard error of every physician's mean squared Pearson residual.

    Parameters
    ----------
    decision, probability, squared_residual, physician
        Per patient; the physician as a position.
    design
        Covariates with a leading column of ones, one row per patient.
    fixed_sd, random_sd
        Posterior standard deviations of the fixed effects and of the physicians' intercepts.

    Returns
    -------
    ndarray
        One per physician; NaN with fewer than two patients.

    Examples
    --------
    With nothing uncertain but the patients it is the standard error of a mean.

    >>> overdispersion_standard_error([1, 0, 1, 0], [0.5, 0.2, 0.8, 0.1], [1.0, 0.25, 0.25, 0.5],
    ...     [0, 0, 0, 0], np.ones((4, 1)), [0.0], [0.0]).round(4).tolist()
    [0.1768]
    """
    y, p = np.asarray(decision, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    square = np.asarray(squared_residual, dtype=np.float64)
    code, x = np.asarray(physician, dtype=np.int64), np.asarray(design, dtype=np.float64)
    v = np.asarray(random_sd, dtype=np.float64) ** 2
    n = np.bincount(code, minlength=len(v)).astype(np.float64)
    # r^2 is exp(-eta) for a prescription and exp(eta) for none.
    slope = (1 - 2 * y) * square
    pull = v * np.bincount(code, slope, len(v))
    influence = square + pull[code] * (y - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(code, influence, len(v)) / n
        within = np.bincount(code, (influence - mean[code]) ** 2, len(v)) / (n * (n - 1))
        gradient = np.stack(
            [np.bincount(code, slope * column, len(v)) / n for column in x.T], axis=1
        )
    variance = within + gradient**2 @ np.asarray(fixed_sd, dtype=np.float64) ** 2
    standard_error: FloatArray = np.sqrt(variance)
    return standard_error


def overdispersion_interval(
    score: npt.ArrayLike,
    standard_error: npt.ArrayLike,
    n_patients: npt.ArrayLike,
    level: float = LEVEL,
) -> Interval:
    """Return the interval of a positive score, symmetric on the log scale.

    Parameters
    ----------
    score, standard_error, n_patients
        One entry per physician; Student's t with n - 1 degrees of freedom is used.
    level
        Nominal coverage.

    Examples
    --------
    >>> found = overdispersion_interval([1.0], [0.1], [101])
    >>> found.low.round(3).item(), found.high.round(3).item()
    (0.82, 1.219)
    """
    s = np.asarray(score, dtype=np.float64)
    error = np.asarray(standard_error, dtype=np.float64)
    freedom = np.maximum(np.asarray(n_patients, dtype=np.float64) - 1, 1)
    width = t.ppf((1 + checked_level(level)) / 2, freedom) * error / s
    return Interval(s * np.exp(-width), s * np.exp(width), error)
