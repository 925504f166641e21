"""A forest of one's own for every physician: any rule, however odd, if the panel is large."""

from __future__ import annotations

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.own.forest_kernel import grow_forest
from intravar.prediction.own.rules import sorted_panels

#: Trees per physician; a larger panel needs fewer, its leaves are larger.
MOST_TREES, LEAST_TREES = 50, 20
ROWS_PER_TREE = 20_000
LEAST_LEAF = 4
#: Below every number: missing values go with the smallest.
MISSING = -1e30
SEED = np.uint64(0x9E3779B97F4A7C15)


def filled(covariates: FloatArray) -> FloatArray:
    """Return the covariates with missing values below all others."""
    gaps = np.isnan(covariates)
    # A large table is not held twice for nothing.
    return np.where(gaps, MISSING, covariates) if gaps.any() else covariates


def own_forests(
    covariates: FloatArray,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    asked: IntArray,
    n_physicians: int,
    share: float,
    looked_at: IntArray | None = None,
) -> FloatArray:
    """Return P(yes) of the rows asked about, by a forest grown on the same physician's rows.

    Parameters
    ----------
    covariates, y, code
        Covariates without gaps, decision and physician of every patient.
    rows, asked
        Patients to learn from, and to predict.
    n_physicians
        Number of physicians.
    share
        P(yes) of a physician without patients to learn from.
    looked_at
        Covariates that count; by default all of them.
    """
    if looked_at is not None and len(looked_at) < covariates.shape[1]:
        covariates = np.ascontiguousarray(covariates[:, looked_at])
    order, begin = sorted_panels(code, rows, n_physicians)
    wanted, first = sorted_panels(code, asked, n_physicians)
    by_physician = np.full(len(asked), share)
    for j in range(n_physicians):
        grown_on = order[begin[j] : begin[j + 1]]
        own = slice(first[j], first[j + 1])
        if len(grown_on) and own.stop > own.start:
            trees = min(max(ROWS_PER_TREE // len(grown_on), LEAST_TREES), MOST_TREES)
            known, given = covariates[grown_on], covariates[wanted[own]]
            shares = grow_forest(known, y[grown_on], given, trees, LEAST_LEAF, SEED)
            by_physician[own] = shares / trees
    found = np.empty(len(asked))
    found[np.argsort(code[asked], kind="stable")] = by_physician
    return found
