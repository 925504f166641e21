"""Mutual information between each covariate and the decision."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.feature_selection import mutual_info_classif

from intravar.arrays import FloatArray


def mutual_information(
    z: FloatArray,
    decision: npt.NDArray[np.int8],
    *,
    n_neighbors: int = 3,
    random_state: int = 0,
) -> FloatArray:
    """Return the k-nearest-neighbour estimate of I(z_l; y) for every covariate, in nats.

    Kraskov, Stögbauer and Grassberger (2004), as scikit-learn has it; all zero when the cohort is
    too small for `n_neighbors` neighbours or everyone got the same decision.

    One process: a second one takes longer to start than the estimate takes.
    """
    _, counts = np.unique(decision, return_counts=True)
    if len(counts) < 2 or counts.max() < 2 or len(z) <= n_neighbors:
        return np.zeros(z.shape[1])
    estimate: FloatArray = mutual_info_classif(
        z,
        decision,
        discrete_features=False,
        n_neighbors=n_neighbors,
        random_state=random_state,
    )
    return estimate
