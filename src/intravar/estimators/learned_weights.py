"""Matching weighted by the importances of a random forest."""

from __future__ import annotations

from intravar.arrays import FloatArray
from intravar.estimators.forest_based import ForestBased
from intravar.estimators.weighted import WeightedEstimator
from intravar.observed import Observed


class LearnedWeights(ForestBased, WeightedEstimator):
    """Weights each covariate by how much a forest that predicts the decision relies on it.

    d(i, k) = |diag(sqrt(w)) (z_i - z_k)| with w the forest's normalised Gini importances.

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
    weights_
        Weight of every covariate.
    """

    name = "learned-weights"
    label = "Learned Weights"
    idea = "weights covariates by their importance in a forest that predicts the decision"

    def _raw_weights(self, observed: Observed) -> FloatArray:
        return self._forest(observed).importances
