"""How well physicians can be predicted: learned from some in common, read of any.

Every fold has its common part, learned without the patients of that fold. The patients of any
physician are dealt to the same folds; those of fold k are predicted by the common part of fold k
and by what the physician's other patients teach about the physician. Of physicians who were learned
from, what was predicted on the way is handed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray
from intravar.learning.boosted_trees import Trees
from intravar.observed import Observed
from intravar.prediction.bound import Bound, LossReader, learn_reader, losses_of
from intravar.prediction.held_out import Fold, Predicted, held_out, predict_shares, read_folds
from intravar.prediction.own_rules import OwnRules, learn_own_rules, learn_weights
from intravar.prediction.tasks import Task, View
from intravar.prediction.trees import colleagues_loss, expected_losses

#: Handed in of patients who were learned from: their predictions, and the loss of colleagues.
HandedIn: TypeAlias = tuple[Predicted, FloatArray]


@dataclass(frozen=True, eq=False)
class PredictionCommon:
    """All that was learned in common; nothing in it belongs to a patient.

    By seed of a deal, what was learned without each fold, or no deal where no rule was looked for;
    patients learned from and those decided for, whose shares predict then; how losses are read,
    what own rules leave, trees of what colleagues lose, who weighs what.
    """

    view: View
    n_folds: int
    deals: dict[int, tuple[Fold, ...]]
    n_learned: tuple[int, int]
    reader: LossReader
    own_rules: OwnRules | None
    losses: list[Trees]
    weights: OwnRules

    def predict(self, task: Task) -> HandedIn:
        """Predict patients of physicians who were not learned from."""
        colleagues = colleagues_loss(self.losses, task.bins)
        if not self.deals:
            return predict_shares(task.y, task.code, len(task), *self.n_learned), colleagues
        deals = [read_folds(folds, task.dealt(seed)) for seed, folds in self.deals.items()]
        return averaged(deals), colleagues

    def bound(self, task: Task, predicted: Predicted) -> Bound:
        """Return the bound of every panel, each from the own patients alone."""
        left = None if self.own_rules is None else self.own_rules.left(task, predicted.pooled)
        return self.reader.of(losses_of(predicted.personal, task.y), task.code, len(task), left)


def learn_predictions(
    observed: Observed, n_folds: int, seeds: Sequence[int], n_threads: int = 1
) -> tuple[PredictionCommon, HandedIn]:
    """Learn what physicians have in common; return what is predicted of them as well.

    Where a rule is looked for, several deals, one by each seed, are averaged.
    """
    seed = seeds[0]
    first = held_out(observed, n_folds, seed, n_threads)
    task, y, code, J = first.task, first.task.y, first.task.code, len(first.task)
    with threadpool_limits(limits=1, user_api="blas"):
        deals = [first]
        if first.folds:
            deals = [held_out(observed, n_folds, each, n_threads) for each in seeds]
            deals = [deal for deal in deals if deal.folds]
        predicted = averaged([deal.predicted for deal in deals])
        left, own_rules = None, None
        if first.folds:
            own_rules, left = learn_own_rules(task, predicted.personal, predicted.pooled, seed)
        reader = learn_reader(losses_of(predicted.personal, y), code, J, left)
        loss = (y - predicted.personal) ** 2
        colleagues, losses = expected_losses(task.bins, loss, code, J, seed)
        weights = learn_weights(task)
    folds = {deal.task.seed: deal.folds for deal in deals if deal.folds}
    counts = (len(y), int(y.sum()))
    common = PredictionCommon(
        first.view, n_folds, folds, counts, reader, own_rules, losses, weights
    )
    return common, (predicted, colleagues)


def averaged(deals: Sequence[Predicted]) -> Predicted:
    """Return P(yes) averaged over deals; candidates are those of the first."""
    personal = np.mean([deal.personal for deal in deals], axis=0)
    pooled = np.mean([deal.pooled for deal in deals], axis=0)
    return Predicted(personal, pooled, deals[0].by_candidate)
