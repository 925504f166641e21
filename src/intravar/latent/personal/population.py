"""What physicians have in common: camps of weights, and the law of the rates.

Weights of a camp's members are Gaussian around its centre; how widely, covariate by covariate, has
a half-Cauchy prior, so that a camp may agree on some covariates and differ on others. Rates have
Beta laws with a mean and a strength to be learned. Every function returns a draw given the rest.

References
----------
Wand et al., Mean field variational Bayes for elaborate distributions, Bayesian Analysis
2011;6:847-900, for the half-Cauchy law as a mixture.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, expit
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray, IntArray
from intravar.latent.personal.chain_kernel import Population

#: Standard deviation of a camp's centre; the weights of a sharp rule are large.
CENTRE_WIDTH = 15.0
#: Scale of the half-Cauchy prior of the spreads, and the range they are held in.
SPREAD_SCALE = 3.0
SPREAD_RANGE = (0.02, 30.0)
#: Dirichlet weight of a camp: below 1, so that camps that are not needed empty.
CAMP_WEIGHT = 0.5
#: Centre and width of the normal prior of the log strength of a Beta law, and the walk's steps.
LOG_STRENGTH = (np.log(8.0), 1.2)
WALK, WALK_STEPS = 0.3, 5


def wide_population(width: int) -> Population:
    """Return one camp that everybody fits into."""
    return Population(np.zeros((1, width)), np.full((1, width), 3.0), np.zeros(1))


def found_camps(weights: FloatArray, n_camps: int, seed: int) -> tuple[Population, IntArray]:
    """Return camps to begin with, by directions of the weights, and everybody's camp.

    Examples
    --------
    >>> population, camp = found_camps(np.array([[3.0, 0], [2, 0], [0, 4], [0, 3]]), 2, 0)
    >>> bool(camp[0] == camp[1] != camp[2] == camp[3])
    True
    """
    n_camps = min(n_camps, len(weights))
    length = np.linalg.norm(weights, axis=1, keepdims=True)
    direction = weights / np.maximum(length, 1.0)
    # As many different directions as camps: k-means would complain of copies.
    n_camps = min(n_camps, len(np.unique(direction, axis=0)))
    # Threads would only wait for each other, and add up in another order.
    with threadpool_limits(limits=1, user_api="openmp"):
        camp = KMeans(n_camps, n_init=5, random_state=seed).fit(direction).labels_.astype(np.int64)
    members = [weights[camp == k] for k in range(n_camps)]
    centre = np.array([own.mean(axis=0) for own in members])
    spread = np.array([np.maximum(own.std(axis=0), 0.3) for own in members])
    return Population(centre, spread, np.full(n_camps, -np.log(n_camps))), camp


def draw_population(
    population: Population, weights: FloatArray, camp: IntArray, random: np.random.Generator
) -> Population:
    """Draw shares, centres and spreads of the camps given their members."""
    n_camps, width = population.centre.shape
    share = random.dirichlet(CAMP_WEIGHT + np.bincount(camp, minlength=n_camps))
    centre, spread = np.empty_like(population.centre), np.empty_like(population.spread)
    for k in range(n_camps):
        own = weights[camp == k]
        variance = population.spread[k] ** 2
        precision = len(own) / variance + CENTRE_WIDTH**-2
        centre[k] = own.sum(axis=0) / variance / precision
        centre[k] += random.standard_normal(width) / np.sqrt(precision)
        mixing = (SPREAD_SCALE**-2 + 1 / variance) / random.gamma(1.0, 1.0, width)
        squares = ((own - centre[k]) ** 2).sum(axis=0)
        variance = (1 / mixing + squares / 2) / random.gamma((len(own) + 1) / 2, 1.0, width)
        spread[k] = np.clip(np.sqrt(variance), *SPREAD_RANGE)
    return Population(centre, spread, np.log(share + 1e-300))


def draw_beta_law(
    rates: FloatArray, law: tuple[float, float], random: np.random.Generator
) -> tuple[float, float]:
    """Walk a few steps through the Beta laws that such rates may come from.

    Examples
    --------
    >>> law, random = (1.0, 1.0), np.random.default_rng(0)
    >>> for _ in range(50):
    ...     law = draw_beta_law(np.full(200, 0.9), law, random)
    >>> abs(law[0] / sum(law) - 0.9) < 0.02
    True
    """
    log_p, log_q = np.log(rates).sum(), np.log1p(-rates).sum()

    def density(mean: float, strength: float) -> float:
        m, s = float(expit(mean)), float(np.exp(strength))
        a, b = m * s, (1 - m) * s
        value = (a - 1) * log_p + (b - 1) * log_q - rates.size * betaln(a, b)
        value -= 0.5 * ((strength - LOG_STRENGTH[0]) / LOG_STRENGTH[1]) ** 2
        return float(value + np.log(m * (1 - m)))

    at = np.array([np.log(law[0] / law[1]), np.log(law[0] + law[1])])
    value = density(*at)
    for _ in range(WALK_STEPS):
        new = at + WALK * random.standard_normal(2)
        new_value = density(*new)
        if new_value - value > np.log(random.random() + 1e-300):
            at, value = new, new_value
    m, s = float(expit(at[0])), float(np.exp(at[1]))
    return m * s, (1 - m) * s
