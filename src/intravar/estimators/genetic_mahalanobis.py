"""The paper's Genetic Mahalanobis matching: nearest neighbours with replacement."""

from __future__ import annotations

from intravar.estimators.balance_based import BalanceBased
from intravar.matching.comparison import PanelMahalanobis
from intravar.observed import Observed


class GeneticMahalanobis(BalanceBased):
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
    2013;95:932-945; their own distance is that of :class:`GeneticMatching`.
    """

    name = "genetic-mahalanobis"
    label = "Genetic Mahalanobis"
    idea = "gives each patient the nearest other one, who may serve many; weights cancel"

    def __init__(
        self,
        *,
        search: bool = False,
        generations: int = 10,
        caliper: float = 0.25,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.search = search
        self.generations = generations
        self.caliper = caliper
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _comparison(self, observed: Observed) -> PanelMahalanobis:
        z = observed.standardised
        self._set_weights(observed, z, self.search)
        # The weights cancel in the distance; only a weight of zero takes a covariate out.
        return PanelMahalanobis(z[:, self.weights_ > 0])
