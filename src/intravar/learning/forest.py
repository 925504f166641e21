"""A random forest that predicts the decision: its importances and its leaves define likeness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.learning.rank_forest import Growing, grow_tree
from intravar.learning.split_search import ranked


@dataclass(frozen=True)
class ForestSettings:
    """How the forest is grown; the defaults are the paper's.

    Parameters
    ----------
    n_trees
        Number of trees.
    max_depth
        Depth of a tree.
    min_leaf, min_leaf_share
        A leaf holds at least max(min_leaf, floor(min_leaf_share * n)) patients.
    random_state
        Seed.
    """

    n_trees: int = 300
    max_depth: int = 8
    min_leaf: int = 5
    min_leaf_share: float = 0.01
    random_state: int = 0


@dataclass(frozen=True)
class Forest:
    """What is kept of a forest.

    Parameters
    ----------
    importances
        Normalised Gini importance of every covariate; all 0 if no tree could split.
    leaves
        The leaf of every patient in every tree, one row per patient, numbered from 0 in each tree.
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

    The forest is that of scikit-learn's ``RandomForestClassifier`` with the same seed, to the last
    bit; `rank_forest.py` grows it faster.
    """
    for name in ("n_trees", "max_depth", "min_leaf"):
        if getattr(settings, name) < 1:
            raise InputError(f"{name} is {getattr(settings, name)}; it must be at least 1")
    single = _in_wide_units(x).astype(np.float32)
    ranks = ranked(single)
    growing = Growing(
        settings.max_depth,
        max(settings.min_leaf, int(settings.min_leaf_share * len(x))),
        max(1, int(np.sqrt(x.shape[1]))),
    )
    seeds = np.random.RandomState(settings.random_state).randint(
        np.iinfo(np.int32).max, size=settings.n_trees
    )
    leaves = np.empty((len(x), settings.n_trees), dtype=np.uint16)
    importances = np.zeros((settings.n_trees, x.shape[1]))
    n_leaves = np.zeros(settings.n_trees, dtype=np.int64)

    def grow(trees: IntArray) -> None:
        stream = np.random.RandomState()
        for tree in trees:
            # Both the sample and the draws of columns begin at the tree's seed.
            stream.seed(seeds[tree])
            of_columns = stream.randint(0, np.iinfo(np.int32).max)
            stream.seed(seeds[tree])
            drawn = stream.randint(0, len(x), len(x))
            n_leaves[tree] = grow_tree(
                ranks, decision, drawn, of_columns, growing, leaves[:, tree], importances[tree]
            )

    threads = effective_n_jobs(n_jobs)
    Parallel(n_jobs=threads, backend="threading")(
        delayed(grow)(trees) for trees in np.array_split(np.arange(settings.n_trees), threads)
    )
    return Forest(_normalised(importances[n_leaves > 1], len(x)), leaves)


def _normalised(importances: FloatArray, n_patients: int) -> FloatArray:
    """Normalise every tree's importances and average over trees, in scikit-learn's order."""
    if not len(importances):
        return np.zeros(importances.shape[1])
    trees = importances / n_patients
    for tree in trees:
        total = np.sum(tree)
        if total > 0.0:
            tree /= total
    mean = np.mean(trees, axis=0, dtype=np.float64)
    return np.asarray(mean / np.sum(mean))


def _in_wide_units(x: FloatArray) -> FloatArray:
    """Multiply columns that span less than 1 by a power of two, which rounds nothing.

    scikit-learn's trees take values less than 1e-7 apart for equal, in whatever unit they come.
    """
    span = np.ptp(x, axis=0)
    narrow = (span > 0) & (span < 1)
    power = -np.floor(np.log2(span, where=narrow, out=np.zeros_like(span)))
    return np.ldexp(x, np.where(narrow, power, 0).astype(np.int32)) if narrow.any() else x
