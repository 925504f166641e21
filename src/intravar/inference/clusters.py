"""Means over rows that depend on each other within units, such as the visits of one patient.

The sums over units are independent, so that their squares estimate the variance of the total sum.
"""

import numpy as np

from intravar.arrays import FloatArray, IntArray


def standard_error_of_mean(
    values: FloatArray, cluster: IntArray, weight: FloatArray | None = None
) -> float:
    """Return the standard error of a (weighted) mean over rows that are dependent within clusters.

    Examples
    --------
    >>> standard_error_of_mean(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    _, number = np.unique(cluster, return_inverse=True)
    counts = np.ones(len(values)) if weight is None else weight
    sums = np.bincount(number, counts * (values - np.average(values, weights=counts)))
    n_clusters = len(sums)
    if n_clusters < 2:
        return float("inf")
    variance = n_clusters / (n_clusters - 1) * float(sums @ sums) / float(counts.sum()) ** 2
    return float(np.sqrt(variance))


def design_effect(distance: FloatArray, cell: IntArray, unit: IntArray | None) -> float:
    """Return the factor by which dependence within units raises the variance of means of cells.

    Parameters
    ----------
    distance
        Distance of every row's value from the mean of its cell.
    cell, unit
        Cell and unit of every row. Rows of one unit depend on each other.

    Examples
    --------
    >>> values, one = np.array([1.0, 1.0, -1.0, -1.0]), np.zeros(4, dtype=np.int64)
    >>> design_effect(values, one, np.array([0, 0, 1, 1]))
    2.0
    """
    total = float(distance @ distance)
    if unit is None or total == 0:
        return 1.0
    pairs = np.column_stack([cell, unit])
    number = np.unique(pairs, axis=0, return_inverse=True)[1]
    sums = np.bincount(number, distance)
    return max(float(sums @ sums) / total, 1.0)
