"""Weighted sums with personal weights: the posterior of every physician's rule and rates.

y ~ p_low_j + (p_high_j - p_low_j) sigma(v_j . x), v_j Gaussian around the centre of one of a few
camps. One camp that agrees on everything is the rule that all share; that differs in the intercept
alone, personal thresholds; one wide camp, a rule of one's own each. Nothing is plugged in: weights,
camps and the laws of the rates are drawn together, so that the rates are not read from a rule that
was fitted to the same decisions as if it were known.

How widely weights spread around a camp's centre, covariate by covariate, has a half-Cauchy prior,
so that a camp may agree on some covariates and differ on others. Rates have Beta laws with a mean
and a strength to be learned.

References
----------
Wand et al., Mean field variational Bayes for elaborate distributions, Bayesian Analysis
2011;6:847-900, for the half-Cauchy law as a mixture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, expit
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.personal.chain_kernel import (
    Chain,
    Population,
    PopulationDraws,
    Reference,
    Sweeps,
    change_camps,
    draw_rates,
    move_by_prior,
    move_by_reference,
    near_posterior,
    run_panel,
    shift_camp,
)
from intravar.latent.personal.panel_rows import PanelDraws, PanelRows, Standard, design_of
from intravar.latent.rates import Law
from intravar.panels import Panels
from intravar.processes import interrupts_wait

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


#: Sweeps before the laws of the rates, and before the camps, are learned.
HOLD_LAWS, HOLD_CAMPS = 20, 40
#: Sweeps from one look at a camp's information to the next, while burning in.
LOOK_AGAIN = 50
#: Moves of each camp's centre in a sweep.
CAMP_MOVES = 2
SWEEPS = Sweeps()


@dataclass(frozen=True)
class ChainSettings:
    """How long a chain runs, and how many camps it begins with; those that are not needed empty.

    Sweeps of the burn-in are thrown away: in their first half everybody is in one wide camp. Of the
    others every `thin`-th is kept.
    """

    burn_in: int = 400
    sweeps: int = 600
    thin: int = 4
    n_camps: int = 4


@dataclass(frozen=True)
class CommonWeights:
    """What personal weights have in common.

    The columns of the covariates they look at, how the shared rule's logit is standardised, and
    draws of the camps and of the laws of the rates.
    """

    columns: IntArray
    logit: Standard
    population: PopulationDraws

    name = "personal weights"

    @property
    def laws(self) -> tuple[Law, Law]:
        """Beta laws of p_high and p_low, as they were drawn last."""
        a, b, c, d = (float(part) for part in self.population.laws[-1])
        return (a, b), (c, d)

    @classmethod
    def learn(
        cls,
        z: FloatArray,
        columns: IntArray,
        panels: Panels,
        known: BoolArray,
        random: np.random.Generator,
        shared: FloatArray,
        settings: ChainSettings,
    ) -> CommonWeights:
        """Learn camps and laws from the decisions on `known`; `columns` of z are weighed.

        `shared` is the shared rule's logit, as known without the decisions of the others.
        """
        logit = Standard.of(shared[:, None])
        design = design_of(z[known][:, columns], shared[known], logit)
        sizes = np.bincount(panels.code[known], minlength=len(panels))
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = PanelRows(np.ascontiguousarray(design), panels.y[known], first)
        return cls(columns, logit, learn_population(rows, settings, random))

    def reader(
        self, z: FloatArray, shared: FloatArray, panels: Panels, known: BoolArray, tested: int
    ) -> Callable[[int, np.random.Generator], PanelDraws]:
        """Return what reads a panel by its number; see :func:`run_panel`."""
        design = np.ascontiguousarray(design_of(z[:, self.columns], shared, self.logit))

        def read(j: int, random: np.random.Generator) -> PanelDraws:
            part = panels.part(j)
            own = np.flatnonzero(known[part])
            with interrupts_wait():
                found: PanelDraws = run_panel(
                    design[part], panels.y[part], own, self.population, SWEEPS, tested, random
                )
            return found

        return read


def learn_population(
    rows: PanelRows, settings: ChainSettings, random: np.random.Generator
) -> PopulationDraws:
    """Draw camps and laws, with all weights and rates, by Gibbs and slice sampling.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> x, who = random.normal(size=800), np.repeat([0, 1], 400)
    >>> eligible = np.where(who == 0, x > 0, x < 0)
    >>> y = (random.random(800) < np.where(eligible, 0.9, 0.05)).astype(np.int64)
    >>> rows = PanelRows(np.column_stack([np.ones(800), x]), y, np.array([0, 400, 800]))
    >>> found = learn_population(rows, ChainSettings(100, 100), random)
    >>> bool(abs(found.laws[:, 0] / found.laws[:, :2].sum(axis=1)).mean() > 0.7)
    True
    """
    chain = _beginning(rows)
    population = wide_population(rows.design.shape[1])
    prior_high, prior_low = (3.0, 1.0), (1.0, 9.0)
    reference: Reference | None = None
    steps: list[FloatArray] = []
    recent: list[FloatArray] = []
    kept: list[tuple[FloatArray, ...]] = []
    half = settings.burn_in // 2
    looks = {half // 2, half + half // 2, settings.burn_in - 1}
    for sweep in range(settings.burn_in + settings.sweeps):
        if sweep == half:
            mean = np.mean(recent[-max(half // 2, 1) :], axis=0)
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
            recent.append(chain.weights.copy())
            del recent[: -max(30, half // 2)]
            if sweep in looks:
                reference = near_posterior(np.array(recent[-max(30, half // 3) :]))
        elif (sweep - settings.burn_in) % settings.thin == 0:
            # A camp that moves writes into its centre.
            camps = (part.copy() for part in population)
            kept.append((*camps, np.array(prior_high + prior_low)))
    return PopulationDraws(*(np.array(part) for part in zip(*kept, strict=True)))


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
