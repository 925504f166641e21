"""Genetic matching as Diamond and Sekhon have it: weights after the whitening, where they count."""

from __future__ import annotations

import numpy as np

from intravar.estimators.balance_based import BalanceBased
from intravar.matching.comparison import Points
from intravar.matching.distances import covariance, mahalanobis_points
from intravar.observed import Observed


class GeneticMatching(BalanceBased):
    """Gives each patient its nearest other patient under weights searched for balance.

    d(i, k)^2 = (z_i - z_k)' (S^-1/2)' W S^-1/2 (z_i - z_k): the standardised covariates are
    whitened by their covariance S over the cohort, then weighted. The weights are those under which
    treated patients and their nearest controls differ least.

    Parameters
    ----------
    generations
        Generations of the search; 0 for equal weights without a search.
    caliper
        Quantile of a panel's pairwise distances above which a patient is left out.
    random_state
        Seed of the search.
    n_jobs
        Threads of the search.

    Attributes
    ----------
    weights_
        Weights of the whitened directions.
    search_
        What the search found, its balance by generation among it; None without a search.

    References
    ----------
    Diamond and Sekhon, Genetic matching for estimating causal effects, Rev Econ Stat
    2013;95:932-945.
    """

    name = "genetic-matching"
    label = "Genetic Matching"
    idea = "nearest other patient under whitened covariates weighted for balance"
    shares = "search"

    def __init__(
        self,
        *,
        generations: int = 10,
        caliper: float = 0.25,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.generations = generations
        self.caliper = caliper
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _comparison(self, observed: Observed) -> Points:
        whitened = mahalanobis_points(observed.standardised, covariance(observed.standardised))
        self._set_weights(observed, whitened, self.generations > 0)
        return Points(whitened * np.sqrt(self.weights_))

    def _named_weights(self) -> dict[str, float]:
        # Whitened directions have no names of their own.
        return {f"direction {at + 1}": float(w) for at, w in enumerate(self.weights_)}
