"""Matching weighted by mutual information with the decision."""

from __future__ import annotations

from intravar.arrays import FloatArray
from intravar.estimators.weighted import WeightedEstimator
from intravar.learning.information import mutual_information
from intravar.matching.comparison import Strategy
from intravar.observed import Observed


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

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        caliper: float = 0.25,
        strategy: Strategy = "algorithm-1",
        random_state: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.caliper = caliper
        self.strategy = strategy
        self.random_state = random_state

    def _raw_weights(self, observed: Observed) -> FloatArray:
        return mutual_information(
            observed.standardised,
            observed.decision,
            n_neighbors=self.n_neighbors,
            random_state=self.random_state,
        )
