"""Matching by random-forest proximity, and the forest that two methods share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.estimators.base import Size, Work, growing, pairing
from intravar.estimators.matching import Comparison, MatchingEstimator
from intravar.matching.distances import leaf_distances
from intravar.observed import Observed
from intravar.wording import Sentence


class Forest(NamedTuple):
    """What is kept of a forest: Gini importances, all 0 if no tree could split, and leaves.

    Patients stand in rows, trees in columns; a leaf has its number in the tree.
    """

    importances: FloatArray
    leaves: npt.NDArray[np.uint16]


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

    n_trees: int = 300
    max_depth: int = 8
    min_leaf: int = 5
    min_leaf_share: float = 0.01
    random_state: int = 0
    n_jobs: int | None = None

    def grow(self, x: FloatArray, decision: npt.NDArray[np.int8]) -> Forest:
        """Grow the forest that predicts the decision from the covariates as they are.

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
        return Forest(forest.feature_importances_, leaves)

    def _forest(self, observed: Observed) -> Forest:
        leaf = (self.min_leaf, self.min_leaf_share)
        settings = (self.n_trees, self.max_depth, *leaf, self.random_state)
        grow = partial(self.grow, observed.covariates, observed.decision)
        return observed.learn(("forest", *settings), grow)

    @classmethod
    def work(cls, size: Size) -> Work:
        """See :class:`intravar.estimators.base.Estimator`."""
        return Work(pairing(size), growing(size))


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
        forest = self._forest(observed)
        self.importances_ = forest.importances
        return lambda rows: leaf_distances(forest.leaves[rows])

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"importances": dict(zip(self.feature_names_in_, self.importances_, strict=True))}
