"""The weight search of Genetic Mahalanobis, all distances computed at every step."""

import numpy as np
from scipy.optimize import differential_evolution
from scipy.spatial.distance import cdist


def nearest_controls(weights, treated, controls):
    """The first nearest control in the weighted space."""
    total = np.abs(weights).sum()
    share = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
    scale = np.sqrt(share)
    return cdist(treated * scale, controls * scale).argmin(axis=1)


def loss(weights, treated, controls):
    """The largest absolute mean difference left."""
    matched = controls[nearest_controls(weights, treated, controls)]
    return np.abs(treated.mean(axis=0) - matched.mean(axis=0)).max()


def search(z, y, seed, generations=10):
    """Differential evolution as the method states it."""
    treated, controls = z[y == 1], z[y == 0]
    return differential_evolution(
        loss,
        bounds=[(0, 10)] * z.shape[1],
        args=(treated, controls),
        popsize=15,
        maxiter=generations,
        polish=False,
        updating="deferred",
        rng=np.random.default_rng(seed),
    )
