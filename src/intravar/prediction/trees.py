"""Boosted trees as predictions use them: few where patients are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from intravar.arrays import IntArray
from intravar.learning.bins import MISSING_BIN, Bins
from intravar.learning.boosted_trees import Growth, Rates, Trees, grow_trees

DEPTH = 4
RATE = 0.15
RIDGE = 5.0
LEAST_INFORMATION = 5.0
#: One tree per so many rows, within limits: few patients do not bear many trees.
ROWS_PER_TREE, FEWEST, MOST = 25, 12, 90
LARGEST_START = 3.0


def grown(
    bins: Bins, y: npt.NDArray[Any], code: IntArray | None = None, rates: Rates | None = None
) -> Trees:
    """Boost F on some rows.

    Parameters
    ----------
    bins, y
        Binned columns and outcome of the rows to learn from; the outcome may be a share.
    code, rates
        Physician of every row, and the physicians' rates; by default a logistic model.
    """
    n = len(bins)
    trees = int(np.clip(n // ROWS_PER_TREE, FEWEST, MOST))
    start = 0.0
    if rates is None and n:
        share = (float(np.sum(y)) + 0.5) / (n + 1)
        start = float(np.clip(logit(share), -LARGEST_START, LARGEST_START))
    who = np.zeros(n, dtype=np.int64) if code is None else code
    growth = Growth(start, trees, DEPTH, RATE, RIDGE, LEAST_INFORMATION, MISSING_BIN)
    return grow_trees(bins, y, who, rates or Rates.logistic(), growth)[0]
