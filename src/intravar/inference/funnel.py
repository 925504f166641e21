"""Limits of a funnel plot: who lies farther from the middle than chance and the usual spread.

The error of a score falls with the root of its size, s(n) = c / sqrt(n). Physicians differ anyway,
for reasons that no covariate holds; limits that know chance alone would leave out most large
panels. So the variance between physicians is added to that of chance, as Spiegelhalter does: it
is worked out from the scores' distances in units of chance, the outermost tenth on either side
drawn in (winsorised), so that those who stand out do not widen the limits that should find them.
Drawing in takes away spread that is there, also where nobody stands out; the mean square is
therefore divided by what would be left of it in normal scores.

References
----------
Spiegelhalter, Handling over-dispersion of performance indicators, Quality and Safety in Health
Care 2005;14:347-351.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from intravar.arrays import FloatArray

#: Share of the scores that is drawn in on either side.
DRAWN_IN = 0.1
#: Two-sided 95 % and 99.8 %, the customary limits of a funnel plot.
INNER, OUTER = float(norm.ppf(0.975)), float(norm.ppf(0.999))


@dataclass(frozen=True)
class FunnelLimits:
    """What scores are held against.

    The funnel's tip points to `middle`, the mean weighted by what is known of each; `unit` is the
    standard error of a score of size one, `between` the standard deviation of true values.
    """

    middle: float
    unit: float
    between: float

    def width(self, size: FloatArray) -> FloatArray:
        """Return one standard deviation at every size, chance and spread together."""
        spread: FloatArray = np.sqrt(self.unit**2 / size + self.between**2)
        return spread

    def distance(self, score: FloatArray, size: FloatArray) -> FloatArray:
        """Return how many of these standard deviations each score lies above the middle.

        Where there is neither chance nor spread, nobody lies away from it.
        """
        width = self.width(size)
        return np.divide(score - self.middle, width, out=np.zeros(len(score)), where=width > 0)


def funnel_limits(score: FloatArray, size: FloatArray, error: FloatArray | None) -> FunnelLimits:
    """Work out the limits.

    Sizes are pairs or patients. `error` is None where a score is a share of `size` trials, and
    chance is that of a coin which shows the mean.

    Examples
    --------
    >>> score, size = np.array([0.1, 0.2, 0.2, 0.3]), np.full(4, 400.0)
    >>> found = funnel_limits(score, size, None)
    >>> round(found.middle, 3), round(found.unit, 3), round(found.between, 3)
    (0.2, 0.4, 0.066)
    """
    middle = float(score @ size / size.sum())
    unit = (
        float(np.sqrt(middle * (1 - middle)))
        if error is None
        else float(np.median(error * np.sqrt(size)))
    )
    if unit <= 0 or len(score) < 2:
        return FunnelLimits(middle, unit, 0.0)
    precision = size / unit**2
    mean_square = float(np.mean(_drawn_in((score - middle) * np.sqrt(precision)) ** 2))
    excess = len(score) * mean_square / _left_of_normal() - (len(score) - 1)
    weight = float(precision.sum() - (precision**2).sum() / precision.sum())
    return FunnelLimits(middle, unit, float(np.sqrt(max(0.0, excess) / weight)))


def _drawn_in(distance: FloatArray) -> FloatArray:
    ends = np.quantile(distance, [DRAWN_IN, 1 - DRAWN_IN])
    return np.clip(distance, *ends)


def _left_of_normal() -> float:
    """Return the mean square of standard normal values whose tails were drawn in."""
    end = float(norm.ppf(1 - DRAWN_IN))
    return 1 - 2 * DRAWN_IN - 2 * end * float(norm.pdf(end)) + 2 * DRAWN_IN * end**2
