"""One panel's rates under a rule that is given, on a grid fitted to the panel, compiled.

Given g the decisions are Bernoulli(p_low + (p_high - p_low) g), so that the likelihood of a panel
needs only the counts per score bin, and nothing of other panels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.arrays import FloatArray
from intravar.latent.calibration import EDGE

HIGH_CELLS = 80
LOW_CELLS = 30
#: Shifts that are less likely than this are left out; cells reach so many standard errors.
LEAST_WEIGHT = 1e-4
REACH = 5.0
#: Intercept and slope of the map from scores to g are estimates, and so are the scores. How far
#: these mislead does not show in the counts; with twice the map's doubt intervals hold with one,
#: two and five physicians.
SCORES_TOO = 2.0
#: Patients that the prior of a rate is worth where the doubt about the map reaches it.
STRENGTH = 2.0
#: Steps towards the most likely rates at most, and the change that ends them.
MOST_STEPS, SMALL = 200, 1e-6
#: Products are turned into logarithms below this; more decisions alike are taken as a power.
FLUSH, FEW = 1e-200, 4


class Given(NamedTuple):
    """What all panels have in common; a tuple, because compiled code takes it.

    Attributes
    ----------
    score
        Centre of every score bin.
    intercept, slope
        The calibration of the scores.
    shifts, log_prior
        Points on which a physician's own threshold is weighed, and what is thought of them.
    means, strength
        Peak and strength of the priors that the most likely rates are found under.
    laws, weak
        Parameters of the Beta laws of p_high and p_low; the same, worth no more patients than
        there were physicians.
    map_covariance
        Of intercept and slope.
    """

    score: FloatArray
    intercept: float
    slope: float
    shifts: FloatArray
    log_prior: FloatArray
    means: FloatArray
    strength: float
    laws: FloatArray
    weak: FloatArray
    map_covariance: FloatArray


class PanelGrid(NamedTuple):
    """How likely a panel's decisions are.

    Attributes
    ----------
    grid
        Log-likelihood by shift, p_high and p_low, with what is thought of the shift.
    high_edge, low_edge
        Edges of the cells of both rates.
    share
        Mean of g over the panel, by shift.
    doubt
        Standard deviation of p_high that is owed to the rule being estimated.
    """

    grid: FloatArray
    high_edge: FloatArray
    low_edge: FloatArray
    share: FloatArray
    doubt: float


@njit(cache=True, nogil=True)
def _most_likely_rates(yes, no, g, given):  # type: ignore[no-untyped-def]
    """EM under the priors that peak at the means; the likelihood has one maximum."""
    s, mean_high, mean_low = given.strength, given.means[0], given.means[1]
    n_yes, n_all = yes.sum(), yes.sum() + no.sum()
    share = np.log((n_yes + 1.0) / (n_all - n_yes + 1.0))
    high, low = 1.0 / (1.0 + np.exp(-share - 1.0)), 1.0 / (1.0 + np.exp(1.0 - share))
    for _ in range(MOST_STEPS):
        k = 0.0
        n = 0.0
        for b in range(g.size):
            q = low + (high - low) * g[b]
            k += yes[b] * g[b] * high / q
            n += no[b] * g[b] * (1.0 - high) / (1.0 - q)
        n += k
        new_high = min(max((k + s * mean_high) / (n + s), EDGE), 1.0 - EDGE)
        new_low = min(max((n_yes - k + s * mean_low) / (n_all - n + s), EDGE), 1.0 - EDGE)
        change = max(abs(new_high - high), abs(new_low - low))
        high, low = new_high, new_low
        if change < SMALL:
            break
    return high, low


@njit(cache=True, nogil=True)
def _log_likelihood(yes, no, g, high, low):  # type: ignore[no-untyped-def]
    total = 0.0
    product = 1.0
    for b in range(g.size):
        q = min(max(low + (high - low) * g[b], 1e-300), 1.0)
        rest = max(1.0 - q, 1e-300)
        if yes[b] > FEW:
            total += yes[b] * np.log(q)
        else:
            for _ in range(yes[b]):
                product *= q
                if product < FLUSH:
                    total += np.log(product)
                    product = 1.0
        if no[b] > FEW:
            total += no[b] * np.log(rest)
        else:
            for _ in range(no[b]):
                product *= rest
                if product < FLUSH:
                    total += np.log(product)
                    product = 1.0
    return total + np.log(product)


@njit(cache=True, nogil=True)
def _edges(count, g, rates, weight):  # type: ignore[no-untyped-def]
    """Return edges of the cells of both rates, as wide as the panel's counts ask for."""
    ends = np.empty((2, 2))
    ends[:, 0], ends[:, 1] = 1.0, 0.0
    for u in range(weight.size):
        if weight[u] <= LEAST_WEIGHT:
            continue
        high, low = rates[u]
        a, b, c = 0.0, 0.0, 0.0
        for at in range(count.size):
            q = low + (high - low) * g[u, at]
            w = count[at] / max(q * (1.0 - q), 1e-4)
            a += w * g[u, at] ** 2
            b += w * g[u, at] * (1.0 - g[u, at])
            c += w * (1.0 - g[u, at]) ** 2
        information = (a - b**2 / max(c, 1e-9), c - b**2 / max(a, 1e-9))
        for which in range(2):
            rate = rates[u, which]
            effective = max(information[which], 1e-9) * max(rate * (1.0 - rate), 1e-4)
            smooth = (rate * effective + 1.0) / (effective + 2.0)
            reach = REACH * np.sqrt(smooth * (1.0 - smooth) / (effective + 1.0))
            ends[which, 0] = min(ends[which, 0], max(rate - reach, 0.0))
            ends[which, 1] = max(ends[which, 1], min(rate + reach, 1.0))
    high_edge = ends[0, 0] + (ends[0, 1] - ends[0, 0]) * np.linspace(0, 1, HIGH_CELLS + 1)
    low_edge = ends[1, 0] + (ends[1, 1] - ends[1, 0]) * np.linspace(0, 1, LOW_CELLS + 1)
    return high_edge, low_edge


@njit(cache=True, nogil=True)
def _doubt(count, score, g, high, low, covariance):  # type: ignore[no-untyped-def]
    """Return how far p_high would follow intercept and slope of the map, times their doubt."""
    own = np.zeros((2, 2))
    cross = np.zeros((2, 2))
    for b in range(count.size):
        q = min(max(low + (high - low) * g[b], 1e-4), 1.0 - 1e-4)
        w = count[b] / (q * (1.0 - q))
        bend = (high - low) * g[b] * (1.0 - g[b])
        slopes = (g[b], 1.0 - g[b])
        for a in range(2):
            for c in range(2):
                own[a, c] += w * slopes[a] * slopes[c]
            cross[a, 0] += w * slopes[a] * bend
            cross[a, 1] += w * slopes[a] * bend * score[b]
    for a, rate in enumerate((high, low)):
        rate = min(max(rate, 1e-3), 1.0 - 1e-3)
        own[a, a] += STRENGTH / (rate * (1.0 - rate))
    determinant = own[0, 0] * own[1, 1] - own[0, 1] * own[1, 0]
    variance = 0.0
    reply = np.empty(2)
    for c in range(2):
        reply[c] = (own[1, 1] * cross[0, c] - own[0, 1] * cross[1, c]) / determinant
    for a in range(2):
        for c in range(2):
            variance += reply[a] * covariance[a, c] * reply[c]
    return SCORES_TOO * np.sqrt(max(variance, 0.0))


@njit(cache=True, nogil=True)
def posterior_mass(joint, high, low, laws):  # type: ignore[no-untyped-def]
    """Return the posterior mass; cells of a grid are equally wide."""
    of_high = (laws[0] - 1.0) * np.log(high) + (laws[1] - 1.0) * np.log1p(-high)
    of_low = (laws[2] - 1.0) * np.log(low) + (laws[3] - 1.0) * np.log1p(-low)
    top = -np.inf
    for u in range(joint.shape[0]):
        for a in range(high.size):
            for c in range(low.size):
                top = max(top, joint[u, a, c] + of_high[a] + of_low[c])
    out = np.empty(joint.shape)
    total = 0.0
    for u in range(joint.shape[0]):
        for a in range(high.size):
            for c in range(low.size):
                mass = np.exp(joint[u, a, c] + of_high[a] + of_low[c] - top)
                out[u, a, c] = mass
                total += mass
    return out / total


@njit(cache=True, nogil=True)
def panel_grid(place, y, given):  # type: ignore[no-untyped-def]
    """Return how likely one panel's decisions are, given the score bin of every patient."""
    counts = np.zeros((2, given.score.size), np.int64)
    for i in range(y.size):
        counts[y[i], place[i]] += 1
    used = np.flatnonzero(counts[0] + counts[1])
    no, yes, score = counts[0][used], counts[1][used], given.score[used]
    count = yes + no
    n_shifts = given.shifts.size
    g = np.empty((n_shifts, used.size))
    rates = np.empty((n_shifts, 2))
    joint = np.empty(n_shifts)
    share = np.zeros(n_shifts)
    for u in range(n_shifts):
        for b in range(used.size):
            eta = given.intercept + given.slope * score[b] + given.shifts[u]
            g[u, b] = 1.0 / (1.0 + np.exp(-eta))
            share[u] += count[b] * g[u, b]
        share[u] /= max(count.sum(), 1)
        high, low = _most_likely_rates(yes, no, g[u], given)
        rates[u] = high, low
        joint[u] = _log_likelihood(yes, no, g[u], high, low) + given.log_prior[u]
        for rate, mean in ((high, given.means[0]), (low, given.means[1])):
            joint[u] += given.strength * mean * np.log(rate)
            joint[u] += given.strength * (1.0 - mean) * np.log1p(-rate)
    weight = np.exp(joint - joint.max())
    weight /= weight.sum()
    shift, mean_high, mean_low = 0.0, 0.0, 0.0
    for u in range(n_shifts):
        shift += weight[u] * given.shifts[u]
        mean_high += weight[u] * rates[u, 0]
        mean_low += weight[u] * rates[u, 1]
    moved = 1.0 / (1.0 + np.exp(-given.intercept - given.slope * score - shift))
    doubt = _doubt(count, score, moved, mean_high, mean_low, given.map_covariance)
    high_edge, low_edge = _edges(count, g, rates, weight)
    high, low = (high_edge[1:] + high_edge[:-1]) / 2, (low_edge[1:] + low_edge[:-1]) / 2
    grid = np.full((n_shifts, high.size, low.size), -np.inf)
    for u in range(n_shifts):
        if weight[u] > LEAST_WEIGHT:
            for a in range(high.size):
                for c in range(low.size):
                    value = _log_likelihood(yes, no, g[u], high[a], low[c])
                    grid[u, a, c] = value + given.log_prior[u]
    return PanelGrid(grid, high_edge, low_edge, share, doubt)


@njit(cache=True, nogil=True)
def likelihoods(place, y, first, given):  # type: ignore[no-untyped-def]
    """Return every panel's likelihood, shifts summed out, beside its largest, and the rates."""
    n = first.size - 1
    out = np.zeros((n, HIGH_CELLS, LOW_CELLS))
    high, low = np.empty((n, HIGH_CELLS)), np.empty((n, LOW_CELLS))
    for j in range(n):
        part = slice(first[j], first[j + 1])
        read = panel_grid(place[part], y[part], given)
        high[j] = (read.high_edge[1:] + read.high_edge[:-1]) / 2
        low[j] = (read.low_edge[1:] + read.low_edge[:-1]) / 2
        top = read.grid.max()
        for u in range(given.shifts.size):
            out[j] += np.exp(read.grid[u] - top)
    return out, high, low


@njit(cache=True, nogil=True)
def read_panels(place, y, first, given):  # type: ignore[no-untyped-def]
    """Read every panel; return mean rates and shifts, masses of p_high with edges, and doubts."""
    n = first.size - 1
    means, doubt = np.zeros((n, 3)), np.empty(n)
    mass, weak = np.zeros((n, HIGH_CELLS)), np.zeros((n, HIGH_CELLS))
    edge = np.empty((n, HIGH_CELLS + 1))
    for j in range(n):
        part = slice(first[j], first[j + 1])
        read = panel_grid(place[part], y[part], given)
        high = (read.high_edge[1:] + read.high_edge[:-1]) / 2
        low = (read.low_edge[1:] + read.low_edge[:-1]) / 2
        weight = posterior_mass(read.grid, high, low, given.laws)
        weak_weight = posterior_mass(read.grid, high, low, given.weak)
        edge[j], doubt[j] = read.high_edge, read.doubt
        for u in range(given.shifts.size):
            for a in range(HIGH_CELLS):
                for c in range(LOW_CELLS):
                    mass[j, a] += weight[u, a, c]
                    weak[j, a] += weak_weight[u, a, c]
                    means[j, 1] += weight[u, a, c] * low[c]
                    means[j, 2] += weight[u, a, c] * given.shifts[u]
        for a in range(HIGH_CELLS):
            means[j, 0] += mass[j, a] * high[a]
    return means, mass, weak, edge, doubt
