"""Matching on what the decisions teach: leaves of a forest, or weights of the covariates."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import mutual_info_classif

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.estimators.matching import Comparison, MatchingEstimator, between_points
from intravar.matching.distances import leaf_distances
from intravar.observed import Observed
from intravar.wording import Sentence

#: What is kept of a forest: Gini importances, all 0 if no tree could split, and the number of each
#: patient's leaf, trees in columns.
Forest = tuple[FloatArray, npt.NDArray[np.uint16]]


def _in_wide_units(x: FloatArray) -> FloatArray:
    """Multiply columns that span less than 1 by a power of two, which rounds nothing.

    scikit-learn's trees take values less than 1e-7 apart for equal, in whatever unit they come.
    """
    span = np.ptp(x, axis=0)
    narrow = (span > 0) & (span < 1)
    power = -np.floor(np.log2(span, where=narrow, out=np.zeros_like(span)))
    return np.ldexp(x, np.where(narrow, power, 0).astype(np.int32)) if narrow.any() else x


@dataclass(kw_only=True, eq=False, repr=False)
class ForestBased(MatchingEstimator):
    """Learns from a forest that predicts the decision; see :class:`RFProximity`."""

    supervised = True
    shares = "forest"
    effort = (0, 1, 1)

    n_trees: int = 300
    max_depth: int = 8
    min_leaf: int = 5
    min_leaf_share: float = 0.01
    random_state: int = 0
    n_jobs: int | None = None

    def grow(self, x: FloatArray, decision: npt.NDArray[np.int8]) -> Forest:
        """Return importances and leaves of a forest that predicts the decision.

        The paper learns weights from a forest on standardised covariates and proximities from one
        on raw covariates. Trees see only the order of values, so both split the patients they are
        grown on alike and have the same importances. They differ in a detail: a patient left out of
        a tree's bootstrap sample may lie exactly on a threshold, a whole number half-way between
        two others, and rounding then decides on standardised values. The forest on raw covariates
        therefore serves both.
        """
        for name in ("n_trees", "max_depth", "min_leaf"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        single = _in_wide_units(x).astype(np.float32)
        forest = RandomForestClassifier(
            n_estimators=self.n_trees,
            max_depth=self.max_depth,
            min_samples_leaf=max(self.min_leaf, int(self.min_leaf_share * len(x))),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        ).fit(single, decision)
        # Tree by tree: scikit-learn's own table of all leaves takes four times the memory.
        leaves = np.empty((len(x), self.n_trees), dtype=np.uint16)
        for number, tree in enumerate(forest.estimators_):
            leaves[:, number] = tree.tree_.apply(single)
        return forest.feature_importances_, leaves

    def _forest(self, observed: Observed) -> Forest:
        forest = (self.n_trees, self.max_depth, self.min_leaf, self.min_leaf_share)
        key = ("forest", *forest, self.random_state)
        return observed.learn(key, lambda: self.grow(observed.covariates, observed.decision))


class RFProximity(ForestBased):
    """Pairs patients that end in the same leaves of a forest that predicts the decision.

    d(i, k) = 1 - (share of trees in which i and k end in the same leaf).

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
    importances_
        Gini importance of every covariate in the forest.
    """

    name = "rf-proximity"
    label = "RF Proximity"
    idea = Sentence(
        "pairs {cases} that end in the same leaves of a forest that predicts the decision"
    )

    def _comparison(self, observed: Observed) -> Comparison:
        self.importances_, leaves = self._forest(observed)
        return lambda rows: leaf_distances(leaves[rows])

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"importances": dict(zip(self.feature_names_in_, self.importances_, strict=True))}


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
        if raw.sum() <= 0:
            warnings.warn(
                f"{self.label}: no covariate tells anything about the decision; "
                "all get the same weight",
                stacklevel=4,
            )
            raw = np.ones_like(raw)
        self.weights_ = raw / raw.sum()
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
        return self._forest(observed)[0]


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
