"""P(yes) with the average of some physicians, compiled.

Physicians stand side by side in the innermost loop, where none waits for another; of the symmetric
covariances one half is kept.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from intravar.prediction.personal_kernel import FLATTEN


@njit(cache=True, nogil=True)
def average_rows(Z, rows, weights, spreads, low, high):  # type: ignore[no-untyped-def]
    """Return the mean over physicians of P(yes) of some rows.

    `weights` holds one row per column of Z and one column per physician, `spreads` one row per
    pair of columns: the covariance of two weights, twice where the columns differ.
    """
    d, J = weights.shape
    found = np.empty(rows.size)
    eta, spread = np.empty(J), np.empty(J)
    for t in range(rows.size):
        z = Z[rows[t]]
        eta[:] = 0.0
        spread[:] = 0.0
        pair = 0
        for k in range(d):
            for j in range(J):
                eta[j] += weights[k, j] * z[k]
            for h in range(k + 1):
                product = z[k] * z[h]
                for j in range(J):
                    spread[j] += spreads[pair, j] * product
                pair += 1
        total = 0.0
        for j in range(J):
            g = 1 / (1 + np.exp(-eta[j] / np.sqrt(1 + FLATTEN * max(spread[j], 0.0))))
            total += low[j] + (high[j] - low[j]) * g
        found[t] = total / J
    return found
