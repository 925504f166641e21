"""Posterior of one physician's rates given the calibrated rule, on a grid fitted to the physician.

Given g the decisions are Bernoulli(p_low + (p_high - p_low) g), so the likelihood of a physician
needs only the counts per score bin.  Beta priors for p_high and p_low, shared by all physicians,
have mean and strength estimated by marginal maximum likelihood (empirical Bayes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, expit, polygamma
from scipy.stats import beta, norm

from intravar.arrays import BoolArray, FloatArray
from intravar.latent.calibration import Calibration, Counts
from intravar.latent.calibration_kernel import occupied
from intravar.latent.rate_grid import by_shift, over_shifts, whole_grid

HIGH_CELLS = 80
LOW_CELLS = 30
LEAST_WEIGHT = 1e-4
REACH = 5.0
STRENGTH_RANGE = (1.0, 2000.0)
# Where all rates are alike the best prior is a point, and Newton would walk to infinity.
LOG_RANGE = (np.log(1e-3), np.log(1e6))


@dataclass
class RatePosterior:
    """Posterior mass on each physician's own grid of (shift, p_high, p_low).

    Attributes
    ----------
    high, low
        Midpoints of the cells, one row per physician.
    high_edge
        Edges of the cells of p_high.
    mass
        Of all shifts together, physician x p_high x p_low.
    by_shift
        Of every shift, physician x shift.
    share
        Mean of g over the panel, physician x shift.
    prior_high, prior_low
        The two parameters of the Beta priors.
    whole
        Works out physician x shift x p_high x p_low: large, and rarely asked for.
    """

    high: FloatArray
    low: FloatArray
    high_edge: FloatArray
    mass: FloatArray
    by_shift: FloatArray
    share: FloatArray
    prior_high: tuple[float, float]
    prior_low: tuple[float, float]
    whole: Callable[[], FloatArray]

    def mean_rates(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means of p_high and p_low."""
        return (
            np.asarray((self.mass.sum(axis=2) * self.high).sum(axis=1)),
            np.asarray((self.mass.sum(axis=1) * self.low).sum(axis=1)),
        )

    def shift(self, points: FloatArray) -> FloatArray:
        """Posterior mean shift of the threshold."""
        return np.asarray(self.by_shift @ points)

    def eligible_discordance(self) -> EligibleDiscordance:
        """Posterior of 2 p_high (1 - p_high)."""
        return EligibleDiscordance(self.mass.sum(axis=2), self.high_edge)

    def under_weak_laws(self) -> RatePosterior:
        """Return the posterior under laws worth no more patients than there are physicians."""
        laws, factors = [], []
        for p, law in ((self.high, self.prior_high), (self.low, self.prior_low)):
            weak = no_stronger(law, len(p))
            one = np.ones((len(p), 1))
            # Where the strong law gives nothing, nothing can be had back.
            factors.append(_beta_mass(p, one, weak) / np.maximum(_beta_mass(p, one, law), 1e-300))
            laws.append(weak)
        # One after the other: together they may exceed any number where there is no mass.
        high, low = factors[0][:, :, None], factors[1][:, None, :]

        def whole() -> FloatArray:
            weight = self.whole() * high[:, None] * low[:, None]
            return np.asarray(weight / weight.sum(axis=(1, 2, 3), keepdims=True))

        mass = self.mass * high * low
        mass /= mass.sum(axis=(1, 2), keepdims=True)
        return replace(self, mass=mass, prior_high=laws[0], prior_low=laws[1], whole=whole)

    def panel_discordance(self) -> PanelDiscordance:
        """Posterior of share 2h(1 - h) + (1 - share) 2l(1 - l)."""
        h, low = self.high[:, None, :, None], self.low[:, None, None, :]
        share = self.share[:, :, None, None]
        value = share * h * (1 - h) + (1 - share) * low * (1 - low)
        value = (2 * value).reshape(len(h), -1)
        mass = self.whole().reshape(len(h), -1)
        order = np.argsort(value, axis=1)
        value = np.take_along_axis(value, order, axis=1)
        run = np.cumsum(np.take_along_axis(mass, order, axis=1), axis=1)
        mean = (np.diff(run, axis=1, prepend=0) * value).sum(axis=1)
        spread = (np.diff(run, axis=1, prepend=0) * (value - mean[:, None]) ** 2).sum(axis=1)
        points = np.linspace(0, 1, 1001)
        quantiles = [np.interp(points, r, v) for r, v in zip(run, value, strict=True)]
        return PanelDiscordance(mean, np.sqrt(spread), points, np.array(quantiles))


@dataclass
class EligibleDiscordance:
    """Posterior of a physician's discordance among eligible patients.

    Attributes
    ----------
    mass, edge
        Posterior mass of p_high in cells, and the cells' edges, one row per physician.
    doubt
        Standard deviation of p_high beyond that mass, None if there is none: intervals carry it.
    """

    mass: FloatArray
    edge: FloatArray
    doubt: FloatArray | None = None

    def mean(self) -> FloatArray:
        """Posterior mean."""
        p = (self.edge[:, 1:] + self.edge[:, :-1]) / 2
        return np.asarray((self.mass * 2 * p * (1 - p)).sum(axis=1) / self.mass.sum(axis=1))

    def standard_deviation(self) -> FloatArray:
        """Posterior standard deviation."""
        p = (self.edge[:, 1:] + self.edge[:, :-1]) / 2
        off = 2 * p * (1 - p) - self.mean()[:, None]
        return np.asarray(np.sqrt((self.mass * off**2).sum(axis=1) / self.mass.sum(axis=1)))

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Map the shortest interval of p_high through 2p(1 - p), ends and fold included."""
        ends = np.array(
            [shortest_interval(m, e, level) for m, e in zip(self.mass, self.edge, strict=True)]
        ).reshape(-1, 2)
        if self.doubt is not None:
            ends = self._with_doubt(ends, level, self.doubt)
        value = 2 * ends * (1 - ends)
        top = np.where((ends[:, 0] <= 0.5) & (ends[:, 1] >= 0.5), 0.5, value.max(axis=1))
        return value.min(axis=1), top

    def _with_doubt(self, ends: FloatArray, level: float, doubt: FloatArray) -> FloatArray:
        """Move both ends away from the mean, as variances add up."""
        p = (self.edge[:, 1:] + self.edge[:, :-1]) / 2
        mean = ((self.mass * p).sum(axis=1) / self.mass.sum(axis=1))[:, None]
        reach = np.sqrt((ends - mean) ** 2 + (norm.ppf((1 + level) / 2) * doubt[:, None]) ** 2)
        wide = np.clip(mean + reach * [-1.0, 1.0], 0.0, 1.0)
        return np.column_stack(
            [np.minimum(wide[:, 0], ends[:, 0]), np.maximum(wide[:, 1], ends[:, 1])]
        )


@dataclass
class PanelDiscordance:
    """Posterior of a physician's discordance over the whole panel, as quantiles.

    `doubt` is a standard deviation beyond that posterior, which intervals carry.
    """

    means: FloatArray
    deviations: FloatArray
    points: FloatArray
    quantiles: FloatArray
    doubt: FloatArray | None = None

    @classmethod
    def together(cls, parts: Sequence[PanelDiscordance]) -> PanelDiscordance:
        """Return posteriors of some physicians as one."""
        doubts = [each.doubt for each in parts if each.doubt is not None]
        return cls(
            np.concatenate([each.means for each in parts]),
            np.concatenate([each.deviations for each in parts]),
            parts[0].points,
            np.concatenate([each.quantiles for each in parts]),
            np.concatenate(doubts) if doubts else None,
        )

    def mean(self) -> FloatArray:
        """Posterior mean."""
        return self.means

    def standard_deviation(self) -> FloatArray:
        """Posterior standard deviation."""
        return self.deviations

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the shortest interval; one that begins with the smallest values begins at 0."""
        tails = np.linspace(0, 1 - level, 201)
        ends = []
        for quantiles in self.quantiles:
            low = np.interp(tails, self.points, quantiles)
            high = np.interp(tails + level, self.points, quantiles)
            best = int(np.argmin(high - low))
            ends.append((0.0 if best == 0 else low[best], high[best]))
        found = np.array(ends).reshape(-1, 2)
        if self.doubt is not None:
            mean = self.means[:, None]
            more = norm.ppf((1 + level) / 2) * self.doubt[:, None]
            wide = mean + np.sqrt((found - mean) ** 2 + more**2) * [-1.0, 1.0]
            found = np.clip(wide, 0.0, 0.5)
        return found[:, 0], found[:, 1]


def shortest_interval(mass: FloatArray, edge: FloatArray, level: float) -> tuple[float, float]:
    """Return the shortest run of cells that holds `level` of the mass.

    Its ends are interpolated inside their cells, but an interval that reaches the last cell of
    the unit interval with its densest part keeps the boundary.

    Examples
    --------
    >>> low, high = shortest_interval(np.array([0.0, 0.02, 0.98]), np.array([0, 0.4, 0.8, 1]), 0.95)
    >>> round(low, 2), round(high, 2)
    (0.8, 0.99)
    """
    run = np.concatenate([[0.0], np.cumsum(mass)])
    run /= run[-1]
    tails = np.linspace(0.0, 1 - level, 201)
    low = np.interp(tails, run, edge)
    high = np.interp(tails + level, run, edge)
    if edge[-1] == 1.0:
        high[-1] = 1.0
    if edge[0] == 0.0:
        low[0] = 0.0
    best = int(np.argmin(high - low))
    return float(low[best]), float(high[best])


def _cells(centre: FloatArray, spread: FloatArray, cells: int) -> FloatArray:
    """Return edges of cells that reach `REACH` spreads to both sides within [0, 1]."""
    low = np.clip((centre - REACH * spread).min(axis=1), 0.0, 1.0)
    high = np.clip((centre + REACH * spread).max(axis=1), 0.0, 1.0)
    return np.asarray(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, cells + 1))


def _spread(rate: FloatArray, size: FloatArray) -> FloatArray:
    """Return the standard error of a rate, never zero."""
    smooth = (rate * size + 1) / (size + 2)
    return np.asarray(np.sqrt(smooth * (1 - smooth) / (size + 1)))


def rate_posterior(counts: Counts, fit: Calibration, max_iter: int = 60) -> RatePosterior:
    """Compute the grid posterior and the empirical-Bayes priors."""
    yes, no = counts.yes, counts.no
    g = expit(fit.logit(counts.score)[None, :] + fit.shifts[:, None])
    n = yes + no
    size = n.sum(axis=1, keepdims=True)
    likely = fit.weight > LEAST_WEIGHT
    edges = _edges(n, fit, g, likely)
    high, low = ((e[:, 1:] + e[:, :-1]) / 2 for e in edges)
    point = fit.shifts / fit.spread if g.shape[0] > 1 else np.zeros(1)
    grid = (occupied(yes, no), g, high, low, likely)
    log_prior = -0.5 * point**2
    likelihood, top = over_shifts(*grid, log_prior)
    cell_width = [np.diff(e, axis=1) for e in edges]
    prior_high, prior_low = (1.0, 1.0), (1.0, 1.0)
    for _ in range(max_iter):
        before = prior_high + prior_low
        factor_high = _beta_mass(high, cell_width[0], prior_high)
        factor_low = _beta_mass(low, cell_width[1], prior_low)
        mass_high = factor_high * np.einsum("jhl,jl->jh", likelihood, factor_low)
        mass_low = factor_low * np.einsum("jhl,jh->jl", likelihood, factor_high)
        prior_high = fit_beta(mass_high / mass_high.sum(axis=1, keepdims=True), high)
        prior_low = fit_beta(mass_low / mass_low.sum(axis=1, keepdims=True), low)
        if np.allclose(before, prior_high + prior_low, rtol=1e-3):
            break
    mass = likelihood
    mass *= factor_high[:, :, None]
    mass *= factor_low[:, None, :]
    total = mass.sum(axis=(1, 2))
    mass /= total[:, None, None]
    moved = np.ones((len(mass), 1))
    if g.shape[0] > 1:
        moved = by_shift(*grid, log_prior, top, factor_high, factor_low) / total[:, None]

    def whole() -> FloatArray:
        weight = whole_grid(*grid)
        weight += log_prior[:, None, None]
        weight -= top[:, None, None, None]
        np.exp(weight, out=weight)
        weight *= (factor_high / total[:, None])[:, None, :, None]
        weight *= factor_low[:, None, None, :]
        return np.asarray(weight)

    share = (n @ g.T) / size
    return RatePosterior(high, low, edges[0], mass, moved, share, prior_high, prior_low, whole)


def _edges(n: FloatArray, fit: Calibration, g: FloatArray, likely: BoolArray) -> list[FloatArray]:
    """Return edges of the cells of p_high and of p_low, as wide as a physician's counts ask for."""
    # effective numbers of patients that speak on p_high and on p_low
    q = fit.p_low[:, :, None] + (fit.p_high - fit.p_low)[:, :, None] * g
    w = n[:, None, :] / np.clip(q * (1 - q), 1e-4, None)
    a, b, c = (w * g**2).sum(2), (w * g * (1 - g)).sum(2), (w * (1 - g) ** 2).sum(2)
    share_high = np.clip(a - b**2 / np.maximum(c, 1e-9), 1e-9, None)
    share_low = np.clip(c - b**2 / np.maximum(a, 1e-9), 1e-9, None)
    edges = []
    for rate, information, cells in (
        (fit.p_high, share_high, HIGH_CELLS),
        (fit.p_low, share_low, LOW_CELLS),
    ):
        effective = information * np.clip(rate * (1 - rate), 1e-4, None)
        spread = np.where(likely, _spread(rate, effective), 0.0)
        best = np.take_along_axis(rate, fit.weight.argmax(axis=1)[:, None], axis=1)
        edges.append(_cells(np.where(likely, rate, best), spread, cells))
    return edges


def _beta_mass(p: FloatArray, width: FloatArray, prior: tuple[float, float]) -> FloatArray:
    value = (prior[0] - 1) * np.log(p) + (prior[1] - 1) * np.log1p(-p)
    return np.asarray(np.exp(value - value.max(axis=1, keepdims=True)) * width)


def fit_beta(mass: FloatArray, p: FloatArray) -> tuple[float, float]:
    """Maximum likelihood of a Beta law from expected logarithms (Newton steps)."""
    mean = float((mass * p).sum() / mass.sum())
    variance = float((mass * (p - mean) ** 2).sum() / mass.sum())
    size = np.clip(mean * (1 - mean) / max(variance, 1e-9) - 1, *STRENGTH_RANGE)
    s = np.array([(mass * np.log(p)).sum(), (mass * np.log1p(-p)).sum()]) / mass.sum()
    theta = np.log(np.maximum([mean * size, (1 - mean) * size], 0.05))
    for _ in range(50):
        a = np.exp(theta)
        total = a.sum()
        slope = a * (s - digamma(a) + digamma(total))
        bend = np.diag(a**2 * polygamma(1, a)) - np.outer(a, a) * polygamma(1, total)
        step = np.clip(np.linalg.solve(bend + 1e-9 * np.eye(2), slope), -1, 1)
        theta = np.clip(theta + step, *LOG_RANGE)
        if np.abs(step).max() < 1e-6:
            break
    a = np.exp(theta)
    a *= np.clip(a.sum(), *STRENGTH_RANGE) / a.sum()
    return float(a[0]), float(a[1])


def no_stronger(law: tuple[float, float], n_physicians: int) -> tuple[float, float]:
    """Return the law, worth no more patients than there are physicians who taught it.

    One physician's rate is explained best by a law that allows no other; such a law says nothing.

    Examples
    --------
    >>> no_stronger((90.0, 10.0), 10)
    (9.0, 1.0)
    """
    part = min(1.0, max(n_physicians, 1) / sum(law))
    return law[0] * part, law[1] * part


def one_class_posterior(
    k: FloatArray, n: FloatArray, law: tuple[float, float]
) -> tuple[EligibleDiscordance, FloatArray]:
    """Return the posterior when all patients count as eligible, and the rates."""
    a, b = k + law[0], n - k + law[1]
    edge = np.linspace(0, 1, 2001)
    mass = np.diff(beta.cdf(edge[None, :], a[:, None], b[:, None]), axis=1)
    return EligibleDiscordance(mass, np.tile(edge, (k.size, 1))), a / (a + b)


def fit_beta_binomial(k: FloatArray, n: FloatArray, max_iter: int = 200) -> tuple[float, float]:
    """Fit a Beta law to binomial rates by EM on a grid (empirical Bayes)."""
    edge = np.linspace(0, 1, 401)
    p = np.broadcast_to((edge[1:] + edge[:-1]) / 2, (k.size, 400))
    like = k[:, None] * np.log(p) + (n - k)[:, None] * np.log1p(-p)
    like = np.exp(like - like.max(axis=1, keepdims=True))
    prior = (1.0, 1.0)
    for _ in range(max_iter):
        before = prior
        mass = like * _beta_mass(p, np.ones((k.size, 1)), prior)
        mass /= mass.sum(axis=1, keepdims=True)
        prior = fit_beta(mass, p)
        if np.allclose(before, prior, rtol=1e-3):
            break
    return prior
