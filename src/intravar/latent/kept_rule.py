"""The shared rule as it is kept: what it says of patients that nobody learned from.

Every fold has a rule of its own, learned without the fold's patients. Physicians who were not
fitted taught none of them, so their patients are given the mean over the folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.latent.rule_learners import KeptRule


@dataclass(frozen=True)
class FoldRule:
    """What the patients of one fold are given: a calibrated sum of learned rules.

    Attributes
    ----------
    intercept
        Of the sum.
    parts
        Learned rules and the weight of each; a rule is None if its learner keeps none.
    """

    intercept: float
    parts: tuple[tuple[KeptRule | None, float], ...]


@dataclass(frozen=True)
class KeptSharedRule:
    """The rules of all folds together."""

    folds: tuple[FoldRule, ...]

    def logit(self, X: FloatArray) -> FloatArray:
        """Return the mean logit of g, every patient's from their own covariates alone."""
        total = np.zeros(len(X))
        seen: dict[int, object] = {}
        for fold in self.folds:
            total += fold.intercept
            for rule, slope in fold.parts:
                if rule is None:
                    raise InputError(
                        "a learner of LatentRule keeps no rule for other physicians; give "
                        "LearnedRule its `kept`, or leave `learners` as they are"
                    )
                at = id(rule.view)
                if at not in seen:
                    seen[at] = rule.view.look(X)
                total += slope * rule.logit(seen[at])
        return np.asarray(total / len(self.folds))
