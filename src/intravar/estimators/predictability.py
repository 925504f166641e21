"""How well a physician can be predicted: an upper bound of discordance, whatever the rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.estimators.base import Estimator
from intravar.estimators.evidence import Predictions
from intravar.estimators.work import Size, Work
from intravar.inference.intervals import Interval
from intravar.observed import Observed
from intravar.prediction.bound import Bound, bound, panel_means
from intravar.prediction.canonical import Canonical
from intravar.prediction.colleagues import expected_losses
from intravar.prediction.explained import left_by_own_rules
from intravar.prediction.held_out import HeldOut, held_out
from intravar.prediction.stacking import log_likelihood
from intravar.prediction.weights import in_words, notable, personal_weights

#: Cohorts up to this size are cross-fitted more than once, with other folds.
SMALL_COHORT = 4_000
REPETITIONS = 3
TOO_FEW = "fewer than two patients"


class Predictability(Estimator):
    """Bounds discordance by how badly a physician's decisions can be predicted.

    Twice the squared error of the best prediction that can be made of *this physician's* decisions
    without the patient's own, which bounds the comparable discordance from above: that of two of
    the physician's patients who are alike in what is recorded. No rule is assumed, shared or
    personal, sharp or graded. Candidates compete by nested held-out likelihood: trees on all
    decisions, personal weights and rates around common ones, camps with a rule each, a forest of
    one's own, and trees along every physician's own axes.

    Parameters
    ----------
    n_folds
        Number of folds, at least three.
    random_state
        Seed of the folds, and of draws of rules; nothing else is random.

    Attributes
    ----------
    score_
        The bound.
    low_, high_
        95 % interval of what the bound tends to. The discordance lies at or below that.
    expected_
        What the average colleague would score on the same patients; NaN without colleagues.
    ratio_
        Score over expected.
    gain_
        By how much the physician's own rule predicts better than the pooled one, in nats per
        patient.
    words_
        Which covariates the physician weighs more or less than the others; None where nothing
        stands out.
    differences_
        The same as a table: physician, covariate, how.
    weights_
        Every weight beside that of the others.
    predicted_
        P(yes) per patient, never informed by the patient's own decision.
    pooled_
        The same of the physicians on the whole.
    candidates_
        Held-out log-likelihood per patient, by candidate; `best` is what was used.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=2000, n_physicians=5)
    >>> model = intravar.Predictability().fit(*cohort.observed())
    >>> bool((model.high_ >= intravar.oracle(cohort)["comparable"].to_numpy()).all())
    True
    """

    name = "predictability"
    label = "Predictability"
    idea = "bounds discordance by how badly this physician's decisions can be predicted"
    supervised = True
    shares = "prediction"
    accepts_missing = True
    most = 0.5

    low_: FloatArray
    high_: FloatArray
    expected_: FloatArray
    ratio_: FloatArray
    gain_: FloatArray
    words_: list[str | None]
    differences_: pl.DataFrame
    weights_: pl.DataFrame
    predicted_: FloatArray
    pooled_: FloatArray
    candidates_: dict[str, float]

    def __init__(self, *, n_folds: int = 5, random_state: int = 0) -> None:
        self.n_folds = n_folds
        self.random_state = random_state

    def _fit(self, observed: Observed) -> None:
        if self.n_folds < 3:
            raise InputError(f"n_folds is {self.n_folds}; at least 3 are needed")
        found = held_out(observed, self.n_folds, self.random_state)
        cohort, task = found.task.cohort, found.task
        prediction, pooled, gain = self._predictions(observed, found)
        loss = (cohort.decision - prediction) ** 2
        with threadpool_limits(limits=1, user_api="blas"):
            left = None
            if found.fit is not None:
                left = left_by_own_rules(task, prediction, pooled, self.random_state)
            scored = bound(prediction, cohort.decision, cohort.code, cohort.n_physicians, left)
            colleagues = expected_losses(
                task.bins, loss, cohort.code, cohort.n_physicians, self.random_state
            )
            self.weights_ = personal_weights(task, observed.names, observed.physicians)
        self.differences_ = notable(self.weights_)
        self.words_ = in_words(self.differences_, observed.physicians)
        self.predicted_, self.pooled_ = np.empty(len(prediction)), np.empty(len(prediction))
        self.predicted_[cohort.row], self.pooled_[cohort.row] = prediction, pooled
        size = self.n_patients_[cohort.physician].astype(np.float64)
        self._read(
            cohort,
            scored,
            2 * panel_means(colleagues, cohort.code, size),
            panel_means(gain, cohort.code, size),
        )

    def _predictions(
        self, observed: Observed, first: HeldOut
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return held-out P(yes), own and pooled, and log-likelihood gained, per patient."""
        y = first.task.cohort.decision
        if first.fit is None:
            self.candidates_ = {}
            return first.personal, first.pooled, np.zeros(len(y))
        deals = [first]
        if len(y) <= SMALL_COHORT:
            # Few patients: which fold they fall into matters, so that several deals are averaged.
            seeds = [self.random_state + 1000 * number for number in range(1, REPETITIONS)]
            deals += [held_out(observed, self.n_folds, seed) for seed in seeds]
        prediction = np.mean([deal.personal for deal in deals], axis=0)
        pooled = np.mean([deal.pooled for deal in deals], axis=0)
        best, blind = (np.log(np.where(y == 1, p, 1 - p)) for p in (prediction, pooled))
        self.candidates_ = {"best": float(best.mean())}
        for name, score in first.fit.by_candidate.items():
            self.candidates_[name] = float(log_likelihood(score, y).mean())
        return prediction, pooled, best - blind

    def _read(
        self, cohort: Canonical, found: Bound, expected: FloatArray, gain: FloatArray
    ) -> None:
        """Bring results into the order of `physicians_`."""
        back = np.argsort(cohort.physician)
        enough = self.n_patients_ >= 2
        self.reason_ = [None if ok else TOO_FEW for ok in enough]
        self._bound = Bound(
            np.where(enough, found.score[back], np.nan), found.raw[back], found.effective[back]
        )
        self.score_ = self._bound.score
        self.low_, self.high_, _ = self._bound.interval(0.95)
        self.expected_ = np.where(enough, expected[back], np.nan)
        self.ratio_ = self.score_ / self.expected_
        self.gain_ = np.where(enough, gain[back], np.nan)

    def evidence(self, observed: Observed) -> Predictions:
        """See :class:`intravar.estimators.base.Estimator`."""
        return Predictions(
            self.predicted_,
            self.pooled_,
            self.expected_,
            self.gain_,
            tuple(self.words_),
            self.differences_,
        )

    @classmethod
    def work(cls, size: Size) -> Work:
        """See :class:`intravar.estimators.base.Estimator`."""
        n, p = size.n_patients, size.n_covariates
        deals = REPETITIONS if n <= SMALL_COHORT else 1
        return Work(0.8 + deals * n * (2.7e-4 + 2.7e-5 * p), copies=12.0)

    def _interval(self, level: float) -> Interval:
        return self._bound.interval(level)

    def _profile_columns(self) -> dict[str, Any]:
        return {
            "expected": pl.Series(self.expected_).fill_nan(None),
            "ratio": pl.Series(self.ratio_).fill_nan(None),
            "gain": pl.Series(self.gain_).fill_nan(None),
            "words": pl.Series(self.words_, dtype=pl.String),
        }

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"candidates": self.candidates_}
