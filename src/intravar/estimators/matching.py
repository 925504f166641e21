"""Matching: pairs within each panel, and the share that is discordant.

What all matching methods share, those that match on the covariates alone, and the baseline that
takes any two patients of a physician, comparable or not.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.estimators.base import TOO_FEW_PATIENTS, Estimator
from intravar.estimators.evidence import PAIR_SCHEMA, Pairs
from intravar.inference.group import any_two
from intravar.inference.intervals import Interval, discordance_interval, pair_interval
from intravar.matching import distances
from intravar.matching.pairing import Status, Strategy, pair_panel
from intravar.observed import Observed
from intravar.wording import Sentence

#: Why a score is undefined.
NO_PAIR = "no pair within the caliper"

#: Gives the distances between the patients of a panel, by their rows.
Comparison = Callable[[IntArray], distances.PanelDistances]


def between_points(points: FloatArray) -> Comparison:
    """Compare patients, one row each, by the Euclidean distance of points."""
    return lambda rows: distances.point_distances(points[rows])


def _whitened(z: FloatArray) -> FloatArray:
    """Return points whose Euclidean distance is the Mahalanobis distance between patients."""
    return distances.mahalanobis_points(z, distances.covariance(z))


@dataclass(kw_only=True, eq=False, repr=False)
class MatchingEstimator(Estimator):
    """Pairs the patients of each physician and scores the share of discordant pairs.

    Parameters
    ----------
    caliper
        Quantile of a panel's pairwise distances above which no pair is formed.
    strategy
        How pairs are formed; "algorithm-1" is the paper's.

    Attributes
    ----------
    pairs_
        One row per pair: physician, row numbers of both patients, distance, discordant or not.
    n_pairs_, caliper_
        Per physician; the caliper is NaN for a panel with fewer than two patients.
    attrition_
        Per physician: patients, and how many of them were paired, outside the caliper, lost in a
        longer cycle of the assignment, or in a panel too small.
    """

    effort = (1, 1, 0)

    caliper: float = 0.25
    strategy: Strategy = "algorithm-1"

    @abstractmethod
    def _comparison(self, observed: Observed) -> Comparison:
        """Learn what is to be learned; return what gives the distances of a panel, by its rows."""

    def _fit(self, observed: Observed) -> None:
        comparison, decision = self._comparison(observed), observed.decision
        pairings = [
            pair_panel(comparison(rows), caliper=self.caliper, strategy=self.strategy)
            for rows in observed.panels
        ]
        self.n_pairs_ = np.array([len(pairing.distances) for pairing in pairings], dtype=np.int64)
        self.caliper_ = np.array([pairing.caliper for pairing in pairings])
        panels = zip(observed.panels, pairings, strict=True)
        first, second = np.concatenate([rows[pairing.pairs] for rows, pairing in panels]).T
        discordant = decision[first] != decision[second]
        # The pairs lie in the order of the physicians.
        self._of_pair = np.repeat(np.arange(len(pairings)), self.n_pairs_)
        self.pairs_ = pl.DataFrame(
            {
                "physician": self._named[self._of_pair],
                "first": first,
                "second": second,
                "distance": np.concatenate([pairing.distances for pairing in pairings]),
                "discordant": discordant,
            }
        )
        counted = np.bincount(self._of_pair, discordant, minlength=len(pairings))
        self._n_discordant = counted.astype(np.int64)
        self.score_ = np.full(len(pairings), np.nan)
        np.divide(counted, self.n_pairs_, out=self.score_, where=self.n_pairs_ > 0)
        self.reason_ = [
            None if pairs else (TOO_FEW_PATIENTS if patients < 2 else NO_PAIR)
            for pairs, patients in zip(self.n_pairs_, self.n_patients_, strict=True)
        ]
        became = {
            status.name.lower(): np.array([pairing.count(status) for pairing in pairings])
            for status in Status
        }
        self.attrition_ = pl.DataFrame(
            {"physician": self._named, "n_patients": self.n_patients_, **became}
        )

    def evidence(self, observed: Observed) -> Pairs:
        """See :class:`intravar.estimators.base.Estimator`."""
        table = self.pairs_.select(pl.Series("panel", self._of_pair), *list(PAIR_SCHEMA)[1:])
        return Pairs(self.n_pairs_, self._n_discordant, table, self.caliper_, self.attrition_)

    def _interval(self, level: float) -> Interval:
        names = ("first", "second", "discordant")
        first, second, discordant = (self.pairs_[name].to_numpy() for name in names)
        n = len(self.physicians_)
        return pair_interval(self._of_pair, first, second, discordant, n, level)

    def _profile_columns(self) -> dict[str, Any]:
        return {
            "n_pairs": self.n_pairs_,
            "n_discordant": self._n_discordant,
            "caliper": pl.Series(self.caliper_).fill_nan(None),
            **self.attrition_.drop("physician", "n_patients").to_dict(),
        }


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

    def _comparison(self, observed: Observed) -> Comparison:
        return between_points(observed.standardised / np.sqrt(observed.standardised.shape[1]))


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

    def _comparison(self, observed: Observed) -> Comparison:
        return between_points(_whitened(observed.standardised))


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
        z, n_columns = observed.standardised, len(observed.names)
        self.search_ = None
        self.weights_ = np.full(n_columns, 1 / max(n_columns, 1))
        if self.search and n_columns:
            # Loaded where it is asked for: few search weights.
            from intravar.learning.balance import search_balance

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
        return lambda rows: distances.point_distances(_whitened(weighed[rows]))

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        if self.search_ is None:
            return {}
        weights = zip(self.feature_names_in_.tolist(), self.weights_.tolist(), strict=True)
        return {
            "weights": dict(weights),
            "balance_trace": self.search_.trace.tolist(),
            "evaluations": self.search_.n_evaluations,
        }


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
        # Loaded where it is asked for: no other method fits mixtures.
        from intravar.learning.profiles import robustly_scaled, select_profiles

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
        return lambda rows: distances.hybrid_distances(memberships[rows], scaled[rows], self.alpha)

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"n_profiles": self.n_profiles_, "bic": self.bic_}


class Rate(Estimator):
    """A baseline that looks at no covariate: 2 r (1 - r) of each physician's rate r of "yes".

    How often two patients of the physician, drawn at random, are decided differently. Any method
    that claims to know more must come closer to the truth than this.

    Attributes
    ----------
    score_
        Pairs of patients decided differently, over all pairs of the physician's patients.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=500, n_physicians=5)
    >>> model = Rate().fit(*cohort.observed())
    >>> bool((model.score_ <= 0.51).all())
    True
    """

    name = "rate"
    label = "Rate alone"
    idea = "2 r (1 - r) of the rate r of yes: a baseline that looks at no covariate"
    supervised = True
    accepts_missing = True
    most = 0.5
    shares = "rate"

    def _fit(self, observed: Observed) -> None:
        self._n_for = observed.counts[1]
        self.score_ = np.minimum(any_two(self.n_patients_, self._n_for), self.most)
        self.reason_ = [TOO_FEW_PATIENTS if n < 2 else None for n in self.n_patients_]

    def _interval(self, level: float) -> Interval:
        low, high, error = discordance_interval(self._n_for, self.n_patients_, level)
        return Interval(np.minimum(low, self.score_), np.maximum(high, self.score_), error)
