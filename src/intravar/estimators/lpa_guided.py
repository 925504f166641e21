"""Matching guided by latent profiles."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from intravar.errors import InputError
from intravar.estimators.matching import Comparison, MatchingEstimator
from intravar.learning.profiles import robustly_scaled, select_profiles
from intravar.matching.distances import hybrid_distances
from intravar.observed import Observed
from intravar.wording import Sentence


@dataclass(kw_only=True, eq=False, repr=False)
class LPAGuided(MatchingEstimator):
    """Pairs patients that belong to the same latent profiles and are clinically close.

    A Gaussian mixture is fitted to the robustly scaled covariates of the cohort. The distance is
    alpha d_latent / max d_latent + (1 - alpha) d_clinical / max d_clinical within each panel,
    d_latent between posterior memberships, d_clinical between scaled covariates.

    Parameters
    ----------
    min_profiles, max_profiles
        Numbers of profiles to try; the lowest BIC among those that converge is kept.
    n_init
        Starts per number of profiles.
    reg_covar
        Added to the diagonal of every covariance.
    alpha
        Share of the latent part.
    caliper
        Quantile of a panel's pairwise distances above which no pair is formed.
    strategy
        How pairs are formed; "algorithm-1" is the paper's.
    random_state
        Seed of the starts.
    n_jobs
        Threads that fit mixtures.

    Attributes
    ----------
    n_profiles_
        Number of profiles kept.
    bic_
        BIC by number of profiles, for those that could be fitted.
    profile_model_
        The mixture.
    memberships_
        Posterior probability of every profile, one row per patient.
    """

    name = "lpa-guided"
    label = "LPA-guided"
    idea = Sentence("pairs {cases} of the same latent profiles that are clinically close")
    supervised = False
    shares = "profiles"

    min_profiles: int = 2
    max_profiles: int = 10
    n_init: int = 10
    reg_covar: float = 1e-6
    alpha: float = 0.5
    random_state: int = 0
    n_jobs: int | None = None

    def _comparison(self, observed: Observed) -> Comparison:
        if not 0.0 <= self.alpha <= 1.0:
            raise InputError(f"alpha is {self.alpha}; it is a share between 0 and 1")
        scaled = robustly_scaled(observed.covariates)
        if observed.n_patients < 2:
            self.n_profiles_, self.bic_ = 0, dict[int, float]()
            self.memberships_ = np.ones((observed.n_patients, 1))
        else:
            self.profile_model_ = select_profiles(
                scaled,
                candidates=range(self.min_profiles, self.max_profiles + 1),
                n_init=self.n_init,
                reg_covar=self.reg_covar,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
            self.n_profiles_ = self.profile_model_.n_profiles
            self.bic_ = self.profile_model_.bic
            self.memberships_ = self.profile_model_.memberships(scaled)
        memberships = self.memberships_
        return lambda rows: hybrid_distances(memberships[rows], scaled[rows], self.alpha)

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"n_profiles": self.n_profiles_, "bic": self.bic_}
