"""The rate alone: what any two patients of a physician would score, comparable or not."""

from __future__ import annotations

import numpy as np

from intravar.arrays import FloatArray
from intravar.estimators.base import Estimator
from intravar.inference.intervals import Interval, discordance_interval
from intravar.observed import Observed

TOO_FEW = "fewer than two decisions"


class Rate(Estimator):
    """A baseline that looks at no covariate: 2 r (1 - r) of each physician's rate r of "yes".

    How often two patients of the physician, drawn at random, are decided differently. Any method
    that claims to know more must come closer to the truth than this.

    Attributes
    ----------
    score_
        Pairs of patients decided differently, over all pairs of the physician's patients.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=500, n_physicians=5)
    >>> model = Rate().fit(*cohort.observed())
    >>> bool((model.score_ <= 0.51).all())
    True
    """

    name = "rate"
    label = "Rate alone"
    idea = "2 r (1 - r) of the rate r of yes: a baseline that looks at no covariate"
    supervised = True
    accepts_missing = True
    most = 0.5
    shares = "rate"

    _n_for: FloatArray

    def _fit(self, observed: Observed) -> None:
        n = self.n_patients_.astype(np.float64)
        self._n_for = yes = observed.counts[1].astype(np.float64)
        enough = n >= 2
        pairs = np.maximum(n * (n - 1), 1.0)
        self.score_ = np.where(enough, np.minimum(2 * yes * (n - yes) / pairs, 0.5), np.nan)
        self.reason_ = [None if ok else TOO_FEW for ok in enough]

    def _interval(self, level: float) -> Interval:
        ends = discordance_interval(self._n_for, self.n_patients_, level)
        return Interval(
            np.minimum(ends.low, self.score_), np.maximum(ends.high, self.score_), ends[2]
        )
