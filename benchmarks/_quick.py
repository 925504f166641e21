"""A quick stand-in for Predictability: one rule of all, drawn to each physician's own decisions.

A logistic rule over all patients, with a line and a steepness of each physician's own; both learned
without the patient who is predicted. It makes the same kind of upper limit in a hundredth of the
time, so that verdicts can be tried on hundreds of cohorts with hundreds of thousands of patients.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.base import Estimator
from intravar.estimators.evidence import Predictions
from intravar.inference.intervals import Interval, share_interval
from intravar.observed import Observed
from intravar.seeds import stream

N_FOLDS = 5
#: Standard deviations of lines and of steepness between physicians, before decisions are seen.
LINE, STEEPNESS = 1.0, 0.5
_ROUNDS = 12


class Quick(Estimator):
    """Twice the squared error of a logistic rule with a line and a steepness of one's own."""

    name = "quick"
    label = "Quick"
    idea = "a logistic rule of all, drawn to each physician's own decisions"
    supervised = True
    most = 0.5

    def _fit(self, observed: Observed) -> None:
        y = observed.decision.astype(np.float64)
        x, code, n = observed.standardised, observed.code, len(observed.physicians)
        fold = stream(0, "quick").integers(0, N_FOLDS, len(y))
        self.pooled_, self.predicted_ = np.empty(len(y)), np.empty(len(y))
        for number in range(N_FOLDS):
            out, known = fold == number, fold != number
            rule = LogisticRegression(C=10.0).fit(x[known], y[known])
            z = rule.decision_function(x)
            own = _own_rules(z[known], y[known], code[known], n)
            self.pooled_[out] = expit(z[out])
            self.predicted_[out] = expit(own[0][code[out]] + own[1][code[out]] * z[out])
        loss = (y - self.predicted_) ** 2
        size = np.bincount(code, minlength=n)
        mean = np.bincount(code, loss, minlength=n) / size
        spread = np.bincount(code, (loss - mean[code]) ** 2, minlength=n) / size
        # As many yes-or-no trials as would be as sure.
        trials = size * np.clip(mean * (1 - mean) / np.maximum(spread, 1e-9), 1.0, 50.0)
        ends = share_interval(mean * trials, trials)
        self._mean = mean
        self.score_ = np.minimum(2 * mean, 0.5)
        self.reason_ = [None] * n
        self._ends = Interval(
            np.minimum(2 * ends.low, self.score_),
            np.maximum(2 * ends.high, self.score_),
            2 * ends.standard_error,
        )

    def _interval(self, level: float) -> Interval:
        return self._ends

    def evidence(self, observed: Observed) -> Predictions:
        """See :class:`intravar.estimators.base.Estimator`."""
        nobody = np.full(len(observed.physicians), np.nan)
        return Predictions(self.predicted_, self.pooled_, nobody, nobody, raw=2 * self._mean)


def _own_rules(z: FloatArray, y: FloatArray, code: IntArray, n: int) -> tuple[FloatArray, ...]:
    """Return line and steepness of every physician, by Newton's method with a prior around 0, 1."""
    line, steep = np.zeros(n), np.ones(n)
    for _ in range(_ROUNDS):
        p = expit(line[code] + steep[code] * z)
        weight = np.maximum(p * (1 - p), 1e-6)
        gradient = [
            np.bincount(code, y - p, minlength=n) - line / LINE**2,
            np.bincount(code, (y - p) * z, minlength=n) - (steep - 1) / STEEPNESS**2,
        ]
        a = np.bincount(code, weight, minlength=n) + 1 / LINE**2
        b = np.bincount(code, weight * z, minlength=n)
        c = np.bincount(code, weight * z**2, minlength=n) + 1 / STEEPNESS**2
        det = a * c - b**2
        line = line + np.clip((c * gradient[0] - b * gradient[1]) / det, -2, 2)
        steep = steep + np.clip((a * gradient[1] - b * gradient[0]) / det, -1, 1)
    return line, steep
