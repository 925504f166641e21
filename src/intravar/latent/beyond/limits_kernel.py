"""One panel's rules of two limits, the laws of the rates given, compiled.

Limits between the same two patients of a panel make the same patients eligible. Such rules are
weighed together, as often as there are limits, so that a small panel costs little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.arrays import FloatArray
from intravar.latent.personal.limit_kernel import SIDES, cumulate

#: Logarithms by which a rule may be less likely than the likeliest to be drawn at all.
FURTHEST_BELOW = 45.0


class PanelLimits(NamedTuple):
    """What is known of a panel's limits.

    Attributes
    ----------
    laws
        By draw: parameters of the Beta laws of p_high and p_low, and the share of the eligible.
    g, q
        Per patient, as known without the own decision: probability of being eligible, and of a
        decision for.
    """

    laws: FloatArray
    g: FloatArray
    q: FloatArray


@njit(cache=True, nogil=True)
def _log_evidence(n, k, total, given, high, low):  # type: ignore[no-untyped-def]
    """Return the log marginal likelihood if those inside are eligible."""
    m, h = total - n, given - k
    return high[0, k] + high[1, n - k] - high[2, n] + low[0, h] + low[1, m - h] - low[2, m]


@njit(cache=True, nogil=True)
def _ranked(bins, levels):  # type: ignore[no-untyped-def]
    """Return every patient's rank among a column's levels, and limits by what they part.

    The second array counts, for either side, the limits with so many of the ranks below them.
    """
    present = np.zeros(levels, np.bool_)
    for i in range(bins.size):
        present[bins[i]] = True
    rank, values = np.empty(levels, np.int64), np.empty(levels, np.int64)
    m = 0
    for level in range(levels):
        if present[level]:
            rank[level], values[m] = m, level
            m += 1
    often = np.zeros((2, m + 1))
    for c in range(m + 1):
        # Limits 1 to `levels` with those below inside; 0 to `levels` - 1 with those from it up.
        for side in range(2):
            begin = values[c - 1] + 1 if c > 0 else 1 - side
            end = values[c] if c < m else levels - side
            often[side, c] = end - begin + 1
    out = np.empty(bins.size, np.int64)
    for i in range(bins.size):
        out[i] = rank[bins[i]]
    return out, often


@njit(cache=True, nogil=True)
def _corner(table, side, a, b):  # type: ignore[no-untyped-def]
    """Count those inside: ranks below a or from a up, and the same for b."""
    last, final = table.shape[0] - 1, table.shape[1] - 1
    if side == 0:
        return table[a, b]
    if side == 1:
        return table[last, b] - table[a, b]
    if side == 2:
        return table[a, final] - table[a, b]
    return table[last, final] - table[a, final] - table[last, b] + table[a, b]


@njit(cache=True, nogil=True)
def weigh_panel(bins, y, pairs, levels, high, low, laws, point, n_draws):  # type: ignore[no-untyped-def]
    """Draw rules of two limits from their exact posterior.

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
        Look-up tables of the Beta laws, see `rule_log_evidence`.
    laws
        Parameters of both Beta laws.
    point, n_draws
        Where in [0, 1) the evenly spread draws begin, and how many there are.
    """
    total, given = y.size, y.sum()
    p = bins.shape[1]
    ranks = np.empty((p, total), np.int64)
    often = np.zeros((p, 2, levels + 1))
    wide = np.empty(p, np.int64)
    for c in range(p):
        ranks[c], found = _ranked(bins[:, c], levels)
        wide[c] = found.shape[1]
        often[c, :, : wide[c]] = found
    begin = np.zeros(pairs.shape[0] + 1, np.int64)
    for at in range(pairs.shape[0]):
        begin[at + 1] = begin[at] + SIDES * wide[pairs[at, 0]] * wide[pairs[at, 1]]
    # Number inside, and decisions for among them, of every kind of rule; how many there are of it.
    inside = np.empty((begin[-1], 2), np.int32)
    times = np.empty(begin[-1])
    kind = 0
    for at in range(pairs.shape[0]):
        one, other = pairs[at]
        count = np.zeros((wide[one], wide[other]), np.int64)
        yes = np.zeros((wide[one], wide[other]), np.int64)
        for i in range(total):
            a, b = ranks[one, i] + 1, ranks[other, i] + 1
            count[a, b] += 1
            yes[a, b] += y[i]
        cumulate(count)
        cumulate(yes)
        for side in range(SIDES):
            for a in range(wide[one]):
                for b in range(wide[other]):
                    inside[kind, 0] = _corner(count, side, a, b)
                    inside[kind, 1] = _corner(yes, side, a, b)
                    times[kind] = often[one, side % 2, a] * often[other, side // 2, b]
                    kind += 1
    run = _running(inside, times, total, given, high, low)
    out = np.empty((n_draws, 5))
    eligible = np.empty(total, np.bool_)
    sums, g_sums, q_sums = np.zeros(total), np.zeros(total), np.zeros(total)
    for t in range(n_draws):
        target = (t + point) / n_draws * run[-1]
        rule = min(np.searchsorted(run, target), run.size - 1)
        kind, outside = rule // 2, rule % 2 == 1
        at = np.searchsorted(begin, kind, side="right") - 1
        one, other = pairs[at]
        rest = kind - begin[at]
        b = rest % wide[other]
        a = rest // wide[other] % wide[one]
        side = rest // wide[other] // wide[one]
        n, k = 0, 0
        for i in range(total):
            within = (ranks[one, i] >= a) == (side % 2 == 1)
            if within:
                within = (ranks[other, i] >= b) == (side >= 2)
            eligible[i] = within != outside
            if eligible[i]:
                n += 1
                k += y[i]
        out[t, 0], out[t, 1] = laws[0] + k, laws[1] + n - k
        out[t, 2], out[t, 3] = laws[2] + given - k, laws[3] + total - n - given + k
        out[t, 4] = n / max(total, 1)
        for i in range(total):
            # Without the own decision: it leaves the law, and what it made likely weighs less.
            a_own, b_own = (out[t, 0], out[t, 1]) if eligible[i] else (out[t, 2], out[t, 3])
            a_own -= y[i]
            q = a_own / (a_own + b_own - (1 - y[i]))
            weight = 1.0 / (q if y[i] == 1 else 1.0 - q)
            sums[i] += weight
            g_sums[i] += weight if eligible[i] else 0.0
            q_sums[i] += weight * q
    return PanelLimits(out, g_sums / sums, q_sums / sums)


@njit(cache=True, nogil=True)
def _running(inside, times, total, given, high, low):  # type: ignore[no-untyped-def]
    """Return the running sum of the rules' weights; inside eligible first, then outside."""
    n_kinds = times.size
    run = np.empty(2 * n_kinds)
    against = total - given
    few = (total + 1) * (given + 1) < 2 * n_kinds
    table = np.empty((total + 1, given + 1, 2)) if few else np.empty((0, 0, 2))
    if few:
        for n in range(total + 1):
            for k in range(max(0, n - against), min(n, given) + 1):
                table[n, k, 0] = _log_evidence(n, k, total, given, high, low)
                table[n, k, 1] = _log_evidence(total - n, given - k, total, given, high, low)
    top = -np.inf
    for kind in range(n_kinds):
        n, k = inside[kind]
        for which in range(2):
            if few:
                value = table[n, k, which]
            elif which == 0:
                value = _log_evidence(n, k, total, given, high, low)
            else:
                value = _log_evidence(total - n, given - k, total, given, high, low)
            run[2 * kind + which] = value
            if times[kind] > 0:
                top = max(top, value)
    so_far = 0.0
    for rule in range(run.size):
        if run[rule] > top - FURTHEST_BELOW:
            so_far += np.exp(run[rule] - top) * times[rule // 2]
        run[rule] = so_far
    return run
