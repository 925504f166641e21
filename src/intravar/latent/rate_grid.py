"""The likelihood of one physician's rates on a grid, compiled, a physician at a time.

With personal thresholds all grids together would take 200 kB a physician. What is asked of them,
the grid without the shift and the shift without the grid, takes a tenth of it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Decisions whose probabilities are multiplied before a logarithm is taken.
MULTIPLIED = 8
#: Where a probability may be smaller, so many of them would underflow, and none are multiplied.
TINY = 1e-35
SMALLEST = 1e-300


@njit(cache=True, nogil=True)
def _count_in(q, times, multiply, product, total):  # type: ignore[no-untyped-def]
    """Count decisions of a probability, cell by cell of p_low."""
    if multiply:
        for _ in range(times):
            for m in range(q.size):
                product[m] *= q[m]
    elif times > 0:
        for m in range(q.size):
            total[m] += times * np.log(max(q[m], SMALLEST))


@njit(cache=True, nogil=True)
def panel_grid(cells, j, g, high, low, likely, out):  # type: ignore[no-untyped-def]
    """Fill in the log-likelihood of physician j, shift x p_high x p_low.

    Parameters
    ----------
    cells
        Decisions by score bin.
    j
        The physician.
    g
        Probability of being eligible, shift x bin.
    high, low, likely
        Cells of the physician's rates; which shifts are worth a look, the others are impossible.
    out
        Filled in.
    """
    q, other = np.empty(low.size), np.empty(low.size)
    product, total = np.ones(low.size), np.zeros(low.size)
    least = min(high.min(), low.min(), 1.0 - high.max(), 1.0 - low.max())
    for u in range(g.shape[0]):
        if not likely[u]:
            out[u] = -np.inf
            continue
        for a in range(high.size):
            product[:] = 1.0
            total[:] = 0.0
            pending = 0
            for c in range(cells.first[j], cells.first[j + 1]):
                here = g[u, cells.bin[c]]
                yes, no = cells.yes[c], cells.no[c]
                if pending + yes + no > MULTIPLIED:
                    for m in range(low.size):
                        total[m] += np.log(product[m])
                        product[m] = 1.0
                    pending = 0
                pending += yes + no
                for m in range(low.size):
                    q[m] = low[m] + (high[a] - low[m]) * here
                    other[m] = 1.0 - q[m]
                multiply = least > TINY and yes + no <= MULTIPLIED
                _count_in(q, yes, multiply, product, total)
                _count_in(other, no, multiply, product, total)
            for m in range(low.size):
                out[u, a, m] = total[m] + np.log(product[m])


@njit(cache=True, nogil=True)
def whole_grid(cells, g, high, low, likely):  # type: ignore[no-untyped-def]
    """Return the log-likelihood, physician x shift x p_high x p_low."""
    out = np.empty((high.shape[0], g.shape[0], high.shape[1], low.shape[1]))
    for j in range(high.shape[0]):
        panel_grid(cells, j, g, high[j], low[j], likely[j], out[j])
    return out


@njit(cache=True, nogil=True)
def over_shifts(cells, g, high, low, likely, log_prior):  # type: ignore[no-untyped-def]
    """Return the likelihood summed over shifts, physician x p_high x p_low.

    Every physician's is relative to its largest value, whose logarithm is returned as well.
    """
    n, H, L = high.shape[0], high.shape[1], low.shape[1]
    out, top = np.zeros((n, H, L)), np.empty(n)
    grid = np.empty((g.shape[0], H, L))
    for j in range(n):
        panel_grid(cells, j, g, high[j], low[j], likely[j], grid)
        for u in range(g.shape[0]):
            grid[u] += log_prior[u]
        top[j] = grid.max()
        for u in range(g.shape[0]):
            if likely[j, u]:
                out[j] += np.exp(grid[u] - top[j])
    return out, top


@njit(cache=True, nogil=True)
def by_shift(cells, g, high, low, likely, log_prior, top, factor_high, factor_low):  # type: ignore[no-untyped-def]
    """Return the posterior mass of every shift, physician x shift, not yet normalised."""
    out = np.zeros(likely.shape)
    grid = np.empty((g.shape[0], high.shape[1], low.shape[1]))
    for j in range(out.shape[0]):
        panel_grid(cells, j, g, high[j], low[j], likely[j], grid)
        for u in range(g.shape[0]):
            if likely[j, u]:
                for a in range(high.shape[1]):
                    row = 0.0
                    for c in range(low.shape[1]):
                        row += np.exp(grid[u, a, c] + log_prior[u] - top[j]) * factor_low[j, c]
                    out[j, u] += row * factor_high[j, a]
    return out
