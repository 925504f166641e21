"""Sums over physicians and score bins, compiled: only bins in which a physician has patients.

With many physicians of few patients nearly all bins of a physician are empty, and arrays of
physician x shift x bin would hold little but zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.arrays import FloatArray, IntArray

#: Up to so many decisions of a bin, probabilities are multiplied before a logarithm is taken.
MULTIPLIED = 8
#: Products are turned into logarithms below this.
FLUSH = 1e-12


class Cells(NamedTuple):
    """Bins with patients, physician after physician; a tuple, because compiled code takes it.

    Attributes
    ----------
    first
        Where the bins of a physician begin; one entry more than there are physicians.
    bin
        The bin.
    yes, no
        Decisions for and against.
    """

    first: IntArray
    bin: IntArray
    yes: IntArray
    no: IntArray


def occupied(yes: FloatArray, no: FloatArray) -> Cells:
    """Return the bins with patients, given counts by physician and bin.

    Examples
    --------
    >>> occupied(np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 0.0]])).bin
    array([1, 0])
    """
    physician, bins = np.nonzero(yes + no)
    sizes = np.bincount(physician, minlength=len(yes))
    return Cells(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        bins.astype(np.int64),
        yes[physician, bins].astype(np.int64),
        no[physician, bins].astype(np.int64),
    )


@njit(cache=True, nogil=True)
def log_likelihoods(cells, g, high, low):  # type: ignore[no-untyped-def]
    """Return the log-likelihood of every physician's decisions under every shift.

    Parameters
    ----------
    cells
        Decisions by bin.
    g
        Probability of being eligible, shift x bin.
    high, low
        Rates, physician x shift; neither may lie at 0 or 1 but for 1e-6.
    """
    out = np.empty(high.shape)
    for j in range(high.shape[0]):
        for u in range(high.shape[1]):
            contrast = high[j, u] - low[j, u]
            total, product = 0.0, 1.0
            for c in range(cells.first[j], cells.first[j + 1]):
                q = low[j, u] + contrast * g[u, cells.bin[c]]
                yes, no = cells.yes[c], cells.no[c]
                if yes + no > MULTIPLIED:
                    total += yes * np.log(q) + no * np.log1p(-q)
                    continue
                for _ in range(yes):
                    product *= q
                for _ in range(no):
                    product *= 1.0 - q
                if product < FLUSH:
                    total += np.log(product)
                    product = 1.0
            out[j, u] = total + np.log(product)
    return out


@njit(cache=True, nogil=True)
def expected_eligible(cells, g, high, low):  # type: ignore[no-untyped-def]
    """Return the expected decisions for, and patients, among the eligible, physician x shift."""
    k, n = np.zeros(high.shape), np.zeros(high.shape)
    for j in range(high.shape[0]):
        for u in range(high.shape[1]):
            contrast = high[j, u] - low[j, u]
            for c in range(cells.first[j], cells.first[j + 1]):
                here = g[u, cells.bin[c]]
                q = low[j, u] + contrast * here
                given = cells.yes[c] * here * high[j, u] / q
                k[j, u] += given
                n[j, u] += given + cells.no[c] * here * (1.0 - high[j, u]) / (1.0 - q)
    return k, n


@njit(cache=True, nogil=True)
def map_slopes(cells, g, high, low, weight):  # type: ignore[no-untyped-def]
    """Return slope and information of the log-likelihood in g, shift x bin, over physicians.

    `weight` says how likely a shift is, physician x shift.
    """
    slope, bend = np.zeros(g.shape), np.zeros(g.shape)
    for j in range(high.shape[0]):
        for u in range(high.shape[1]):
            contrast = high[j, u] - low[j, u]
            w = weight[j, u] * contrast
            for c in range(cells.first[j], cells.first[j + 1]):
                b = cells.bin[c]
                q = low[j, u] + contrast * g[u, b]
                yes, no = cells.yes[c], cells.no[c]
                slope[u, b] += w * (yes / q - no / (1.0 - q))
                bend[u, b] += w * contrast * (yes + no) / (q * (1.0 - q))
    return slope, bend
