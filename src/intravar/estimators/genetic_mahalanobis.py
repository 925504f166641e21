"""The paper's Genetic Mahalanobis matching: nearest neighbours with replacement."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from intravar.arrays import IntArray
from intravar.estimators.matching import Comparison, MatchingEstimator
from intravar.learning.balance import search_balance
from intravar.matching import distances
from intravar.matching.pairing import Strategy
from intravar.observed import Observed
from intravar.wording import Sentence


@dataclass(kw_only=True, eq=False, repr=False)
class GeneticMahalanobis(MatchingEstimator):
    """Gives each patient its nearest other patient, who may serve many.

    d(i, k)^2 = (v_i - v_k)' S_v^+ (v_i - v_k) with v = diag(sqrt(w)) z and S_v the covariance of v
    in the panel. The covariance takes the weights w out again: with D = diag(sqrt(w)),
    (D x)' (D S D)^-1 (D x) = x' S^-1 x. The score therefore does not depend on the weights, and
    searching them, which takes nearly all of the method's time, is left to those who ask for it:
    the balance that the search reaches is a diagnostic.

    Parameters
    ----------
    search
        Whether to search the weights by differential evolution.
    generations
        Generations of the search.
    caliper
        Quantile of a panel's pairwise distances above which a patient is left out.
    random_state
        Seed of the search.
    n_jobs
        Threads of the search.

    Attributes
    ----------
    weights_
        Weights of the covariates; all equal without a search.
    search_
        What the search found, its balance by generation among it; None without a search.

    References
    ----------
    Diamond and Sekhon, Genetic matching for estimating causal effects, Rev Econ Stat
    2013;95:932-945.
    """

    name = "genetic-mahalanobis"
    label = "Genetic Mahalanobis"
    idea = Sentence("gives each {case} the nearest other one, who may serve many; weights cancel")
    supervised = True
    # The search pairs about thirty times.
    effort = (0, 30, 1)
    # Part of the method, not a choice: it pairs with replacement.
    strategy: Strategy = field(default="nearest", init=False)
    search: bool = False
    generations: int = 10
    random_state: int = 0
    n_jobs: int | None = None

    def _comparison(self, observed: Observed) -> Comparison:
        z = observed.standardised
        n_columns = z.shape[1]
        self.search_ = None
        self.weights_ = np.full(n_columns, 1 / max(n_columns, 1))
        if self.search and n_columns:
            self.search_ = search_balance(
                z,
                observed.decision,
                seed=self.random_state,
                generations=self.generations,
                workers=self.n_jobs or 1,
            )
            self.weights_ = self.search_.weights
        # The weights cancel in the distance; only a weight of zero takes a covariate out.
        weighed = z[:, self.weights_ > 0]

        def whitened(rows: IntArray) -> distances.PanelDistances:
            panel = weighed[rows]
            return distances.point_distances(
                distances.mahalanobis_points(panel, distances.covariance(panel))
            )

        return whitened

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        if self.search_ is None:
            return {}
        names = self.feature_names_in_.tolist()
        return {
            "weights": dict(zip(names, self.weights_.tolist(), strict=True)),
            "balance_trace": self.search_.trace.tolist(),
            "evaluations": self.search_.n_evaluations,
        }
