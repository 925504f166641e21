"""The rate alone: what any two patients of a physician would score, comparable or not."""

from __future__ import annotations

import numpy as np

from intravar.arrays import IntArray
from intravar.estimators.base import Estimator
from intravar.inference.group import any_two
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

    _n_for: IntArray

    def _fit(self, observed: Observed) -> None:
        self._n_for = observed.counts[1]
        self.score_ = np.minimum(any_two(self.n_patients_, self._n_for), self.most)
        self.reason_ = [TOO_FEW if n < 2 else None for n in self.n_patients_]

    def _interval(self, level: float) -> Interval:
        ends = discordance_interval(self._n_for, self.n_patients_, level)
        return Interval(
            np.minimum(ends.low, self.score_), np.maximum(ends.high, self.score_), ends[2]
        )
