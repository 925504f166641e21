"""One panel's rules of two limits, the laws of the rates given, compiled.

A rule is a pair of covariates, which side of either limit is meant, the two limits, and whether
those inside are eligible (both limits met) or those outside (either missed). Counts inside come
from cumulative tables, so that a rule costs a few look-ups and no patient is visited twice. Limits
between the same two patients of a panel make the same patients eligible. Such rules are weighed
together, as often as there are limits, so that a small panel costs little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.arrays import FloatArray, IntArray
from intravar.latent.personal.panel_rows import PanelDraws

#: Logarithms by which a rule may be less likely than the likeliest to be drawn at all.
FURTHEST_BELOW = 45.0
#: Entries that a table of rules by their counts may have.
LARGEST_TABLE = 1_000_000


#: Sides of the two limits: below or above each.
SIDES = 4


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


class _Counts(NamedTuple):
    """Cumulative tables of a panel, pair by pair of covariates.

    Attributes
    ----------
    ranks, often, wide
        By covariate: ranks of the patients, limits by what they part, and how many kinds of them.
    inside, yes
        By pair: patients below both limits, and those of them who were decided for.
    """

    ranks: IntArray
    often: FloatArray
    wide: IntArray
    inside: IntArray
    yes: IntArray


@njit(cache=True, nogil=True)
def _counted(bins, y, known, pairs, levels):  # type: ignore[no-untyped-def]
    total, p = bins.shape
    ranks = np.empty((p, total), np.int64)
    often = np.zeros((p, 2, levels + 1))
    wide = np.empty(p, np.int64)
    for c in range(p):
        ranks[c], found = _ranked(bins[:, c], levels)
        wide[c] = found.shape[1]
        often[c, :, : wide[c]] = found
    shape = (pairs.shape[0], wide.max(), wide.max())
    inside, yes = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for at in range(pairs.shape[0]):
        one, other = pairs[at]
        for i in known:
            inside[at, ranks[one, i] + 1, ranks[other, i] + 1] += 1
            yes[at, ranks[one, i] + 1, ranks[other, i] + 1] += y[i]
        for table in (inside[at], yes[at]):
            for a in range(1, wide[one]):
                for b in range(1, wide[other]):
                    table[a, b] += table[a - 1, b] + table[a, b - 1] - table[a - 1, b - 1]
    return _Counts(ranks, often, wide, inside, yes)


@njit(cache=True, nogil=True)
def _corner(table, side, a, b, last, final):  # type: ignore[no-untyped-def]
    """Count those inside: ranks below a or from a up, and the same for b."""
    if side == 0:
        return table[a, b]
    if side == 1:
        return table[last, b] - table[a, b]
    if side == 2:
        return table[a, final] - table[a, b]
    return table[last, final] - table[a, final] - table[last, b] + table[a, b]


class _Chances(NamedTuple):
    """How likely rules are, relative to the likeliest.

    Attributes
    ----------
    table
        By number inside, decisions for among them, and whether those inside or those outside are
        eligible; empty where the panel is too large for a table.
    top
        Log evidence of the likeliest rule.
    total, given
        Patients, and decisions for.
    high, low
        Look-up tables of the Beta laws.
    """

    table: FloatArray
    top: float
    total: int
    given: int
    high: FloatArray
    low: FloatArray


@njit(cache=True, nogil=True)
def _log_evidence(n, k, way, total, given, high, low):  # type: ignore[no-untyped-def]
    """Return the log marginal likelihood of the decisions, those inside eligible or the others."""
    if way == 1:
        n, k = total - n, given - k
    m, h = total - n, given - k
    return high[0, k] + high[1, n - k] - high[2, n] + low[0, h] + low[1, m - h] - low[2, m]


@njit(cache=True, nogil=True)
def _chance(chances, n, k, way):  # type: ignore[no-untyped-def]
    if chances.table.size:
        return chances.table[n, k, way]
    value = _log_evidence(n, k, way, chances.total, chances.given, chances.high, chances.low)
    value -= chances.top
    return np.exp(value) if value > -FURTHEST_BELOW else 0.0


@njit(cache=True, nogil=True)
def _chances_of(counts, pairs, total, given, high, low):  # type: ignore[no-untyped-def]
    few = (total + 1) * (given + 1) <= LARGEST_TABLE
    shape = (total + 1, given + 1) if few else (0, 0)
    met = np.zeros(shape, np.bool_)
    top = -np.inf
    for at in range(pairs.shape[0]):
        one, other = pairs[at]
        last, final = counts.wide[one] - 1, counts.wide[other] - 1
        inside, yes = counts.inside[at], counts.yes[at]
        for a in range(last + 1):
            for b in range(final + 1):
                for side in range(SIDES):
                    n = _corner(inside, side, a, b, last, final)
                    k = _corner(yes, side, a, b, last, final)
                    if few:
                        met[n, k] = True
                    else:
                        for way in range(2):
                            top = max(top, _log_evidence(n, k, way, total, given, high, low))
    table = np.zeros((shape[0], shape[1], 2))
    for n in range(shape[0]):
        for k in range(shape[1]):
            if met[n, k]:
                for way in range(2):
                    table[n, k, way] = _log_evidence(n, k, way, total, given, high, low)
                    top = max(top, table[n, k, way])
    for n in range(shape[0]):
        for k in range(shape[1]):
            for way in range(2):
                value = table[n, k, way] - top
                likely = met[n, k] and value > -FURTHEST_BELOW
                table[n, k, way] = np.exp(value) if likely else 0.0
    return _Chances(table, top, total, given, high, low)


@njit(cache=True, nogil=True)
def _block_sum(counts, pairs, block, chances):  # type: ignore[no-untyped-def]
    """Sum up the chances of all rules of a pair of covariates and a side."""
    at, side = block // SIDES, block % SIDES
    one, other = pairs[at]
    last, final = counts.wide[one] - 1, counts.wide[other] - 1
    inside, yes = counts.inside[at], counts.yes[at]
    total = 0.0
    for a in range(last + 1):
        often = counts.often[one, side % 2, a]
        if often == 0.0:
            continue
        for b in range(final + 1):
            n = _corner(inside, side, a, b, last, final)
            k = _corner(yes, side, a, b, last, final)
            chance = _chance(chances, n, k, 0) + _chance(chances, n, k, 1)
            total += often * counts.often[other, side // 2, b] * chance
    return total


@njit(cache=True, nogil=True)
def _drawn(counts, pairs, chances, point, n_draws):  # type: ignore[no-untyped-def]
    """Return block, both limits and way of rules drawn by their chances, evenly spread."""
    n_blocks = pairs.shape[0] * SIDES
    run = np.zeros(n_blocks + 1)
    for block in range(n_blocks):
        run[block + 1] = run[block] + _block_sum(counts, pairs, block, chances)
    drawn = np.zeros((n_draws, 4), np.int64)
    t = 0
    for block in range(n_blocks):
        if t == n_draws:
            break
        if run[block + 1] < (t + point) / n_draws * run[-1] or run[block + 1] == run[block]:
            continue
        at, side = block // SIDES, block % SIDES
        one, other = pairs[at]
        last, final = counts.wide[one] - 1, counts.wide[other] - 1
        so_far = run[block]
        likely = (block, 0, 0, 0)
        for a in range(last + 1):
            for b in range(final + 1):
                often = counts.often[one, side % 2, a] * counts.often[other, side // 2, b]
                n = _corner(counts.inside[at], side, a, b, last, final)
                k = _corner(counts.yes[at], side, a, b, last, final)
                for way in range(2):
                    chance = often * _chance(chances, n, k, way)
                    if chance == 0.0:
                        continue
                    so_far += chance
                    likely = (block, a, b, way)
                    while t < n_draws and (t + point) / n_draws * run[-1] <= so_far:
                        drawn[t] = likely
                        t += 1
        # What rounding left over belongs to the last rule.
        while t < n_draws and (t + point) / n_draws * run[-1] <= run[block + 1]:
            drawn[t] = likely
            t += 1
    return drawn


@njit(cache=True, nogil=True)
def weigh_panel(  # type: ignore[no-untyped-def]
    bins, y, known, pairs, levels, high, low, laws, point, n_draws, tested
):
    """Draw rules of two limits from their exact posterior.

    Parameters
    ----------
    bins
        Level of every patient (row) in every covariate, from 0.
    y, known
        Decisions, and positions of the patients whose decisions count; the others are predicted.
    pairs
        Pairs of covariates.
    levels
        Number of levels.
    high, low
        Look-up tables of the Beta laws: log Gamma of a + k, b + k and a + b + k, each less its
        value at k = 0.
    laws
        Parameters of both Beta laws.
    point, n_draws
        Where in [0, 1) the evenly spread draws begin, and how many there are.
    tested
        Draws of which P(yes) is kept.
    """
    n_patients, total, given = y.size, known.size, y[known].sum()
    counts = _counted(bins, y, known, pairs, levels)
    chances = _chances_of(counts, pairs, total, given, high, low)
    drawn = _drawn(counts, pairs, chances, point, n_draws)
    out, kept = np.empty((n_draws, 5)), np.empty((tested, n_patients))
    eligible, told = np.empty(n_patients, np.bool_), np.zeros(n_patients, np.bool_)
    told[known] = True
    sums, g_sums, q_sums = np.zeros(n_patients), np.zeros(n_patients), np.zeros(n_patients)
    for t in range(n_draws):
        block, a, b, way = drawn[t]
        one, other = pairs[block // SIDES]
        side = block % SIDES
        n, k = 0, 0
        for i in range(n_patients):
            within = (counts.ranks[one, i] >= a) == (side % 2 == 1)
            if within:
                within = (counts.ranks[other, i] >= b) == (side >= 2)
            eligible[i] = within != (way == 1)
            if eligible[i] and told[i]:
                n += 1
                k += y[i]
        out[t, 0], out[t, 1] = laws[0] + k, laws[1] + n - k
        out[t, 2], out[t, 3] = laws[2] + given - k, laws[3] + total - n - given + k
        out[t, 4] = n / max(total, 1)
        for i in range(n_patients):
            a_own, b_own = (out[t, 0], out[t, 1]) if eligible[i] else (out[t, 2], out[t, 3])
            if tested > 0:
                kept[t * tested // n_draws, i] = a_own / (a_own + b_own)
            q, weight = a_own / (a_own + b_own), 1.0
            if told[i]:
                # Without the own decision: it leaves the law, and what it made likely weighs less.
                a_own -= y[i]
                q = a_own / (a_own + b_own - (1 - y[i]))
                weight = 1.0 / (q if y[i] == 1 else 1.0 - q)
            sums[i] += weight
            g_sums[i] += weight if eligible[i] else 0.0
            q_sums[i] += weight * q
    return PanelDraws(out, 0, g_sums / sums, q_sums / sums, kept)
