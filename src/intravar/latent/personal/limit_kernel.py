"""How well every rule of two limits explains a physician's decisions, compiled.

Rules are numbered: pair of covariates, then which side of either limit is meant, then the two
limits, then whether those inside are eligible (both limits met) or those outside (either missed).
Counts inside come from cumulative tables, so a rule costs a dozen look-ups and no patient is
visited twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Sides of the two limits: below or above each.
SIDES = 4


@njit(cache=True, nogil=True)
def cumulate(table):  # type: ignore[no-untyped-def]
    """Sum a table up along both axes, in place."""
    for a in range(1, table.shape[0]):
        for b in range(1, table.shape[1]):
            table[a, b] += table[a - 1, b] + table[a, b - 1] - table[a - 1, b - 1]


@njit(cache=True, nogil=True)
def _inside(table, side, a, b):  # type: ignore[no-untyped-def]
    """Count those in the corner: bins below a or from a - 1 up, and the same for b."""
    top = table.shape[0] - 1
    if side == 0:
        return table[a, b]
    if side == 1:
        return table[top, b] - table[a - 1, b]
    if side == 2:
        return table[a, top] - table[a, b - 1]
    return table[top, top] - table[a - 1, top] - table[top, b - 1] + table[a - 1, b - 1]


@njit(cache=True, nogil=True)
def rule_log_evidence(bins, y, pairs, levels, high, low):  # type: ignore[no-untyped-def]
    """Return the log marginal likelihood of one physician's decisions under every rule.

    Parameters
    ----------
    bins
        Level of every patient (row) in every covariate, from 0.
    y
        Decisions.
    pairs
        Pairs of covariates.
    levels
        Number of levels.
    high, low
        Look-up tables of the Beta laws: log Gamma of a + k, b + k and a + b + k, each less its
        value at k = 0.
    """
    out = np.empty(pairs.shape[0] * SIDES * levels * levels * 2)
    total, given = y.size, y.sum()
    at = 0
    for p in range(pairs.shape[0]):
        count = np.zeros((levels + 1, levels + 1), np.int64)
        yes = np.zeros((levels + 1, levels + 1), np.int64)
        for i in range(total):
            a, b = bins[i, pairs[p, 0]] + 1, bins[i, pairs[p, 1]] + 1
            count[a, b] += 1
            yes[a, b] += y[i]
        cumulate(count)
        cumulate(yes)
        for side in range(SIDES):
            for a in range(1, levels + 1):
                for b in range(1, levels + 1):
                    n, k = _inside(count, side, a, b), _inside(yes, side, a, b)
                    m, h = total - n, given - k
                    out[at] = (
                        high[0, k]
                        + high[1, n - k]
                        - high[2, n]
                        + low[0, h]
                        + low[1, m - h]
                        - low[2, m]
                    )
                    out[at + 1] = (
                        low[0, k]
                        + low[1, n - k]
                        - low[2, n]
                        + high[0, h]
                        + high[1, m - h]
                        - high[2, m]
                    )
                    at += 2
    return out


@njit(cache=True, nogil=True)
def eligible_under(bins, rules, pairs, levels):  # type: ignore[no-untyped-def]
    """Return for every rule (row) and patient whether the rule makes the patient eligible."""
    out = np.empty((rules.size, bins.shape[0]), np.bool_)
    for t in range(rules.size):
        outside = rules[t] % 2 == 1
        rest = rules[t] // 2
        b = rest % levels + 1
        rest //= levels
        a = rest % levels + 1
        rest //= levels
        side = rest % SIDES
        first, second = pairs[rest // SIDES]
        for i in range(bins.shape[0]):
            inside = bins[i, first] >= a - 1 if side % 2 == 1 else bins[i, first] < a
            if inside:
                inside = bins[i, second] >= b - 1 if side >= 2 else bins[i, second] < b
            out[t, i] = inside != outside
    return out
