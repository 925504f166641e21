"""The physicians' weights and rates, compiled: one sweep through all, and one panel's chain.

Weights move by elliptical slice sampling: a proposal lies on an ellipse through the present weights
and a draw from a Gaussian, and shrinks towards the present until it is likely enough. No step size
is to be tuned, and a point on the ellipse costs one exponential per patient.

Where a panel is read, what physicians have in common is not drawn but taken from the chain of those
who were learned from, one of its draws after the other, so that what is unsure about it is in the
panel's posterior too.

References
----------
Murray, Adams and MacKay, Elliptical slice sampling, AISTATS 2010. Nishihara, Murray and Adams,
Parallel MCMC with generalized elliptical slice sampling, JMLR 2014;15:2087-2112.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.arrays import FloatArray, IntArray
from intravar.latent.personal.panel_rows import PanelDraws, PanelRows

SMALLEST_BRACKET = 1e-6
TINY = 1e-300
RATE_EDGE = 1e-6
RATE_TRIES = 20
#: Products are turned into logarithms below this.
FLUSH = 1e-12


class Chain(NamedTuple):
    """Where the chain stands; the moves below write into these arrays.

    Weights, rates and camp of every physician; `eta`, the logit g of every patient under the own
    physician's rule; `laws`, Beta parameters of both rates given the rule, and the share that it
    makes eligible.
    """

    weights: FloatArray
    eta: FloatArray
    high: FloatArray
    low: FloatArray
    camp: IntArray
    laws: FloatArray


class Population(NamedTuple):
    """Camps: centre and spread of their members' weights, and log of their shares."""

    centre: FloatArray
    spread: FloatArray
    log_share: FloatArray


class Reference(NamedTuple):
    """A Gaussian near each physician's posterior, from which ellipses are drawn."""

    centre: FloatArray
    factor: FloatArray
    precision: FloatArray


class PopulationDraws(NamedTuple):
    """Draws of what physicians have in common: camps, and the four parameters of both Beta laws."""

    centre: FloatArray
    spread: FloatArray
    log_share: FloatArray
    laws: FloatArray


class Sweeps(NamedTuple):
    """How long a panel's chain runs; a tuple, because compiled code takes it.

    `warm` sweeps from the camps' ellipses alone and `burn` with ellipses near the posterior are
    thrown away; of those kept every `thin`-th looks at the patients. In panels of up to `small`
    patients the camps' ellipses are near enough to the posterior.
    """

    warm: int = 60
    burn: int = 40
    kept: int = 300
    thin: int = 3
    small: int = 20


@njit(cache=True, nogil=True)
def panel_log_likelihood(eta, y, high, low):  # type: ignore[no-untyped-def]
    """Log-likelihood of one physician's decisions; logarithms are taken of products."""
    total = 0.0
    product = 1.0
    contrast = high - low
    for i in range(y.size):
        q = low + contrast / (1.0 + np.exp(-eta[i]))
        product *= q if y[i] == 1 else 1.0 - q
        if product < FLUSH:
            total += np.log(product)
            product = 1.0
    return total + np.log(product)


@njit(cache=True, nogil=True)
def _along(ellipse, angle, y, high, low, floor):  # type: ignore[no-untyped-def]
    """Log-likelihood at an angle; minus infinity as soon as it is below the floor.

    No term is positive, so what has fallen below stays there: most proposals end early.
    """
    base, here, there = ellipse
    across, up = np.cos(angle), np.sin(angle)
    total = 0.0
    product = 1.0
    contrast = high - low
    for i in range(y.size):
        eta = base[i] + across * here[i] + up * there[i]
        q = low + contrast / (1.0 + np.exp(-eta))
        product *= q if y[i] == 1 else 1.0 - q
        if product < FLUSH:
            total += np.log(product)
            product = 1.0
            if total < floor:
                return -np.inf
    return total + np.log(product)


@njit(cache=True, nogil=True)
def _reach(design, weights, out):  # type: ignore[no-untyped-def]
    """Fill in the weighted sum of every row; rows are short, so a plain loop beats a product."""
    for i in range(design.shape[0]):
        total = 0.0
        for c in range(design.shape[1]):
            total += design[i, c] * weights[c]
        out[i] = total


@njit(cache=True, nogil=True)
def _ellipse(rows, chain, part, centre, away, room):  # type: ignore[no-untyped-def]
    """Return what logit g is made of along an ellipse, in room that all panels share."""
    size = part.stop - part.start
    base, here, there = room[0, :size], room[1, :size], room[2, :size]
    _reach(rows.design[part], centre, base)
    _reach(rows.design[part], away, there)
    for i in range(size):
        here[i] = chain.eta[part.start + i] - base[i]
    return base, here, there


@njit(cache=True, nogil=True)
def _target(ellipse, form, angle, y, high, low, floor):  # type: ignore[no-untyped-def]
    """Log-likelihood at an angle plus a quadratic form of its cosine and sine; see above."""
    across, up = np.cos(angle), np.sin(angle)
    value = form[0] + form[1] * across + form[2] * up
    value += form[3] * across * across + form[4] * across * up + form[5] * up * up
    return value + _along(ellipse, angle, y, high, low, floor - value)


@njit(cache=True, nogil=True)
def _slice(chain, j, part, y, ellipse, form, here, centre, away, random):  # type: ignore[no-untyped-def]
    """Set weights and logit g of a physician to a point of the ellipse that is likely enough.

    `here` is the log of the target where the physician is.
    """
    level = here + np.log(random.random() + TINY)
    angle = random.random() * 2 * np.pi
    low_angle, high_angle = angle - 2 * np.pi, angle
    while True:
        likely = _target(ellipse, form, angle, y, chain.high[j], chain.low[j], level) > level
        if likely or high_angle - low_angle < SMALLEST_BRACKET:
            break
        if angle < 0:
            low_angle = angle
        else:
            high_angle = angle
        angle = low_angle + random.random() * (high_angle - low_angle)
    base, along, there = ellipse
    across, up = np.cos(angle), np.sin(angle)
    for c in range(centre.size):
        offset = chain.weights[j, c] - centre[c]
        chain.weights[j, c] = centre[c] + (across * offset + up * away[c])
    for i in range(base.size):
        chain.eta[part.start + i] = base[i] + across * along[i] + up * there[i]


@njit(cache=True, nogil=True)
def move_by_prior(rows, chain, population, random):  # type: ignore[no-untyped-def]
    """Move every physician's weights along an ellipse drawn from the camp."""
    away, form = np.empty(rows.design.shape[1]), np.zeros(6)
    room = np.empty((3, max(np.max(np.diff(rows.first)), 1)))
    for j in range(rows.first.size - 1):
        part = slice(rows.first[j], rows.first[j + 1])
        y = rows.y[part]
        centre = population.centre[chain.camp[j]]
        spread = population.spread[chain.camp[j]]
        for c in range(away.size):
            away[c] = random.standard_normal() * spread[c]
        ellipse = _ellipse(rows, chain, part, centre, away, room)
        here = panel_log_likelihood(chain.eta[part], y, chain.high[j], chain.low[j])
        _slice(chain, j, part, y, ellipse, form, here, centre, away, random)


@njit(cache=True, nogil=True)
def _log_ratio(weights, reference, j, away, mean, spread):  # type: ignore[no-untyped-def]
    """Return the log of prior over reference along an ellipse, as a quadratic form.

    That is, coefficients of 1, cos, sin, cos^2, cos sin and sin^2 of the angle.
    """
    centre, precision = reference.centre[j], reference.precision[j]
    form = np.zeros(6)
    for c in range(away.size):
        offset = weights[c] - centre[c]
        from_mean, across, up = centre[c] - mean[c], 0.0, 0.0
        for d in range(away.size):
            across += precision[c, d] * (weights[d] - centre[d])
            up += precision[c, d] * away[d]
        share = 1.0 / spread[c] ** 2
        form[0] -= 0.5 * from_mean * from_mean * share
        form[1] -= from_mean * offset * share
        form[2] -= from_mean * away[c] * share
        form[3] += 0.5 * offset * (across - offset * share)
        form[4] += offset * (up - away[c] * share)
        form[5] += 0.5 * away[c] * (up - away[c] * share)
    return form


@njit(cache=True, nogil=True)
def move_by_reference(rows, chain, population, reference, random):  # type: ignore[no-untyped-def]
    """Move every physician's weights along an ellipse drawn from near the posterior.

    The target is likelihood times prior over the reference, times the reference.
    """
    d = rows.design.shape[1]
    normal, away = np.empty(d), np.empty(d)
    room = np.empty((3, max(np.max(np.diff(rows.first)), 1)))
    for j in range(rows.first.size - 1):
        part = slice(rows.first[j], rows.first[j + 1])
        y, centre = rows.y[part], reference.centre[j]
        mean = population.centre[chain.camp[j]]
        spread = population.spread[chain.camp[j]]
        for c in range(d):
            normal[c] = random.standard_normal()
        _reach(reference.factor[j], normal, away)
        ellipse = _ellipse(rows, chain, part, centre, away, room)
        form = _log_ratio(chain.weights[j], reference, j, away, mean, spread)
        here = _target(ellipse, form, 0.0, y, chain.high[j], chain.low[j], -np.inf)
        _slice(chain, j, part, y, ellipse, form, here, centre, away, random)


@njit(cache=True, nogil=True)
def draw_rates(rows, chain, prior_high, prior_low, random):  # type: ignore[no-untyped-def]
    """Draw who is eligible, and given that the rates; p_high stays above p_low."""
    for j in range(rows.first.size - 1):
        high, low, laws = chain.high[j], chain.low[j], chain.laws[j]
        laws[0], laws[1] = prior_high
        laws[2], laws[3] = prior_low
        eligible = 0
        for i in range(rows.first[j], rows.first[j + 1]):
            g = 1.0 / (1.0 + np.exp(-chain.eta[i]))
            q = low + (high - low) * g
            r = g * high / q if rows.y[i] == 1 else g * (1.0 - high) / (1.0 - q)
            if random.random() < r:
                eligible += 1
                laws[1 - rows.y[i]] += 1.0
            else:
                laws[3 - rows.y[i]] += 1.0
        laws[4] = eligible / max(rows.first[j + 1] - rows.first[j], 1)
        for _ in range(RATE_TRIES):
            p = min(max(random.beta(laws[0], laws[1]), RATE_EDGE), 1.0 - RATE_EDGE)
            other = min(max(random.beta(laws[2], laws[3]), RATE_EDGE), 1.0 - RATE_EDGE)
            if p > other:
                chain.high[j], chain.low[j] = p, other
                break


@njit(cache=True, nogil=True)
def change_camps(rows, chain, population, random):  # type: ignore[no-untyped-def]
    """Propose another camp to every physician, who keeps the standardised place in it."""
    n_camps = population.log_share.size
    room = np.empty(max(np.max(np.diff(rows.first)), 1))
    for j in range(rows.first.size - 1):
        part = slice(rows.first[j], rows.first[j + 1])
        old = chain.camp[j]
        new = int(random.random() * n_camps)
        if new == old:
            continue
        place = (chain.weights[j] - population.centre[old]) / population.spread[old]
        weights = population.centre[new] + place * population.spread[new]
        eta = room[: part.stop - part.start]
        _reach(rows.design[part], weights, eta)
        y, high, low = rows.y[part], chain.high[j], chain.low[j]
        gain = panel_log_likelihood(eta, y, high, low)
        gain -= panel_log_likelihood(chain.eta[part], y, high, low)
        gain += population.log_share[new] - population.log_share[old]
        if gain > np.log(random.random() + TINY):
            chain.camp[j] = new
            chain.weights[j] = weights
            chain.eta[part] = eta


@njit(cache=True, nogil=True)
def shift_camp(rows, chain, population, camp, delta, width, random):  # type: ignore[no-untyped-def]
    """Propose to move a camp's centre and all its members together; say whether it was done.

    Where members hardly differ, a centre that moves alone would hardly move at all.
    """
    centre = population.centre[camp]
    gain = 0.5 * (np.sum(centre**2) - np.sum((centre + delta) ** 2)) / width**2
    eta = np.empty(rows.y.size)
    for j in range(rows.first.size - 1):
        if chain.camp[j] == camp:
            part = slice(rows.first[j], rows.first[j + 1])
            y, high, low = rows.y[part], chain.high[j], chain.low[j]
            _reach(rows.design[part], delta, eta[part])
            for i in range(part.start, part.stop):
                eta[i] += chain.eta[i]
            gain += panel_log_likelihood(eta[part], y, high, low)
            gain -= panel_log_likelihood(chain.eta[part], y, high, low)
    if gain <= np.log(random.random() + TINY):
        return False
    centre += delta
    for j in range(rows.first.size - 1):
        if chain.camp[j] == camp:
            part = slice(rows.first[j], rows.first[j + 1])
            chain.weights[j] += delta
            chain.eta[part] = eta[part]
    return True


@njit(cache=True, nogil=True)
def near_posterior(recent):  # type: ignore[no-untyped-def]
    """Return a Gaussian around every physician's recent draws, somewhat wider than they are.

    `recent` holds weights by draw, physician and column.
    """
    n, J, d = recent.shape
    centre = np.zeros((J, d))
    factor, precision = np.empty((J, d, d)), np.empty((J, d, d))
    for t in range(n):
        centre += recent[t]
    centre /= n
    for j in range(J):
        covariance = np.zeros((d, d))
        for t in range(n):
            away = recent[t, j] - centre[j]
            for a in range(d):
                for b in range(d):
                    covariance[a, b] += 1.3 * away[a] * away[b] / n
        for a in range(d):
            # Few draws in many dimensions: without this the covariance would be singular.
            covariance[a, a] += max(0.1 * covariance[a, a], 1e-3)
        factor[j], precision[j] = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
    return Reference(centre, factor, precision)


@njit(cache=True, nogil=True)
def _beginning(rows, draws):  # type: ignore[no-untyped-def]
    """Begin in the middle of the camp that explains the decisions best, with average rates."""
    n, d = rows.design.shape
    laws = draws.laws[0]
    high, low = laws[0] / (laws[0] + laws[1]), laws[2] / (laws[2] + laws[3])
    best, camp = -np.inf, 0
    eta = np.zeros(n)
    for k in range(draws.log_share.shape[1]):
        at = np.empty(n)
        _reach(rows.design, draws.centre[0, k], at)
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
def run_panel(design, y, known, draws, sweeps, tested, random):  # type: ignore[no-untyped-def]
    """Draw one panel's rule and rates, given draws of what physicians have in common.

    `known` are positions of the patients whose decisions count; the others are predicted. Of so
    many draws as are `tested`, P(yes) is kept.
    """
    n, d = design.shape
    rows = PanelRows(design[known], y[known], np.array([0, known.size]))
    chain = _beginning(rows, draws)
    n_draws = draws.laws.shape[0]
    recent = np.empty((sweeps.warm + sweeps.burn, 1, d))
    reference = Reference(np.zeros((1, d)), np.zeros((1, d, d)), np.zeros((1, d, d)))
    near = False
    laws = np.empty((sweeps.kept, 5))
    camp = np.zeros(draws.log_share.shape[1])
    sums, g_sums, q_sums = np.zeros(n), np.zeros(n), np.zeros(n)
    drawn = np.empty((tested, n))
    told = np.zeros(n, np.bool_)
    told[known] = True
    eta = np.empty(n)
    before = sweeps.warm + sweeps.burn
    for sweep in range(before + sweeps.kept):
        if sweep < before:
            t = sweep * n_draws // before
        else:
            t = (sweep - before) * n_draws // sweeps.kept
        population = Population(draws.centre[t], draws.spread[t], draws.log_share[t])
        law = draws.laws[t]
        if known.size > sweeps.small and (sweep == sweeps.warm or sweep == before):
            reference = near_posterior(recent[max(0, sweep - sweeps.warm * 2 // 3) : sweep])
            near = True
        move_by_prior(rows, chain, population, random)
        if near:
            move_by_reference(rows, chain, population, reference, random)
        draw_rates(rows, chain, (law[0], law[1]), (law[2], law[3]), random)
        change_camps(rows, chain, population, random)
        if sweep < before:
            recent[sweep, 0] = chain.weights[0]
            continue
        laws[sweep - before] = chain.laws[0]
        camp[chain.camp[0]] += 1.0
        if (sweep - before) % sweeps.thin == 0:
            high, low = chain.high[0], chain.low[0]
            look = (sweep - before) // sweeps.thin
            looks = -(-sweeps.kept // sweeps.thin)
            test = look * tested // looks
            _reach(design, chain.weights[0], eta)
            for i in range(n):
                g = 1.0 / (1.0 + np.exp(-eta[i]))
                q = low + (high - low) * g
                if tested > 0:
                    drawn[test, i] = q
                # A draw that the own decision made likely weighs the less.
                weight = 1.0
                if told[i]:
                    weight = 1.0 / (q if y[i] == 1 else 1.0 - q)
                sums[i] += weight
                g_sums[i] += weight * g
                q_sums[i] += weight * q
    return PanelDraws(laws, int(camp.argmax()), g_sums / sums, q_sums / sums, drawn)
