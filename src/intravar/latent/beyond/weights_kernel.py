"""One panel's weights and rates, the camps given, compiled.

The moves are those of :mod:`intravar.latent.personal.chain_kernel`. What physicians have in common
is not drawn but taken from the sample's chain, one of its draws after the other, so that what is
unsure about it is in the panel's posterior too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.arrays import FloatArray
from intravar.latent.personal.chain_kernel import (
    Chain,
    Population,
    Reference,
    change_camps,
    draw_rates,
    move_by_prior,
    move_by_reference,
    panel_log_likelihood,
)


class Sweeps(NamedTuple):
    """How long a panel's chain runs; a tuple, because compiled code takes it.

    Attributes
    ----------
    warm, burn
        Sweeps from the camps' ellipses alone, and with ellipses near the posterior, thrown away.
    kept, thin
        Sweeps that are kept, and how many of them lie between two looks at the patients.
    small
        Patients, in panels of which the camps' ellipses are near enough to the posterior.
    """

    warm: int = 60
    burn: int = 40
    kept: int = 300
    thin: int = 3
    small: int = 20


class PanelChain(NamedTuple):
    """What is kept of a panel's chain.

    Attributes
    ----------
    laws
        By sweep: parameters of the Beta laws of p_high and p_low, and the share of the eligible.
    camp
        Sweeps in every camp.
    g, q
        Per patient, as known without the own decision: probability of being eligible, and of a
        decision for.
    """

    laws: FloatArray
    camp: FloatArray
    g: FloatArray
    q: FloatArray


@njit(cache=True, nogil=True)
def _reference(recent):  # type: ignore[no-untyped-def]
    """Return a Gaussian around recent draws, somewhat wider than they are."""
    n, d = recent.shape
    centre = np.zeros(d)
    for t in range(n):
        centre += recent[t]
    centre /= n
    covariance = np.zeros((d, d))
    for t in range(n):
        away = recent[t] - centre
        for a in range(d):
            for b in range(d):
                covariance[a, b] += 1.3 * away[a] * away[b] / n
    for a in range(d):
        # Few draws in many dimensions: without this the covariance would be singular.
        covariance[a, a] += max(0.1 * covariance[a, a], 1e-3)
    factor, precision = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
    return Reference(
        centre.reshape(1, d),
        np.ascontiguousarray(factor).reshape(1, d, d),
        np.ascontiguousarray(precision).reshape(1, d, d),
    )


@njit(cache=True, nogil=True)
def _beginning(rows, draws):  # type: ignore[no-untyped-def]
    """Begin in the middle of the camp that explains the decisions best, with average rates."""
    n, d = rows.design.shape
    laws = draws.laws[0]
    high, low = laws[0] / (laws[0] + laws[1]), laws[2] / (laws[2] + laws[3])
    best, camp = -np.inf, 0
    eta = np.zeros(n)
    for k in range(draws.log_share.shape[1]):
        at = np.zeros(n)
        for i in range(n):
            for c in range(d):
                at[i] += rows.design[i, c] * draws.centre[0, k, c]
        value = panel_log_likelihood(at, rows.y, high, low) + draws.log_share[0, k]
        if value > best:
            best, camp, eta = value, k, at
    return Chain(
        draws.centre[0, camp].copy().reshape(1, d),
        eta,
        np.full(1, high),
        np.full(1, low),
        np.full(1, camp),
        np.ones((1, 5)),
    )


@njit(cache=True, nogil=True)
def run_panel(rows, draws, sweeps, random):  # type: ignore[no-untyped-def]
    """Draw one panel's rule and rates.

    Parameters
    ----------
    rows
        Design and decisions of one physician.
    draws
        What physicians have in common, see `PopulationDraws`.
    sweeps
        How long the chain runs.
    random
        Where its random numbers come from.
    """
    n, d = rows.design.shape
    chain = _beginning(rows, draws)
    n_draws = draws.laws.shape[0]
    recent = np.empty((sweeps.warm + sweeps.burn, d))
    reference = Reference(np.zeros((1, d)), np.zeros((1, d, d)), np.zeros((1, d, d)))
    near = False
    laws = np.empty((sweeps.kept, 5))
    camp = np.zeros(draws.log_share.shape[1])
    sums, g_sums, q_sums = np.zeros(n), np.zeros(n), np.zeros(n)
    before = sweeps.warm + sweeps.burn
    for sweep in range(before + sweeps.kept):
        if sweep < before:
            t = sweep * n_draws // before
        else:
            t = (sweep - before) * n_draws // sweeps.kept
        population = Population(draws.centre[t], draws.spread[t], draws.log_share[t])
        law = draws.laws[t]
        if n > sweeps.small and (sweep == sweeps.warm or sweep == before):
            reference = _reference(recent[max(0, sweep - sweeps.warm * 2 // 3) : sweep])
            near = True
        move_by_prior(rows, chain, population, random)
        if near:
            move_by_reference(rows, chain, population, reference, random)
        draw_rates(rows, chain, (law[0], law[1]), (law[2], law[3]), random)
        change_camps(rows, chain, population, random)
        if sweep < before:
            recent[sweep] = chain.weights[0]
            continue
        laws[sweep - before] = chain.laws[0]
        camp[chain.camp[0]] += 1.0
        if (sweep - before) % sweeps.thin == 0:
            high, low = chain.high[0], chain.low[0]
            for i in range(n):
                g = 1.0 / (1.0 + np.exp(-chain.eta[i]))
                q = low + (high - low) * g
                # A draw that the own decision made likely weighs the less.
                weight = 1.0 / (q if rows.y[i] == 1 else 1.0 - q)
                sums[i] += weight
                g_sums[i] += weight * g
                q_sums[i] += weight * q
    return PanelChain(laws, camp, g_sums / sums, q_sums / sums)


@njit(cache=True, nogil=True)
def mean_rates(laws):  # type: ignore[no-untyped-def]
    """Return the means of p_high and p_low over their laws."""
    high, low = 0.0, 0.0
    for t in range(laws.shape[0]):
        high += laws[t, 0] / (laws[t, 0] + laws[t, 1])
        low += laws[t, 2] / (laws[t, 2] + laws[t, 3])
    return high / laws.shape[0], low / laws.shape[0]


@njit(cache=True, nogil=True)
def mixed_mass(laws, cells, most):  # type: ignore[no-untyped-def]
    """Return the mass of p_high in equal cells under a mixture of Beta laws, at most so many."""
    log_p, log_rest = np.empty(cells), np.empty(cells)
    for a in range(cells):
        p = (a + 0.5) / cells
        log_p[a], log_rest[a] = np.log(p), np.log1p(-p)
    step = -(-laws.shape[0] // most)
    mass, value = np.zeros(cells), np.empty(cells)
    n = 0
    for t in range(0, laws.shape[0], step):
        top = -np.inf
        for a in range(cells):
            value[a] = (laws[t, 0] - 1.0) * log_p[a] + (laws[t, 1] - 1.0) * log_rest[a]
            top = max(top, value[a])
        total = 0.0
        for a in range(cells):
            # What lies so far below adds nothing that could be seen.
            value[a] = np.exp(value[a] - top) if value[a] > top - 45.0 else 0.0
            total += value[a]
        for a in range(cells):
            mass[a] += value[a] / total
        n += 1
    return mass / n
