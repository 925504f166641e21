"""Weighted sums with personal weights: the posterior of every physician's rule and rates.

y ~ p_low_j + (p_high_j - p_low_j) sigma(v_j . x), v_j Gaussian around the centre of one of a few
camps. One camp that agrees on everything is the rule that all share; that differs in the intercept
alone, personal thresholds; one wide camp, a rule of one's own each. Nothing is plugged in: weights,
camps and the laws of the rates are drawn together, so that the rates are not read from a rule that
was fitted to the same decisions as if it were known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.interrupts import interrupts_wait
from intravar.latent.personal.chain_kernel import (
    Chain,
    Population,
    Reference,
    change_camps,
    draw_rates,
    move_by_prior,
    move_by_reference,
    shift_camp,
)
from intravar.latent.personal.panel_rows import PanelRows
from intravar.latent.personal.population import (
    CENTRE_WIDTH,
    draw_beta_law,
    draw_population,
    found_camps,
    wide_population,
)
from intravar.latent.personal.rate_draws import RateDraws

#: Sweeps before the laws of the rates, and before the camps, are learned.
HOLD_LAWS, HOLD_CAMPS = 20, 40
#: Sweeps from one look at a camp's information to the next, while burning in.
LOOK_AGAIN = 50
#: Moves of each camp's centre in a sweep.
CAMP_MOVES = 2


@dataclass(frozen=True)
class ChainSettings:
    """How long a chain runs.

    Parameters
    ----------
    burn_in
        Sweeps that are thrown away: in the first half everybody is in one wide camp.
    sweeps
        Sweeps that are kept.
    thin
        Every so many of them the weights are kept too.
    n_camps
        Camps to begin with; those that are not needed empty.
    """

    burn_in: int = 400
    sweeps: int = 600
    thin: int = 4
    n_camps: int = 4


class PopulationDraws(NamedTuple):
    """Draws of what physicians have in common, in step with the weights; compiled code takes it.

    Attributes
    ----------
    centre, spread, log_share
        Of the camps: draw x camp x column, and draw x camp.
    laws
        Parameters of the Beta laws of p_high and p_low, draw x 4.
    """

    centre: FloatArray
    spread: FloatArray
    log_share: FloatArray
    laws: FloatArray


@dataclass(frozen=True)
class LinearRules:
    """Draws from the posterior of personal weights.

    Attributes
    ----------
    draws
        Laws of the rates, given the rule, by draw.
    weights
        Draw x physician x column of the design.
    high, low
        Rates, draw x physician, in step with the weights.
    camp
        Camp of every physician at the end.
    population
        What the physicians have in common.
    """

    draws: RateDraws
    weights: FloatArray
    high: FloatArray
    low: FloatArray
    camp: IntArray
    population: PopulationDraws

    def predict(self, design: FloatArray, physician: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the probability of a decision for, and of being eligible, for these patients."""
        q, g = np.zeros(len(design)), np.zeros(len(design))
        for weights, high, low in zip(self.weights, self.high, self.low, strict=True):
            now = expit(np.einsum("ic,ic->i", design, weights[physician]))
            g += now
            q += low[physician] + (high - low)[physician] * now
        return q / len(self.weights), g / len(self.weights)

    def predict_draws(self, design: FloatArray, physician: IntArray, most: int) -> list[FloatArray]:
        """Return the probability of a decision for under single draws, at most so many."""
        step = max(len(self.weights) // most, 1)
        found = []
        for t in range(0, len(self.weights), step):
            g = expit(np.einsum("ic,ic->i", design, self.weights[t][physician]))
            low = self.low[t][physician]
            found.append(low + (self.high[t][physician] - low) * g)
        return found[:most]


def sample_linear_rules(
    rows: PanelRows, settings: ChainSettings, random: np.random.Generator
) -> LinearRules:
    """Draw from the posterior of weights, camps and rates by Gibbs and slice sampling.

    Parameters
    ----------
    rows
        Design and decisions by physician.
    settings
        How long the chain runs.
    random
        Where its random numbers come from.

    Examples
    --------
    >>> from intravar.latent.decided import Decided
    >>> from intravar.latent.personal.panel_rows import by_physician
    >>> random = np.random.default_rng(0)
    >>> x, who = random.normal(size=800), np.repeat([0, 1], 400)
    >>> eligible = np.where(who == 0, x > 0, x < 0)
    >>> y = (random.random(800) < np.where(eligible, 0.9, 0.05)).astype(np.int64)
    >>> rows = by_physician(np.column_stack([np.ones(800), x]), Decided(y, who, 2))
    >>> found = sample_linear_rules(rows, ChainSettings(100, 100), random)
    >>> found.draws.mean_rates()[0].round(1).tolist()
    [0.9, 0.9]
    """
    chain = _beginning(rows)
    population = wide_population(rows.design.shape[1])
    prior_high, prior_low = (3.0, 1.0), (1.0, 9.0)
    reference: Reference | None = None
    steps: list[FloatArray] = []
    kept = _Kept()
    half = settings.burn_in // 2
    looks = {half // 2, half + half // 2, settings.burn_in - 1}
    for sweep in range(settings.burn_in + settings.sweeps):
        if sweep == half:
            mean = np.mean(kept.recent[-max(half // 2, 1) :], axis=0)
            population, camp = found_camps(mean, settings.n_camps, 0)
            chain.camp[:] = camp
        with interrupts_wait():
            move_by_prior(rows, chain, population, random)
            if reference is not None:
                move_by_reference(rows, chain, population, reference, random)
            draw_rates(rows, chain, prior_high, prior_low, random)
        if sweep > HOLD_LAWS:
            prior_high = draw_beta_law(chain.high, prior_high, random)
            prior_low = draw_beta_law(chain.low, prior_low, random)
        if sweep > HOLD_CAMPS:
            population = draw_population(population, chain.weights, chain.camp, random)
        if sweep > half:
            if not steps or (sweep < settings.burn_in and sweep % LOOK_AGAIN == 1):
                steps = [_step(rows, chain, k) for k in range(len(population.log_share))]
            with interrupts_wait():
                _move_camps(rows, chain, population, steps, random)
        if sweep < settings.burn_in:
            kept.recent.append(chain.weights.copy())
            del kept.recent[: -max(30, half // 2)]
            if sweep in looks:
                reference = _reference(np.array(kept.recent[-max(30, half // 3) :]))
        else:
            kept.keep(chain, with_weights=(sweep - settings.burn_in) % settings.thin == 0)
            if (sweep - settings.burn_in) % settings.thin == 0:
                kept.keep_common(population, prior_high + prior_low)
    return kept.rules(chain.camp.copy(), prior_high, prior_low)


def _beginning(rows: PanelRows) -> Chain:
    """Return flat rules and rates to either side of every physician's share."""
    n_physicians = rows.n_physicians
    size = np.diff(rows.first)
    given = np.add.reduceat(np.append(rows.y, 0), rows.first[:-1]) * (size > 0)
    share = (given + 1) / (size + 2)
    return Chain(
        weights=np.zeros((n_physicians, rows.design.shape[1])),
        eta=np.zeros(rows.y.size),
        high=np.clip(share + 0.3, 0.5, 0.95),
        low=np.clip(share - 0.3, 0.02, 0.3),
        camp=np.zeros(n_physicians, dtype=np.int64),
        laws=np.ones((n_physicians, 5)),
    )


def _move_camps(
    rows: PanelRows,
    chain: Chain,
    population: Population,
    steps: list[FloatArray],
    random: np.random.Generator,
) -> None:
    change_camps(rows, chain, population, random)
    for k in np.flatnonzero(np.bincount(chain.camp, minlength=len(steps))):
        for _ in range(CAMP_MOVES):
            delta = steps[k] @ random.standard_normal(len(steps[k]))
            shift_camp(rows, chain, population, k, delta, CENTRE_WIDTH, random)


def _step(rows: PanelRows, chain: Chain, camp: int) -> FloatArray:
    """Return a factor of the covariance by which a camp's centre is known, shrunk to a step."""
    who = np.repeat(np.arange(rows.n_physicians), np.diff(rows.first))
    at = np.flatnonzero(chain.camp[who] == camp)
    who, design, g = who[at], rows.design[at], expit(chain.eta[at])
    contrast = (chain.high - chain.low)[who]
    q = chain.low[who] + contrast * g
    weight = (contrast * g * (1 - g)) ** 2 / (q * (1 - q))
    width = design.shape[1]
    information = (design * weight[:, None]).T @ design + np.eye(width) / CENTRE_WIDTH**2
    return np.asarray(np.linalg.cholesky(np.linalg.inv(information)) * 2 / np.sqrt(width))


def _reference(weights: FloatArray) -> Reference:
    """Return a Gaussian around recent draws, somewhat wider than they are."""
    centre = weights.mean(axis=0)
    away = weights - centre
    covariance = 1.3 * np.einsum("tjc,tjd->jcd", away, away) / len(weights)
    # Few draws in many dimensions: without this the covariance would be singular.
    spare = np.maximum(0.1 * np.einsum("jcc->jc", covariance), 1e-3)
    covariance += np.einsum("jc,cd->jcd", spare, np.eye(weights.shape[2]))
    return Reference(centre, np.linalg.cholesky(covariance), np.linalg.inv(covariance))


class _Kept:
    """What is kept of a chain."""

    def __init__(self) -> None:
        self.recent: list[FloatArray] = []
        self._laws: list[FloatArray] = []
        self._weights: list[FloatArray] = []
        self._high: list[FloatArray] = []
        self._low: list[FloatArray] = []
        self._camps: list[Population] = []
        self._common_laws: list[tuple[float, ...]] = []

    def keep(self, chain: Chain, with_weights: bool) -> None:
        self.recent.clear()
        self._laws.append(chain.laws.copy())
        if with_weights:
            self._weights.append(chain.weights.copy())
            self._high.append(chain.high.copy())
            self._low.append(chain.low.copy())

    def keep_common(self, population: Population, laws: tuple[float, ...]) -> None:
        # A camp that moves writes into its centre.
        self._camps.append(Population(*(part.copy() for part in population)))
        self._common_laws.append(laws)

    def rules(
        self, camp: IntArray, prior_high: tuple[float, float], prior_low: tuple[float, float]
    ) -> LinearRules:
        laws = np.array(self._laws)
        draws = RateDraws(laws[..., :2], laws[..., 2:4], laws[..., 4], prior_high, prior_low)
        weights, high, low = (np.array(part) for part in (self._weights, self._high, self._low))
        centre, spread, share = (np.array(part) for part in zip(*self._camps, strict=True))
        population = PopulationDraws(centre, spread, share, np.array(self._common_laws))
        return LinearRules(draws, weights, high, low, camp, population)
