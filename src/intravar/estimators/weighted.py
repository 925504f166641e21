"""Matching on covariates that are weighted by what they tell about the decision."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_selection import mutual_info_classif

from intravar.arrays import FloatArray
from intravar.estimators.matching import Comparison, MatchingEstimator, between_points
from intravar.estimators.rf_proximity import ForestBased
from intravar.observed import Observed


class WeightedEstimator(MatchingEstimator):
    """Pairs patients close on the covariates that matter for the decision.

    d(i, k) = |diag(sqrt(w)) (z_i - z_k)| with weights w that sum to 1.

    Attributes
    ----------
    weights_
        Weight of every covariate.
    """

    @abstractmethod
    def _raw_weights(self, observed: Observed) -> FloatArray:
        """Return weights that need not sum to 1."""

    def _comparison(self, observed: Observed) -> Comparison:
        raw = self._raw_weights(observed)
        total = raw.sum()
        if total <= 0:
            warnings.warn(
                f"{self.label}: no covariate tells anything about the decision; "
                "all get the same weight",
                stacklevel=4,
            )
            raw, total = np.ones_like(raw), float(len(raw))
        self.weights_ = raw / total
        return between_points(observed.standardised * np.sqrt(self.weights_))

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"weights": dict(zip(self.feature_names_in_, self.weights_, strict=True))}


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


@dataclass(kw_only=True, eq=False, repr=False)
class MutualInformation(WeightedEstimator):
    """Weights each covariate by its mutual information with the decision.

    Parameters
    ----------
    n_neighbors
        Neighbours of the k-nearest-neighbour estimate.
    caliper
        Quantile of a panel's pairwise distances above which no pair is formed.
    strategy
        How pairs are formed; "algorithm-1" is the paper's.
    random_state
        Seed of the small noise by which the estimate tells equal values apart.
    """

    name = "mutual-information"
    label = "Mutual Information"
    idea = "weights covariates by their mutual information with the decision"
    supervised = True

    n_neighbors: int = 3
    random_state: int = 0

    def _raw_weights(self, observed: Observed) -> FloatArray:
        """Return the k-nearest-neighbour estimate of I(z_l; y) for every covariate, in nats.

        Kraskov, Stögbauer and Grassberger (2004), as scikit-learn has it; all zero when the cohort
        is too small for `n_neighbors` neighbours or everyone got the same decision.

        One process: a second one takes longer to start than the estimate takes.
        """
        z, decision = observed.standardised, observed.decision
        _, counts = np.unique(decision, return_counts=True)
        if len(counts) < 2 or counts.max() < 2 or len(z) <= self.n_neighbors:
            return np.zeros(z.shape[1])
        how = {"n_neighbors": self.n_neighbors, "random_state": self.random_state}
        return np.asarray(mutual_info_classif(z, decision, discrete_features=False, **how))
