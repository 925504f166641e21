"""Pieces of the latent rule by their definitions, without a thought for time."""

import numpy as np
from scipy.stats import beta


def best_gain(bins, gradient, curvature, ridge, least):
    """Try every column, every cut and both sides for missing values; return the best gain."""
    total = gradient.sum() ** 2 / (curvature.sum() + ridge)
    best = 0.0
    for column in bins.T:
        for cut in range(255):
            for missing_left in (False, True):
                left = (column <= cut) & (column != 255)
                if missing_left:
                    left |= column == 255
                if curvature[left].sum() < least or curvature[~left].sum() < least:
                    continue
                gain = (
                    gradient[left].sum() ** 2 / (curvature[left].sum() + ridge)
                    + gradient[~left].sum() ** 2 / (curvature[~left].sum() + ridge)
                    - total
                )
                best = max(best, gain)
    return best


def posterior_of_rates(y, g, prior_high, prior_low, cells=400):
    """Posterior means of p_high, p_low and 2 p_high (1 - p_high) on a dense grid."""
    edge = np.linspace(0, 1, cells + 1)
    p = (edge[1:] + edge[:-1]) / 2
    log_posterior = np.zeros((cells, cells))
    for decision, probability in zip(y, g, strict=True):
        q = p[None, :] + (p[:, None] - p[None, :]) * probability
        log_posterior += np.log(q if decision else 1 - q)
    log_posterior += beta.logpdf(p, *prior_high)[:, None] + beta.logpdf(p, *prior_low)[None, :]
    weight = np.exp(log_posterior - log_posterior.max())
    weight /= weight.sum()
    high = weight.sum(axis=1)
    return high @ p, weight.sum(axis=0) @ p, high @ (2 * p * (1 - p))
