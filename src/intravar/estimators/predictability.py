"""How well a physician can be predicted: an upper bound of discordance, whatever the rule."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.estimators.base import Estimator
from intravar.estimators.evidence import Predictions
from intravar.estimators.work import Size, Work
from intravar.inference.intervals import LEVEL, Half, Interval, TwoHalves
from intravar.learning.screening import MOST_SEEN
from intravar.observed import Observed
from intravar.prediction.bound import Bound, learned_bound, losses_of, panel_means
from intravar.prediction.colleagues import expected_losses
from intravar.prediction.cross_fitting import MOST_COMMON
from intravar.prediction.explained import left_by_own_rules
from intravar.prediction.halves import half_bounds
from intravar.prediction.held_out import HeldOut, held_out
from intravar.prediction.other_panels import Ready
from intravar.prediction.others import CommonPart, kept_deals, read_others
from intravar.prediction.small import SharesBeyond
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
    n_jobs
        Threads to learn with; results do not depend on it.
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
    reads_others = True

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
    _common: CommonPart

    def __init__(
        self, *, n_folds: int = 5, n_jobs: int | None = None, random_state: int = 0
    ) -> None:
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, observed: Observed) -> None:
        if self.n_folds < 3:
            raise InputError(f"n_folds is {self.n_folds}; at least 3 are needed")
        found = held_out(observed, self.n_folds, self.random_state, self.n_jobs or 1)
        cohort, task = found.task.cohort, found.task
        deals = self._deals(observed, found)
        prediction, pooled, gain = self._predictions(deals)
        loss = (cohort.decision - prediction) ** 2
        left, own_rules = None, None
        with threadpool_limits(limits=1, user_api="blas"):
            if found.fit is not None:
                left, own_rules = left_by_own_rules(task, prediction, pooled, self.random_state)
            scored, reading = learned_bound(
                losses_of(prediction, cohort.decision), cohort.code, cohort.n_physicians, left
            )
            colleagues, losses = expected_losses(
                task.bins, loss, cohort.code, cohort.n_physicians, self.random_state
            )
            self.weights_, weights = personal_weights(task, observed.names, observed.physicians)
        self.predicted_, self.pooled_ = np.empty(len(prediction)), np.empty(len(prediction))
        self.predicted_[cohort.row], self.pooled_[cohort.row] = prediction, pooled
        size = self.n_patients_[cohort.physician].astype(np.float64)
        back = np.argsort(cohort.physician)
        self._read(
            Bound(scored.score[back], scored.raw[back], scored.effective[back]),
            2 * panel_means(colleagues, cohort.code, size)[back],
            panel_means(gain, cohort.code, size)[back],
            observed,
        )
        self._common = CommonPart(
            Ready.of(task, observed.names),
            self.n_folds,
            kept_deals(deals),
            SharesBeyond(len(loss), int(cohort.decision.sum())),
            reading,
            own_rules,
            losses,
            weights,
        )

    def common(self) -> Self:
        """See :class:`intravar.estimators.base.Estimator`."""
        light = self.__class__(n_folds=self.n_folds, random_state=self.random_state)
        light._common = self._learned_in_common()
        return light

    def others(self, observed: Observed) -> Self:
        """See :class:`intravar.estimators.base.Estimator`.

        Every physician's result is that of the own patients and of what was learned in common: the
        same to the bit whoever else is read, and in whichever order.
        """
        common = self._learned_in_common()
        found = self.__class__(n_folds=self.n_folds, random_state=self.random_state)
        found._describe(observed)
        # The products are many and small: threads of BLAS would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            read = read_others(common, observed, self.random_state)
        found.predicted_, found.pooled_ = read.personal, read.pooled
        found.candidates_, found.weights_ = read.candidates, read.weights
        found._read(read.bound, read.expected, read.gain, observed)
        return found

    def _learned_in_common(self) -> CommonPart:
        if not hasattr(self, "_common"):
            raise NotFittedError("nothing was learned in common yet; fit a sample first")
        return self._common

    def _deals(self, observed: Observed, first: HeldOut) -> list[HeldOut]:
        """Return the predictions of every deal."""
        if first.fit is None or observed.n_patients > SMALL_COHORT:
            return [first]
        # Few patients: which fold they fall into matters, so that several deals are averaged.
        seeds = [self._seed_of(deal) for deal in range(1, REPETITIONS)]
        return [
            first,
            *(held_out(observed, self.n_folds, seed, self.n_jobs or 1) for seed in seeds),
        ]

    def _seed_of(self, deal: int) -> int:
        return self.random_state + 1000 * deal

    def _predictions(self, deals: list[HeldOut]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return held-out P(yes), own and pooled, and log-likelihood gained, per patient."""
        first = deals[0]
        y = first.task.cohort.decision
        if first.fit is None:
            self.candidates_ = {}
            return first.personal, first.pooled, np.zeros(len(y))
        prediction = np.mean([deal.personal for deal in deals], axis=0)
        pooled = np.mean([deal.pooled for deal in deals], axis=0)
        best, blind = (np.log(np.where(y == 1, p, 1 - p)) for p in (prediction, pooled))
        self.candidates_ = {"best": float(best.mean())}
        for name, score in first.fit.by_candidate.items():
            self.candidates_[name] = float(log_likelihood(score, y).mean())
        return prediction, pooled, best - blind

    def _read(
        self, found: Bound, expected: FloatArray, gain: FloatArray, observed: Observed
    ) -> None:
        """Set what is said of each physician, in the order of `physicians_`."""
        self.differences_ = notable(self.weights_)
        self.words_ = in_words(self.differences_, observed.physicians)
        enough = self.n_patients_ >= 2
        self.reason_ = [None if ok else TOO_FEW for ok in enough]
        self._bound = Bound(np.where(enough, found.score, np.nan), found.raw, found.effective)
        self.score_ = self._bound.score
        self.low_, self.high_, _ = self._bound.interval(0.95)
        self.expected_ = np.where(enough, expected, np.nan)
        self.ratio_ = self.score_ / self.expected_
        self.gain_ = np.where(enough, gain, np.nan)

    def two_halves(self, observed: Observed, deal: int) -> TwoHalves | None:
        """See :class:`intravar.estimators.base.Estimator`."""
        bounds = half_bounds(observed, self.n_folds, self._seed_of(deal), self.n_jobs or 1)
        if bounds is None:
            return None
        whole, first, second = (
            Half.placed(
                np.where(each.n_patients >= 2, each.bound.score, np.nan),
                each.bound.interval(LEVEL),
                each.physician,
                len(self.physicians_),
                is_bound=True,
            )
            for each in bounds
        )
        return TwoHalves(first, second, whole.score)

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
        # Very many columns are passed over, few of them looked at closely.
        seen, passed = min(p, MOST_SEEN), 1e-7 * p
        common = min(n, MOST_COMMON) * (2.7e-4 + 1.55e-5 * seen + passed)
        personal = n * (7e-5 + 2.2e-6 * seen + passed)
        other = 3.2e-5 + 1.25e-6 * seen + passed
        alone = 0.8 + deals * (common + personal + 4e-3 * len(size.panels))
        return Work(alone, copies=10.0, held=1_500, other=other)

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
