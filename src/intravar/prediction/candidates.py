"""Candidates of one fold: what physicians have in common, and what is predicted with it.

What is common is learned from the patients of the other folds, of a sample of physicians where
there are many. Any panel is then read by it: common trees score the patients, the physician's own
rule and forest are learned from the own patients outside of the fold. Of a patient who was learned
from, the common score is handed in, by trees that had not seen the own decision; that is all that
sets those learned from apart. No result depends on who else is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.learning.boosted_trees import Rates
from intravar.learning.personal_rules import (
    CampRules,
    Hyper,
    PersonalRules,
    fit_rules,
    learn_camps,
    learn_hyper,
)
from intravar.prediction.own_forests import own_forests
from intravar.prediction.stacking import Level, clipped_logit, personal_axes
from intravar.prediction.tasks import Task, telling_columns
from intravar.prediction.trees import CommonTrees, common_trees

POOLED, COLLEAGUES = "pooled", "colleagues"
PERSONAL, OWN = "personal", "own forest"
#: Candidates that do not know who decides.
BLIND = (POOLED, COLLEAGUES)
#: Physicians whose personal rules make up the average colleague.
MOST_COLLEAGUES = 40
#: Numbers of camps that are tried.
CAMPS = (2, 3)
#: With fewer physicians there are no camps.
FEWEST_FOR_CAMPS = 8


@dataclass(frozen=True, eq=False)
class Candidates:
    """What is common to the candidates of one fold.

    Columns that rules weigh; common trees, blind to who decided and weighed by rates; mean and
    covariance of the physicians' parameters; the average colleague; P(yes) of whoever has no
    patients to grow a forest on; camps by name; covariates that forests look at.
    """

    chosen: IntArray
    first: CommonTrees
    second: CommonTrees
    hyper: Hyper
    colleagues: PersonalRules
    share: float
    camps: Mapping[str, CampRules]
    own: IntArray

    def predict(
        self,
        task: Task,
        known: npt.NDArray[np.bool_],
        asked: npt.NDArray[np.bool_],
        score: FloatArray | None = None,
    ) -> Level:
        """Predict the patients of `asked` from those `known` of the same physicians.

        `score` is the common score of all patients, where some of them were learned from.
        """
        y, code, J = task.y, task.code, len(task)
        rows, wanted = np.flatnonzero(known), np.flatnonzero(asked)
        if score is None:
            score = self.second.scores(task.bins)
        Z = np.column_stack([np.ones(len(y)), score, task.columns[:, self.chosen]])
        rules = fit_rules(Z, y, code, rows, J, self.hyper)
        own = own_forests(task.filled, y, code, rows, wanted, J, self.share, self.own)
        logits = {
            POOLED: self.first.scores(task.bins[wanted]),
            COLLEAGUES: clipped_logit(self.colleagues.average(Z, wanted)),
            PERSONAL: clipped_logit(rules.predict(Z, code, wanted)),
            OWN: clipped_logit(own),
        }
        for name, camps in self.camps.items():
            logits[name] = clipped_logit(camps.predict(Z, y, code, rows, wanted, rules))
        panel = np.bincount(code[rows], minlength=J)
        return Level(logits, personal_axes(Z, code, wanted, rules, panel))


def learn_candidates(
    task: Task, known: npt.NDArray[np.bool_], start: Hyper | None = None
) -> tuple[Candidates, FloatArray]:
    """Learn what is common from the patients of `known`; return their common score as well.

    Of very many patients those of a sample of physicians are learned from. The search for what is
    common to rules may begin at a neighbouring fit, which saves rounds.
    """
    y, code, J = task.y, task.code, len(task)
    rows = np.flatnonzero(known & task.sampled)
    chosen = telling_columns(task.columns, y, code, rows, J)
    Z = np.column_stack([np.ones(len(y)), np.zeros(len(y)), task.columns[:, chosen]])
    first = common_trees(task.bins, y, code, rows, task.half)
    Z[:, 1] = first.scores(task.bins, rows, task.half)
    begin = start if start is not None and len(start.mean) == Z.shape[1] + 2 else None
    hyper = learn_hyper(Z, y, code, rows, J, begin)
    # Once more, now that it is known who follows a rule closely and whose decisions say little.
    low, high = expit(fit_rules(Z, y, code, rows, J, hyper).theta[:, -2:]).T
    rates = Rates(high, low)
    second = common_trees(task.bins, y, code, rows, task.half, rates)
    Z[:, 1] = score = second.scores(task.bins, rows, task.half)
    hyper = learn_hyper(Z, y, code, rows, J, hyper)
    rules = fit_rules(Z, y, code, rows, J, hyper)
    present = np.unique(code[rows])
    colleagues = present[:: max(1, len(present) // MOST_COLLEAGUES)]
    camps = {}
    # The same in every fold, though one with few patients may be missing from some.
    if len(np.unique(code[task.sampled])) >= FEWEST_FOR_CAMPS:
        for n_camps in CAMPS:
            camps[f"{n_camps} camps"] = learn_camps(Z, y, code, rows, rules, n_camps)
    candidates = Candidates(
        chosen,
        first,
        second,
        hyper,
        rules.take(colleagues),
        float((y[rows].sum() + 1) / (len(rows) + 2)),
        camps,
        second.worth_a_look(task.owner[chosen], task.filled.shape[1]),
    )
    return candidates, score
