"""How well every rule of two limits explains a physician's decisions, compiled.

Rules are numbered: pair of covariates, then which side of either limit is meant, then the two
limits, then whether those inside are eligible (both limits met) or those outside (either missed).
Counts inside come from cumulative tables, so a rule costs a few look-ups and no patient is visited
twice. In a panel that is not large rules with the same counts are many, and the evidence of either
count is worked out once.
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
def _count_tables(bins, y, pairs, levels, wide):  # type: ignore[no-untyped-def]
    """Return for every pair patients below both limits, times `wide`, plus decisions for."""
    tables = np.zeros((pairs.shape[0], levels + 1, levels + 1), np.int64)
    for p in range(pairs.shape[0]):
        for i in range(y.size):
            tables[p, bins[i, pairs[p, 0]] + 1, bins[i, pairs[p, 1]] + 1] += wide + y[i]
        cumulate(tables[p])
    return tables


@njit(cache=True, nogil=True)
def _as_before(table, side, a):  # type: ignore[no-untyped-def]
    """Say whether a limit on the first covariate parts the patients as the one before it did."""
    top, row = table.shape[0] - 1, a - side % 2
    return a > 1 and table[row, top] == table[row - 1, top]


@njit(cache=True, nogil=True)
def _chances(tables, total, given, high, low):  # type: ignore[no-untyped-def]
    """Return how likely rules are beside the likeliest, by counts inside, inside and outside."""
    wide, levels = given + 1, tables.shape[1] - 1
    met = np.zeros((total + 1) * wide, np.bool_)
    for p in range(tables.shape[0]):
        for side in range(SIDES):
            for a in range(1, levels + 1):
                if not _as_before(tables[p], side, a):
                    for b in range(1, levels + 1):
                        met[_inside(tables[p], side, a, b)] = True
    chance = np.zeros((met.size, 2))
    top = -np.inf
    for at in range(met.size):
        if met[at]:
            n, k = at // wide, at % wide
            m, h = total - n, given - k
            chance[at, 0] = high[0, k] + high[1, n - k] - high[2, n]
            chance[at, 0] += low[0, h] + low[1, m - h] - low[2, m]
            chance[at, 1] = low[0, k] + low[1, n - k] - low[2, n]
            chance[at, 1] += high[0, h] + high[1, m - h] - high[2, m]
            top = max(top, chance[at, 0], chance[at, 1])
    for at in range(met.size):
        if met[at]:
            chance[at, 0] = np.exp(chance[at, 0] - top)
            chance[at, 1] = np.exp(chance[at, 1] - top)
    return chance


@njit(cache=True, nogil=True)
def _run_by_row(tables, chance):  # type: ignore[no-untyped-def]
    """Sum up the chances of all rules, up to the end of every row: all second limits of a first."""
    levels = tables.shape[1] - 1
    run = np.empty(tables.shape[0] * SIDES * levels)
    total = row = 0.0
    at = 0
    for p in range(tables.shape[0]):
        for side in range(SIDES):
            for a in range(1, levels + 1):
                if not _as_before(tables[p], side, a):
                    row = 0.0
                    for b in range(1, levels + 1):
                        inside = _inside(tables[p], side, a, b)
                        row += chance[inside, 0] + chance[inside, 1]
                total += row
                run[at] = total
                at += 1
    return run


@njit(cache=True, nogil=True)
def draw_rules(bins, y, pairs, levels, high, low, point, n_draws):  # type: ignore[no-untyped-def]
    """Draw rules in proportion to their evidence, evenly spread.

    Parameters
    ----------
    bins, y, pairs, levels, high, low
        See `rule_log_evidence`.
    point, n_draws
        Where in [0, 1) the draws begin, and how many there are.

    Returns
    -------
    rules, counts
        Numbers of the rules; patients whom each makes eligible, and decisions for among them.
    """
    total, given = y.size, y.sum()
    wide = given + 1
    tables = _count_tables(bins, y, pairs, levels, wide)
    chance = _chances(tables, total, given, high, low)
    run = _run_by_row(tables, chance)
    rules, counts = np.empty(n_draws, np.int64), np.empty((n_draws, 2), np.int64)
    t = row = 0
    while t < n_draws:
        aim = (t + point) / n_draws * run[-1]
        while row < run.size - 1 and run[row] < aim:
            row += 1
        table, side, a = tables[row // levels // SIDES], row // levels % SIDES, row % levels + 1
        so_far = run[row - 1] if row > 0 else 0.0
        for b in range(1, levels + 1):
            inside = _inside(table, side, a, b)
            for way in range(2):
                so_far += chance[inside, way]
                # What rounding left over belongs to the last rule of the row.
                last = b == levels and way == 1
                while t < n_draws and (aim <= so_far or (last and aim <= run[row])):
                    rules[t] = (row * levels + b - 1) * 2 + way
                    n, k = inside // wide, inside % wide
                    counts[t, 0] = n if way == 0 else total - n
                    counts[t, 1] = k if way == 0 else given - k
                    t += 1
                    aim = (t + point) / n_draws * run[-1]
    return rules, counts


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
