"""Mahalanobis matching."""

from __future__ import annotations

from intravar.estimators.matching import MatchingEstimator
from intravar.matching.comparison import Points
from intravar.matching.distances import covariance, mahalanobis_points
from intravar.observed import Observed
from intravar.wording import Sentence


class Mahalanobis(MatchingEstimator):
    """Pairs patients that are close once the correlation of the covariates is taken out.

    d(i, k)^2 = (z_i - z_k)' S^+ (z_i - z_k), with S the covariance of the standardised covariates
    over the cohort and S^+ its Moore-Penrose inverse.

    Parameters
    ----------
    caliper
        Quantile of a panel's pairwise distances above which no pair is formed.
    strategy
        How pairs are formed; "algorithm-1" is the paper's.
    """

    name = "mahalanobis"
    label = "Mahalanobis"
    idea = Sentence("pairs {cases} close after the covariates' correlation is taken out")
    supervised = False

    def _comparison(self, observed: Observed) -> Points:
        z = observed.standardised
        return Points(mahalanobis_points(z, covariance(z)))
