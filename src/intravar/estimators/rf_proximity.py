"""Matching by random-forest proximity."""

from __future__ import annotations

from typing import Any

from intravar.arrays import FloatArray
from intravar.estimators.forest_based import ForestBased
from intravar.matching.comparison import SharedLeaves
from intravar.observed import Observed
from intravar.wording import Sentence


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

    importances_: FloatArray

    def _comparison(self, observed: Observed) -> SharedLeaves:
        forest = self._forest(observed)
        self.importances_ = forest.importances
        return SharedLeaves(forest.leaves)

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"importances": dict(zip(self.feature_names_in_, self.importances_, strict=True))}
