"""Euclidean matching on standardised covariates."""

from __future__ import annotations

import numpy as np

from intravar.estimators.matching import MatchingEstimator
from intravar.matching.comparison import Points
from intravar.observed import Observed
from intravar.wording import Sentence


class Euclidean(MatchingEstimator):
    """Pairs patients that are close on all standardised covariates alike.

    d(i, k) = |z_i - z_k| / sqrt(p), with z standardised over the cohort and p covariates.

    Parameters
    ----------
    caliper
        Quantile of a panel's pairwise distances above which no pair is formed.
    strategy
        How pairs are formed; "algorithm-1" is the paper's.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=500, n_physicians=5)
    >>> model = intravar.estimators.Euclidean().fit(*cohort.observed())
    >>> model.profile_.columns[:5]
    ['physician', 'n_patients', 'score', 'score_low', 'score_high']
    """

    name = "euclidean"
    label = "Euclidean"
    idea = Sentence("pairs {cases} close on all standardised covariates alike")
    supervised = False

    def _comparison(self, observed: Observed) -> Points:
        return Points(observed.standardised / np.sqrt(observed.standardised.shape[1]))
