"""Panels dealt to folds by what they hold, one panel at a time, compiled.

A row is known by the places of its values within the panel and by the bins they fall into: its
unit, its position and the physician's name say nothing, nor do other panels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _mix(number):  # type: ignore[no-untyped-def]
    """Scatter the bits (the finaliser of splitmix64)."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@njit(cache=True, nogil=True)
def panel_patterns(covariates, bins, order, begin):  # type: ignore[no-untyped-def]
    """Return a number per row; rows of a panel that are alike share it.

    `covariates` has no gaps; `order` lists the rows panel by panel, `begin` where each begins.
    """
    n, p = covariates.shape
    pattern = np.zeros(n, np.uint64)
    for j in range(begin.size - 1):
        rows = order[begin[j] : begin[j + 1]]
        for c in range(p):
            values = np.empty(rows.size)
            for t in range(rows.size):
                values[t] = covariates[rows[t], c]
            place = np.argsort(values)
            rank = np.uint64(0)
            for s in range(place.size):
                t = place[s]
                if s > 0 and values[t] != values[place[s - 1]]:
                    rank += _ONE
                i = rows[t]
                here = rank * np.uint64(64) + np.uint64(bins[i, c])
                pattern[i] = _mix(pattern[i] * _ODD + here + _ONE)
    return pattern


@njit(cache=True, nogil=True)
def deal_panels(pattern, y, begin, n_folds, key, copies, rich):  # type: ignore[no-untyped-def]
    """Return the fold of every row; rows are sorted by panel, pattern and decision.

    Where `copies` is true, rows of a panel that are alike stay together if the panel has at least
    `rich` different rows per row.
    """
    fold = np.zeros(pattern.size, np.int64)
    key = _mix(key * _ODD + _ONE)
    for j in range(begin.size - 1):
        first, end = begin[j], begin[j + 1]
        size = end - first
        different, panel = 0, key
        for i in range(first, end):
            if i == first or pattern[i] != pattern[i - 1]:
                different += 1
            # A sum does not depend on the order.
            panel += _mix(pattern[i] ^ ((np.uint64(y[i]) + _ONE) * _ODD))
        together = copies and different >= rich * size
        unit, chance = np.zeros(size, np.int64), np.zeros(size, np.uint64)
        units, again = 0, np.uint64(0)
        for i in range(first, end):
            alike = i > first and pattern[i] == pattern[i - 1]
            if together and alike:
                unit[i - first] = units - 1
                continue
            again = again + _ONE if alike and y[i] == y[i - 1] else np.uint64(0)
            told = np.uint64(0)
            if not together:
                told = np.uint64(2) * again + np.uint64(y[i]) + _ONE
            chance[units] = _mix(pattern[i] ^ _mix(key + told * _ODD))
            unit[i - first] = units
            units += 1
        turn = np.zeros(units, np.int64)
        start = np.int64(_mix(panel) % np.uint64(n_folds))
        for place, which in enumerate(np.argsort(chance[:units])):
            turn[which] = (place + start) % n_folds
        for i in range(first, end):
            fold[i] = turn[unit[i - first]]
    return fold
