"""Effects of strata within physicians by least squares with a column for everyone and all."""

from __future__ import annotations

import numpy as np

from intravar.arrays import FloatArray


def effects_of_one_class(
    n: FloatArray, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return differences of every stratum to the first, and their covariance.

    Parameters
    ----------
    n, mean
        Patients and means, by physician and stratum.
    variance
        Of one patient, by stratum.
    """
    n_physicians, n_strata = n.shape
    rows, weights, values, noise = [], [], [], []
    for physician in range(n_physicians):
        for stratum in range(n_strata):
            if n[physician, stratum] == 0:
                continue
            row = np.zeros(n_physicians + n_strata - 1)
            row[physician] = 1
            if stratum:
                row[n_physicians + stratum - 1] = 1
            rows.append(row)
            weights.append(n[physician, stratum])
            values.append(mean[physician, stratum])
            noise.append(variance[stratum] / n[physician, stratum])
    design, weight = np.array(rows), np.diag(weights)
    solve = np.linalg.pinv(design.T @ weight @ design) @ design.T @ weight
    found = solve @ np.array(values)
    covariance = solve @ np.diag(noise) @ solve.T
    return found[n_physicians:], covariance[n_physicians:, n_physicians:]
