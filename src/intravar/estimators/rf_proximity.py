"""Matching by random-forest proximity, and the forest that two methods share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from intravar.estimators.base import Size, Work, growing, pairing
from intravar.estimators.matching import Comparison, MatchingEstimator
from intravar.learning.forest import Forest, ForestSettings, grow_forest
from intravar.matching.distances import LeafDistances
from intravar.observed import Observed
from intravar.wording import Sentence


@dataclass(kw_only=True, eq=False, repr=False)
class ForestBased(MatchingEstimator):
    """Learns from a forest that predicts the decision; see :class:`RFProximity`."""

    supervised = True
    shares = "forest"

    n_trees: int = 300
    max_depth: int = 8
    min_leaf: int = 5
    min_leaf_share: float = 0.01
    random_state: int = 0
    n_jobs: int | None = None

    def _forest(self, observed: Observed) -> Forest:
        settings = ForestSettings(
            self.n_trees, self.max_depth, self.min_leaf, self.min_leaf_share, self.random_state
        )
        return observed.learn(
            settings,
            lambda: grow_forest(observed.covariates, observed.decision, settings, self.n_jobs),
        )

    @classmethod
    def work(cls, size: Size) -> Work:
        """See :class:`intravar.estimators.base.Estimator`."""
        return Work(pairing(size), growing(size))


class RFProximity(ForestBased):
    """Pairs patients that end in the same leaves of a forest that predicts the decision.

    d(i, k) = 1 - (share of trees in which i and k end in the same leaf).

    Parameters
    ----------
    n_trees, max_depth, min_leaf, min_leaf_share
        The forest; a leaf holds at least max(min_leaf, floor(min_leaf_share * n)) patients.
    caliper
        Quantile of a panel's pairwise distances above which no pair is formed.
    strategy
        How pairs are formed; "algorithm-1" is the paper's.
    random_state
        Seed of the forest.
    n_jobs
        Threads that grow the forest.

    Attributes
    ----------
    importances_
        Gini importance of every covariate in the forest.
    """

    name = "rf-proximity"
    label = "RF Proximity"
    idea = Sentence(
        "pairs {cases} that end in the same leaves of a forest that predicts the decision"
    )

    def _comparison(self, observed: Observed) -> Comparison:
        forest = self._forest(observed)
        self.importances_ = forest.importances
        return lambda rows: LeafDistances(forest.leaves[rows])

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"importances": dict(zip(self.feature_names_in_, self.importances_, strict=True))}
