"""A random forest that predicts the decision: its importances and its leaves define likeness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier

from intravar.arrays import FloatArray
from intravar.errors import InputError


@dataclass(frozen=True)
class ForestSettings:
    """How the forest is grown; the defaults are the paper's.

    A leaf holds at least max(min_leaf, floor(min_leaf_share * n)) patients.
    """

    n_trees: int = 300
    max_depth: int = 8
    min_leaf: int = 5
    min_leaf_share: float = 0.01
    random_state: int = 0


@dataclass(frozen=True)
class Forest:
    """What is kept of a forest: Gini importances, all 0 if no tree could split, and leaves.

    Patients stand in rows, trees in columns; a leaf has its number in the tree.
    """

    importances: FloatArray
    leaves: npt.NDArray[np.uint16]


def grow_forest(
    x: FloatArray,
    decision: npt.NDArray[np.int8],
    settings: ForestSettings,
    n_jobs: int | None = None,
) -> Forest:
    """Grow the forest that predicts the decision from the covariates as they are.

    The paper learns weights from a forest on standardised covariates and proximities from one on
    raw covariates. Trees see only the order of values, so both split the patients they are grown on
    alike and have the same importances. They differ in a detail: a patient left out of a tree's
    bootstrap sample may lie exactly on a threshold, a whole number half-way between two others,
    and rounding then decides on standardised values. The forest on raw covariates therefore serves
    both.
    """
    for name in ("n_trees", "max_depth", "min_leaf"):
        if getattr(settings, name) < 1:
            raise InputError(f"{name} is {getattr(settings, name)}; it must be at least 1")
    single = _in_wide_units(x).astype(np.float32)
    forest = RandomForestClassifier(
        n_estimators=settings.n_trees,
        max_depth=settings.max_depth,
        min_samples_leaf=max(settings.min_leaf, int(settings.min_leaf_share * len(x))),
        random_state=settings.random_state,
        n_jobs=n_jobs,
    ).fit(single, decision)
    # Tree by tree: scikit-learn's own table of all leaves takes four times the memory.
    leaves = np.empty((len(x), settings.n_trees), dtype=np.uint16)
    for number, tree in enumerate(forest.estimators_):
        leaves[:, number] = tree.tree_.apply(single)
    return Forest(forest.feature_importances_, leaves)


def _in_wide_units(x: FloatArray) -> FloatArray:
    """Multiply columns that span less than 1 by a power of two, which rounds nothing.

    scikit-learn's trees take values less than 1e-7 apart for equal, in whatever unit they come.
    """
    span = np.ptp(x, axis=0)
    narrow = (span > 0) & (span < 1)
    power = -np.floor(np.log2(span, where=narrow, out=np.zeros_like(span)))
    return np.ldexp(x, np.where(narrow, power, 0).astype(np.int32)) if narrow.any() else x
