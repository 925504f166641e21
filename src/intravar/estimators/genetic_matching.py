"""Genetic matching as Diamond and Sekhon have it: weights after the whitening, where they count."""

from __future__ import annotations

from typing import Any

import numpy as np

from intravar.estimators.matching import MatchingEstimator
from intravar.estimators.observed import FloatArray, Observed
from intravar.learning.balance_search import BalanceSearch, search_balance
from intravar.matching.comparison import Points
from intravar.matching.distances import covariance, mahalanobis_points


class GeneticMatching(MatchingEstimator):
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
    supervised = True
    shares = "search"

    weights_: FloatArray
    search_: BalanceSearch | None

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

    # Part of the method, as in Genetic Mahalanobis.
    strategy = "nearest"

    def _comparison(self, observed: Observed) -> Points:
        z = observed.standardised
        whitened = mahalanobis_points(z, covariance(z))
        self.search_ = None
        self.weights_ = np.full(whitened.shape[1], 1 / max(whitened.shape[1], 1))
        if self.generations > 0 and whitened.shape[1]:
            self.search_ = search_balance(
                whitened,
                observed.decision,
                balance=z,
                seed=self.random_state,
                generations=self.generations,
                workers=self.n_jobs or 1,
            )
            self.weights_ = self.search_.weights
        return Points(whitened * np.sqrt(self.weights_))

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        if self.search_ is None:
            return {}
        return {
            "weights": self.weights_.tolist(),
            "balance_trace": self.search_.trace.tolist(),
            "evaluations": self.search_.n_evaluations,
        }
