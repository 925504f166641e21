"""How well physicians can be predicted: learned from some in common, read of any.

Every fold has its common part, learned without the patients of that fold. The patients of any
physician are dealt to the same folds; those of fold k are predicted by the common part of fold k
and by what the physician's other patients teach about the physician. Of physicians who were learned
from, what was predicted on the way is handed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray, IntArray
from intravar.observed import Observed
from intravar.prediction.bound import Bound, LossReader, learn_reader, losses_of, panel_means
from intravar.prediction.held_out import CrossFitted, Fold, Shares, held_out, read_folds
from intravar.prediction.own_rules import OwnRules, SharedWeights, learn_own_rules, learn_weights
from intravar.prediction.stacking import log_likelihood
from intravar.prediction.tasks import Task, View
from intravar.prediction.trees import ColleaguesLosses, expected_losses


@dataclass(frozen=True, eq=False)
class Predicted:
    """P(yes) of patients in the order of the panels, and the squared error to expect of colleagues.

    Personal predictions know the physician, pooled ones do not. Candidates have their mean held-out
    log-likelihood; there are none where no rule was looked for.
    """

    personal: FloatArray
    pooled: FloatArray
    by_candidate: dict[str, float]
    colleagues: FloatArray


@dataclass(frozen=True, eq=False)
class PredictionReading:
    """What is said of physicians, in the order in which they were given; patients likewise.

    Per physician: the bound, what colleagues would score, log-likelihood gained. Candidates have
    their held-out log-likelihood per patient; weights stand beside those of the others.
    """

    personal: FloatArray
    pooled: FloatArray
    bound: Bound
    expected: FloatArray
    gain: FloatArray
    candidates: dict[str, float]
    weights: pl.DataFrame


@dataclass(frozen=True, eq=False)
class PredictionCommon:
    """All that was learned in common; nothing in it belongs to a patient.

    By seed of a deal, what was learned without each fold, or no deal where no rule was looked for,
    and shares predict; how losses are read, what own rules leave, what colleagues lose, who weighs
    what.
    """

    view: View
    n_folds: int
    deals: dict[int, tuple[Fold, ...]]
    shares: Shares
    reader: LossReader
    own_rules: OwnRules | None
    losses: ColleaguesLosses
    weights: SharedWeights

    def read(
        self, observed: Observed, seed: int, handed_in: Predicted | None = None
    ) -> PredictionReading:
        """Read physicians by the seed of the first deal, everybody from the own panel alone.

        Predictions of patients who were learned from are handed in.
        """
        # The products are many and small: threads of BLAS would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            task = self.view.task(observed, self.n_folds, seed)
            return self._read(task, observed, handed_in or self._predict(task))

    def _predict(self, task: Task) -> Predicted:
        colleagues = self.losses.expected(task.bins)
        if not self.deals:
            shares = self.shares.predict(task.y, task.code, len(task), counted=False)
            return Predicted(*shares, {}, colleagues)
        scores = [read_folds(folds, task.dealt(seed)) for seed, folds in self.deals.items()]
        return Predicted(*averaged(scores), by_candidate(scores[0], task.y), colleagues)

    def _read(self, task: Task, observed: Observed, said: Predicted) -> PredictionReading:
        y, code = task.y, task.code
        left = None if self.own_rules is None else self.own_rules.left(task, said.pooled)
        gain, candidates = np.zeros(len(y)), said.by_candidate
        if self.deals:
            best, blind = _told(said.personal, y), _told(said.pooled, y)
            gain = best - blind
            candidates = {"best": float(best.mean()), **candidates}
        bound = self.reader.of(losses_of(said.personal, y), code, len(task), left)
        names = [observed.physicians[at] for at in task.physicians]
        return PredictionReading(
            task.as_given(said.personal),
            task.as_given(said.pooled),
            Bound(*(task.by_physician(part) for part in (bound.score, bound.raw, bound.effective))),
            task.by_physician(2 * panel_means(said.colleagues, code, len(task))),
            task.by_physician(panel_means(gain, code, len(task))),
            candidates,
            self.weights.table(task, names),
        )


def learn_predictions(
    observed: Observed, n_folds: int, seeds: Sequence[int], n_threads: int = 1
) -> tuple[PredictionCommon, Predicted]:
    """Learn what physicians have in common; return what is predicted of them as well.

    Where a rule is looked for, several deals, one by each seed, are averaged.
    """
    seed = seeds[0]
    first = held_out(observed, n_folds, seed, n_threads)
    task, y, code, J = first.task, first.task.y, first.task.code, len(first.task)
    with threadpool_limits(limits=1, user_api="blas"):
        found = {seed: first}
        if first.folds:
            dealt = {each: held_out(observed, n_folds, each, n_threads) for each in seeds}
            found = {each: deal for each, deal in dealt.items() if deal.folds}
        personal, pooled = averaged([deal.predicted for deal in found.values()])
        left, own_rules = None, None
        if first.folds:
            own_rules, left = learn_own_rules(task, personal, pooled, seed)
        reader = learn_reader(losses_of(personal, y), code, J, left)
        colleagues, losses = expected_losses(task.bins, (y - personal) ** 2, code, J, seed)
        weights = learn_weights(task, first.view.layout.names)
    shares = Shares(len(y), int(y.sum()))
    deals = {each: deal.folds for each, deal in found.items() if deal.folds}
    common = PredictionCommon(
        first.view, n_folds, deals, shares, reader, own_rules, losses, weights
    )
    return common, Predicted(personal, pooled, by_candidate(first.predicted, y), colleagues)


def averaged(deals: Sequence[CrossFitted]) -> tuple[FloatArray, FloatArray]:
    """Return P(yes), own and pooled, averaged over deals."""
    personal = np.mean([each.personal for each in deals], axis=0)
    return personal, np.mean([each.pooled for each in deals], axis=0)


def by_candidate(scores: CrossFitted, y: IntArray) -> dict[str, float]:
    """Return the mean held-out log-likelihood of every candidate."""
    return {
        name: float(log_likelihood(values, y).mean())
        for name, values in scores.by_candidate.items()
    }


def _told(chance: FloatArray, y: IntArray) -> FloatArray:
    return np.asarray(np.log(np.where(y == 1, chance, 1 - chance)))
