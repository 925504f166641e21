"""How well a physician can be predicted: an upper bound of discordance, whatever the rule."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from intravar.errors import InputError
from intravar.estimators.base import TOO_FEW_PATIENTS, CommonEstimator, Size, Work
from intravar.estimators.evidence import Predictions, weighted_panels, with_n_apart
from intravar.inference.intervals import Interval, TwoHalves
from intravar.learning.boosted_trees import MOST_SEEN
from intravar.observed import Observed, checked_weights, physician_or_groups
from intravar.prediction import held_out
from intravar.prediction.bound import Bound, cell_bound, panel_means
from intravar.prediction.candidates import MOST as MOST_TREES
from intravar.prediction.candidates import ROWS_PER_TREE, log_likelihood
from intravar.prediction.dependence import Dependence
from intravar.prediction.held_out import losses_without
from intravar.prediction.own_rules import MOST_WORDS, in_words, notable
from intravar.prediction.tasks import MOST_COMMON, TIME, View
from intravar.request import checked_seed
from intravar.wording import Sentence

#: What measurement and publication ask of predictions, beside the scores of the method.
__all__ = [
    "MOST_WORDS",
    "TIME",
    "Dependence",
    "Predictability",
    "cell_bound",
    "dependence_between_rows",
    "losses_without",
]

#: Cohorts up to this size are cross-fitted more than once, with other folds.
SMALL_COHORT = 4_000
REPETITIONS = 3


def n_deals(n_patients: int) -> int:
    """Return how many deals are averaged: of few patients it matters into which fold they fall."""
    return REPETITIONS if n_patients <= SMALL_COHORT else 1


def dependence_between_rows(observed: Observed) -> Dependence:
    """Return the result of the test of whether rows belong to the same patients."""
    view: View = observed.learn("view", lambda: View.of(observed))
    return view.dependence


@dataclass(kw_only=True, eq=False, repr=False)
class Predictability(CommonEstimator):
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
    raw_
        The bound before shrinkage.
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
    dependence_
        Result of the test of whether rows belong to the same patients, see
        :class:`intravar.prediction.dependence.Dependence`.
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
    idea = Sentence("bounds discordance by how badly this {decider_own} decisions can be predicted")
    supervised = True
    shares = "prediction"
    accepts_missing = True
    predicts = True
    uses_patients = True
    uses_weights = True
    most = 0.5

    n_folds: int = 5
    n_jobs: int | None = None
    random_state: int = 0

    def fit(
        self,
        X: Any,
        y: Any,
        physician: Any = None,
        *,
        groups: Any = None,
        patient: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Score every physician.

        Parameters
        ----------
        X
            Covariates, one row per visit: a NumPy array, or a pandas, polars or other frame that
            narwhals reads. Values may be missing.
        y
            Decision of every row, 0 or 1.
        physician, groups
            Physician of every row; give it as either.
        patient
            Patient of every row. All rows of one patient are predicted from other patients, and
            patients instead of rows count as independent. By default rows of one physician that
            are close to each other are held out together, and a test looks for repeated patients.
        sample_weight
            How many patients of the population every row stands for: the inverse of its chance of
            being sampled, which may depend on the covariates and on the decision. All results are
            then those of the population. By default all rows count alike.
        """
        checked_seed(self.random_state)
        who = physician_or_groups(physician, groups)
        observed = Observed.of(X, y, who, keep_missing=True, patient=patient)
        if sample_weight is not None:
            weight = checked_weights(sample_weight, observed.n_patients)
            observed = replace(observed, weight=weight).without_equal_weights()
        return self.fit_observed(observed)

    def _learn(self, observed: Observed) -> tuple[held_out.PredictionCommon, held_out.HandedIn]:
        if self.n_folds < 3:
            raise InputError(f"n_folds is {self.n_folds}; at least 3 are needed")
        seeds = [self._seed_of(deal) for deal in range(n_deals(observed.n_patients))]
        return held_out.learn_predictions(observed, self.n_folds, seeds, self.n_jobs or 1)

    def _seed_of(self, deal: int) -> int:
        return self.random_state + 1000 * deal

    def _read(
        self,
        common: held_out.PredictionCommon,
        observed: Observed,
        handed_in: held_out.HandedIn | None,
    ) -> None:
        task = common.view.task(observed, common.n_folds, self.random_state)
        predicted, colleagues = handed_in or common.predict(task)
        bound = common.bound(task, predicted)
        self.weights_ = common.weights.weights(task)
        self.predicted_ = task.as_given(predicted.personal)
        self.pooled_ = task.as_given(predicted.pooled)
        self.differences_ = notable(self.weights_)
        self.words_ = in_words(self.differences_, observed.physicians)
        gain, self.candidates_ = np.zeros(len(task.y)), dict[str, float]()
        if common.deals:
            best, blind = (np.log(np.where(task.y == 1, each, 1 - each)) for each in predicted[:2])
            gain = best - blind
            logits = predicted.by_candidate
            likelihoods = {name: log_likelihood(each, task.y) for name, each in logits.items()}
            self.candidates_ = {
                name: float(np.average(each, weights=task.weight))
                for name, each in {"best": best, **likelihoods}.items()
            }
        self.dependence_ = common.view.dependence
        self._unit = None if task.unit is None else task.as_given(task.unit)
        enough = self.n_patients_ >= 2
        self.reason_ = [None if ok else TOO_FEW_PATIENTS for ok in enough]
        score, *others = (task.by_physician(part) for part in bound)
        self._bound = Bound(np.where(enough, score, np.nan), *others)
        self.score_ = self._bound.score
        self.raw_ = np.where(enough, self._bound.raw, np.nan)
        self.low_, self.high_, _ = self._bound.interval(0.95)
        self.expected_, self.gain_ = (
            np.where(
                enough,
                task.by_physician(panel_means(each, task.code, len(task), task.weight)),
                np.nan,
            )
            for each in (2 * colleagues, gain)
        )
        self.ratio_ = self.score_ / self.expected_

    def two_halves(self, observed: Observed, deal: int) -> TwoHalves | None:
        """See :class:`intravar.estimators.base.Estimator`."""
        return held_out.two_halves(observed, self.n_folds, self._seed_of(deal), self.n_jobs or 1)

    def evidence(self, observed: Observed) -> Predictions:
        """See :class:`intravar.estimators.base.Estimator`."""
        return Predictions(
            self.predicted_,
            self.pooled_,
            self.expected_,
            self.gain_,
            with_n_apart(self.differences_, observed),
            self._bound.raw,
            unit=self._unit,
            **weighted_panels(observed),
        )

    @classmethod
    def work(cls, size: Size) -> Work:
        """See :class:`intravar.estimators.base.Estimator`."""
        n, p = size.n_patients, size.n_covariates
        # Very many columns are passed over, few of them looked at closely.
        examined, passed = min(p, MOST_SEEN), 1e-7 * p
        # The more patients, the more trees, up to a limit.
        trees = min(n, MOST_TREES * ROWS_PER_TREE * 5 // 2) * (5e-8 + 2.9e-9 * examined)
        common = min(n, MOST_COMMON) * (trees + passed)
        personal = n * (4.5e-5 + 1.9e-6 * examined + passed)
        other = 3.2e-5 + 1.25e-6 * examined + passed
        folds = n_deals(n) * (0.4 + common + personal + 4e-3 * len(size.panels))
        # Folds are learned in threads, which wait for each other a little.
        return Work(0.3 + 0.1 * folds, 0.9 * folds, copies=10.0, held=1_500, other=other)

    def _interval(self, level: float) -> Interval:
        return self._bound.interval(level)

    def _profile_columns(self) -> dict[str, Any]:
        columns = {"expected": self.expected_, "ratio": self.ratio_, "gain": self.gain_}
        numbers = {name: pl.Series(values).fill_nan(None) for name, values in columns.items()}
        return {**numbers, "words": pl.Series(self.words_, dtype=pl.String)}

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"candidates": self.candidates_}
