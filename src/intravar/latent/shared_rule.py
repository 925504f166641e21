"""Rates under the rule that all share: learned from held-out scores, then read panel by panel.

Given g the decisions are Bernoulli(p_low + (p_high - p_low) g), so that the likelihood of a panel,
on a grid of rates fitted to it, needs only its counts per score bin, and nothing of other panels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.latent.calibration import (
    EDGE,
    SHIFT_POINTS,
    STRENGTH,
    TIGHT,
    Calibration,
    Counts,
    calibrate,
    count,
    decision_log_likelihood,
)
from intravar.latent.crossfit import CrossFit, one_class_log_likelihood
from intravar.latent.rates import (
    LatentReading,
    Law,
    Posterior,
    Within,
    cells_of,
    learn_laws,
    no_stronger,
    panel_discordance,
)
from intravar.panels import PanelDecisions, Panels
from intravar.processes import interrupts_wait

#: Cells of p_high and p_low, and of the discordance of a whole panel.
HIGH_CELLS, LOW_CELLS, PANEL_CELLS = 80, 30, 1000
#: Shifts that are less likely than this are left out; cells reach so many standard errors.
LEAST_WEIGHT = 1e-4
REACH = 5.0
#: Intercept and slope of the map from scores to g are estimates, and so are the scores. How far
#: these mislead does not show in the counts; with twice the map's doubt intervals hold with one,
#: two and five physicians.
SCORES_TOO = 2.0
#: Steps towards the most likely rates at most, and the change that ends them.
MOST_STEPS, SMALL = 200, 1e-6
#: Products are turned into logarithms below this; more decisions alike are taken as a power.
FLUSH, FEW = 1e-200, 4


class Given(NamedTuple):
    """What all panels have in common.

    The centre of every score bin and the calibration; shifts of a physician's own threshold with
    what is thought of them; peaks of the priors under which the most likely rates are found; the
    Beta laws of p_high and p_low, and `weak`, the same worth no more patients than there were
    physicians; the covariance of intercept and slope.
    """

    score: FloatArray
    intercept: float
    slope: float
    shifts: FloatArray
    log_prior: FloatArray
    means: FloatArray
    laws: FloatArray
    weak: FloatArray
    map_covariance: FloatArray


class PanelGrid(NamedTuple):
    """How likely a panel's decisions are.

    `grid` is the log-likelihood by shift, p_high and p_low, with what is thought of the shift;
    `share` the mean of g by shift; `doubt` the standard deviation of p_high owed to the rule being
    estimated.
    """

    grid: FloatArray
    high_edge: FloatArray
    low_edge: FloatArray
    share: FloatArray
    doubt: float


@njit(cache=True, nogil=True)
def _most_likely_rates(yes, no, g, means, strength):  # type: ignore[no-untyped-def]
    """EM under the priors that peak at the means; the likelihood has one maximum."""
    n_yes, n_all = 0, 0
    for b in range(g.size):
        n_yes += yes[b]
        n_all += yes[b] + no[b]
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
        new_high = (k + strength * means[0]) / (n + strength)
        new_low = (n_yes - k + strength * means[1]) / (n_all - n + strength)
        new_high = min(max(new_high, EDGE), 1.0 - EDGE)
        new_low = min(max(new_low, EDGE), 1.0 - EDGE)
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
def _fit_shifts(yes, no, g, means, strength, rates, value):  # type: ignore[no-untyped-def]
    """Fill in the most likely rates by shift, and their log posterior."""
    for u in range(value.size):
        high, low = _most_likely_rates(yes, no, g[u], means, strength)
        rates[u, 0], rates[u, 1] = high, low
        value[u] = _log_likelihood(yes, no, g[u], high, low)
        for which in range(2):
            value[u] += strength * means[which] * np.log(rates[u, which])
            value[u] += strength * (1.0 - means[which]) * np.log1p(-rates[u, which])


@njit(cache=True, nogil=True)
def _fill_grid(yes, no, g, high, low, grid):  # type: ignore[no-untyped-def]
    for u in range(grid.shape[0]):
        for a in range(high.size):
            for c in range(low.size):
                grid[u, a, c] = _log_likelihood(yes, no, g[u], high[a], low[c])


def _cell_edges(count: IntArray, g: FloatArray, rates: FloatArray) -> list[FloatArray]:
    """Return edges of the cells of both rates, as wide as the panel's counts ask for."""
    high, low = rates[:, :1], rates[:, 1:]
    q = low + (high - low) * g
    w = count / np.maximum(q * (1.0 - q), 1e-4)
    a, b = (w * g**2).sum(axis=1), (w * g * (1.0 - g)).sum(axis=1)
    c = (w * (1.0 - g) ** 2).sum(axis=1)
    parts = a - b**2 / np.maximum(c, 1e-9), c - b**2 / np.maximum(a, 1e-9)
    information = np.maximum(np.column_stack(parts), 1e-9)
    effective = information * np.maximum(rates * (1.0 - rates), 1e-4)
    smooth = (rates * effective + 1.0) / (effective + 2.0)
    reach = REACH * np.sqrt(smooth * (1.0 - smooth) / (effective + 1.0))
    least = np.maximum(rates - reach, 0.0).min(axis=0)
    most = np.minimum(rates + reach, 1.0).max(axis=0)
    cells = (HIGH_CELLS, LOW_CELLS)
    return [least[k] + (most[k] - least[k]) * np.linspace(0, 1, cells[k] + 1) for k in range(2)]


def _information(
    count: npt.NDArray[Any],
    score: FloatArray,
    g: FloatArray,
    high: FloatArray,
    low: FloatArray,
) -> FloatArray:
    """Return the Fisher information of p_high, p_low, and intercept and slope of the map.

    Counts and g go by score bin, last; rates have a last axis of one. Those of a prior are added.
    """
    q = np.clip(low + (high - low) * g, 1e-4, 1.0 - 1e-4)
    bend = (high - low) * g * (1.0 - g)
    slopes = np.stack([g, 1.0 - g, bend, bend * score])
    found = np.einsum("a...b,c...b,...b->...ac", slopes, slopes, count / (q * (1.0 - q)))
    for at, rate in enumerate((high, low)):
        p = np.clip(rate[..., 0], 1e-3, 1.0 - 1e-3)
        found[..., at, at] += STRENGTH / (p * (1.0 - p))
    return np.asarray(found)


def _doubt(information: FloatArray, covariance: FloatArray) -> float:
    """Return how far p_high would follow intercept and slope of the map, times their doubt."""
    reply = np.linalg.solve(information[:2, :2], information[:2, 2:])[0]
    return float(SCORES_TOO * np.sqrt(max(reply @ covariance @ reply, 0.0)))


def posterior_mass(
    joint: FloatArray, high: FloatArray, low: FloatArray, laws: FloatArray
) -> FloatArray:
    """Return the posterior mass; cells of a grid are equally wide."""
    of_high = (laws[0] - 1.0) * np.log(high) + (laws[1] - 1.0) * np.log1p(-high)
    of_low = (laws[2] - 1.0) * np.log(low) + (laws[3] - 1.0) * np.log1p(-low)
    value = joint + of_high[:, None] + of_low
    mass: FloatArray = np.exp(value - value.max())
    mass /= mass.sum()
    return mass


def panel_grid(place: IntArray, y: IntArray, given: Given) -> PanelGrid:
    """Return how likely one panel's decisions are, given the score bin of every patient."""
    n_bins, n_shifts = len(given.score), len(given.shifts)
    no, yes = np.bincount(n_bins * y + place, minlength=2 * n_bins).reshape(2, n_bins)
    used = np.flatnonzero(no + yes)
    no, yes, score = no[used], yes[used], given.score[used]
    count = yes + no
    eta = given.intercept + given.slope * score
    g = 1.0 / (1.0 + np.exp(-eta - given.shifts[:, None]))
    rates, joint = np.empty((n_shifts, 2)), np.empty(n_shifts)
    _fit_shifts(yes, no, g, given.means, STRENGTH, rates, joint)
    joint += given.log_prior
    weight = np.exp(joint - joint.max())
    weight /= weight.sum()
    moved = 1.0 / (1.0 + np.exp(-eta - (weight * given.shifts).sum()))
    mean_rates = (weight[:, None] * rates).sum(axis=0)[:, None]
    doubt = _doubt(_information(count, score, moved, *mean_rates), given.map_covariance)
    likely = weight > LEAST_WEIGHT
    high_edge, low_edge = _cell_edges(count, g[likely], rates[likely])
    some = np.empty((int(likely.sum()), HIGH_CELLS, LOW_CELLS))
    _fill_grid(yes, no, g[likely], middles(high_edge), middles(low_edge), some)
    grid = np.full((n_shifts, HIGH_CELLS, LOW_CELLS), -np.inf)
    grid[likely] = some + given.log_prior[likely, None, None]
    share = (count * g).sum(axis=1) / max(count.sum(), 1)
    return PanelGrid(grid, high_edge, low_edge, share, doubt)


def middles(edge: FloatArray) -> FloatArray:
    """Return the middle of every cell."""
    return (edge[1:] + edge[:-1]) / 2


def likelihoods(
    place: IntArray, y: IntArray, first: IntArray, given: Given
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return every panel's likelihood, shifts summed out, beside its largest, and the rates."""
    n = len(first) - 1
    out = np.zeros((n, HIGH_CELLS, LOW_CELLS))
    high, low = np.empty((n, HIGH_CELLS)), np.empty((n, LOW_CELLS))
    for j in range(n):
        part = slice(first[j], first[j + 1])
        read = panel_grid(place[part], y[part], given)
        high[j], low[j] = middles(read.high_edge), middles(read.low_edge)
        out[j] = np.exp(read.grid - read.grid.max()).sum(axis=0)
    return out, high, low


class PanelRates(NamedTuple):
    """What is read of panels: mean rates and shifts, and posteriors under the laws and the weak."""

    means: FloatArray
    posterior: Posterior
    weak: Posterior


def read_panels(
    place: IntArray, y: IntArray, first: IntArray, given: Given, within: Within = "eligible"
) -> PanelRates:
    """Read every panel by its patients' score bins and decisions; panels begin at `first`."""
    n, whole = len(first) - 1, within == "panel"
    means, doubt = np.zeros((n, 3)), np.empty(n)
    cells = PANEL_CELLS if whole else HIGH_CELLS
    mass, weak = np.ones((n, cells)), np.ones((n, cells))
    edge, weak_edge = np.empty((n, cells + 1)), np.empty((n, cells + 1))
    for j in range(n):
        part = slice(first[j], first[j + 1])
        read = panel_grid(place[part], y[part], given)
        high, low = middles(read.high_edge), middles(read.low_edge)
        weight, weaker = (
            posterior_mass(read.grid, high, low, laws) for laws in (given.laws, given.weak)
        )
        by_shift, by_high, by_low = (weight.sum(axis=tuple({0, 1, 2} - {at})) for at in range(3))
        means[j] = (by_high * high).sum(), (by_low * low).sum(), (by_shift * given.shifts).sum()
        doubt[j] = read.doubt
        if whole:
            value = panel_discordance(high[:, None], low, read.share[:, None, None])
            edge[j], weak_edge[j] = (cells_of(value, each, cells) for each in (weight, weaker))
            doubt[j] *= (by_shift * read.share).sum() * np.abs(2 - 4 * means[j, 0])
        else:
            edge[j], weak_edge[j] = read.high_edge, read.high_edge
            mass[j], weak[j] = by_high, weaker.sum(axis=(0, 2))
    posterior = Posterior(mass, edge, whole)
    return PanelRates(means, posterior, Posterior(weak, weak_edge, whole, doubt))


#: Gain in log-likelihood that personal thresholds must show over a shared one.
THRESHOLD_MARGIN = 10.0


@dataclass(frozen=True)
class SharedRule:
    """What is held in common beside the logits of the shared rule.

    Scores are counted between `edges`, each cell in a bin; `sign` is -1 if the classes were
    switched. `path` is the calibration's log-likelihood by iteration. Without a rule `everybody` is
    eligible.
    """

    edges: FloatArray
    bins: IntArray
    given: Given
    sign: float = 1.0
    path: FloatArray = field(default_factory=lambda: np.array([np.nan]))
    converged: bool = True
    everybody: bool = False

    @property
    def thresholds(self) -> bool:
        """Whether thresholds are personal."""
        return len(self.given.shifts) > 1

    @property
    def laws(self) -> tuple[Law, Law]:
        """The Beta laws of p_high and p_low; of the latter there is none without a rule."""
        a, b, c, d = (float(part) for part in self.given.laws)
        return (a, b), ((np.nan, np.nan) if self.everybody else (c, d))

    def read(self, logit: FloatArray, panels: Panels, within: Within) -> LatentReading:
        """Read every panel by the shared rule's logit of g, given in the order of the panels."""
        given, code = self.given, panels.code
        turned = self.sign * logit
        place = self.bins[np.searchsorted(self.edges, turned)]
        with interrupts_wait():
            read = read_panels(place, panels.y, panels.first, given, within)
        high, low, shift = (np.ascontiguousarray(part) for part in read.means.T)
        g = expit(given.intercept + given.slope * turned + shift[code])
        return LatentReading(
            high,
            np.full(len(panels), np.nan) if self.everybody else low,
            read.posterior.mean(),
            shift,
            np.zeros(len(panels), dtype=np.int64),
            read.weak,
            g if self.everybody else expit(turned),
            g,
            low[code] + (high - low)[code] * g,
        )


def learn_shared(logit: FloatArray, panels: Panels, thresholds: bool) -> SharedRule:
    """Calibrate held-out logits once more on all patients and learn the laws of the rates.

    `thresholds` says whether thresholds may be personal, where the data ask for it.
    """
    decided = panels.decisions
    counts = count(logit, decided)
    fit, personal = _final(counts, thresholds)
    switched = bool(fit.mean_high.mean() < fit.mean_low.mean())
    if switched:
        # The classes came out switched: the eligible are those decided for more often.
        counts = count(-logit, decided)
        fit, personal = _final(counts, thresholds)
    given = Given(
        counts.score,
        fit.intercept,
        fit.slope,
        fit.shifts,
        -0.5 * SHIFT_POINTS**2 if personal else np.zeros(1),
        np.array(fit.means),
        np.ones(4),
        np.ones(4),
        map_covariance(counts, fit),
    )
    sign = -1.0 if switched else 1.0
    return SharedRule(
        counts.edges,
        counts.bin_of_cell(),
        _with_laws(given, counts, panels),
        sign,
        np.array(fit.path),
        fit.converged,
    )


def everybody_eligible(panels: Panels) -> SharedRule:
    """Learn the law of the rates where there is no rule: g is 1 for all."""
    counts = count(np.zeros(len(panels.y)), panels.decisions)
    share = np.full(2, counts.yes.sum() / max(len(panels.y), 1))
    one, nothing = np.zeros(1), np.zeros((2, 2))
    given = Given(counts.score, np.inf, 0.0, one, one, share, np.ones(4), np.ones(4), nothing)
    given = _with_laws(given, counts, panels)
    return SharedRule(counts.edges, counts.bin_of_cell(), given, everybody=True)


def _with_laws(given: Given, counts: Counts, panels: Panels) -> Given:
    """Return the same with the Beta laws that everybody's rates most likely come from."""
    with interrupts_wait():
        grids = likelihoods(counts.bin, panels.y, panels.first, given)
    laws = learn_laws(*grids)
    weak = [no_stronger(law, len(panels)) for law in laws]
    return given._replace(laws=np.array(laws).ravel(), weak=np.array(weak).ravel())


def map_covariance(counts: Counts, fit: Calibration) -> FloatArray:
    """Return the covariance of intercept and slope of the map from scores to g.

    Rates are read from g = sigma(a + b score), and a and b are estimates. With few patients in all,
    whatever the number per physician, that doubt is larger than the one about a physician's own
    counts. It follows from the joint Fisher information of map and rates in one pass.
    """
    g = expit(fit.logit(counts.score)[None, :] + fit.shift[:, None])
    rates = fit.mean_high[:, None], fit.mean_low[:, None]
    found = _information(counts.yes + counts.no, counts.score, g, *rates)
    reply = np.linalg.solve(found[:, :2, :2], found[:, :2, 2:])
    shared = found[:, 2:, 2:] - np.swapaxes(found[:, :2, 2:], 1, 2) @ reply
    prior = np.diag(1 / np.square(TIGHT[1][:2]))
    return np.asarray(np.linalg.inv(shared.sum(axis=0) + prior))


def held_out_on_first(
    crossed: CrossFit, decided: PanelDecisions, fold: IntArray, shared: SharedRule
) -> float:
    """Return the log-likelihood of the first fold's decisions, read from the other folds.

    Under the shared rule, with personal thresholds if these were found.
    """
    rest, own = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    here = decided.take(own)
    if shared.everybody:
        return one_class_log_likelihood(decided.take(rest), here)
    fit, _ = _final(count(crossed.nested[rest], decided.take(rest)), shared.thresholds)
    logit = fit.logit(crossed.nested[own]) + fit.shift[here.physician]
    return decision_log_likelihood(logit, here, fit.mean_high, fit.mean_low)


def _final(counts: Counts, thresholds: bool) -> tuple[Calibration, bool]:
    """Calibrate with scores that are calibrated already; say whether thresholds are personal."""
    fit = calibrate(counts, tight=True)
    if thresholds:
        personal = calibrate(counts, fit, personal=True, tight=True)
        if personal.log_likelihood > fit.log_likelihood + THRESHOLD_MARGIN:
            return personal, True
    return fit, False
