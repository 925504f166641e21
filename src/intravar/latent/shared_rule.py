"""Rates under the rule that all share: learned from held-out scores, then read panel by panel.

Given g the decisions are Bernoulli(p_low + (p_high - p_low) g), so that the likelihood of a panel,
on a grid of rates fitted to it, needs only its counts per score bin, and nothing of other panels.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent import calibration, rates
from intravar.latent.rates import LatentReading, Law, Posterior, Within, middles
from intravar.observed import Observed
from intravar.panels import Panels

#: Cells of p_high and p_low, and of the discordance of a whole panel.
HIGH_CELLS, LOW_CELLS, PANEL_CELLS = 80, 30, 1000
#: Cells per rate while the grid is narrowed to where the posterior lies, and how often that is.
COARSE, ZOOMS = 20, 3
#: Rates, and shifts, that are less likely than the best by a factor of exp(-12) are left out.
FURTHEST = 12.0
#: Gain in log-likelihood that personal thresholds must show over a shared one.
THRESHOLD_MARGIN = 10.0
#: Intercept and slope of the map from scores to g are estimates, and so are the scores. How far
#: these mislead does not show in the counts; with twice the map's doubt intervals hold with one,
#: two and five physicians.
SCORES_TOO = 2.0


@dataclass(frozen=True, eq=False)
class SharedRule:
    """What all panels have in common beside the logits of the shared rule.

    Scores are counted between `edges`, each cell in a bin, whose mean score is `score`; `sign` is
    -1 if the classes were switched. Intercept and slope of the map from scores to g, and their
    covariance; shifts of a physician's own threshold with what is thought of them; the Beta laws of
    p_high and p_low, and `weak_laws`, the same worth no more patients than there were physicians.
    `path` is the calibration's log-likelihood by iteration. Without a rule `everybody` is eligible.
    """

    edges: FloatArray
    bins: IntArray
    score: FloatArray
    intercept: float
    slope: float
    shifts: FloatArray
    log_prior: FloatArray
    map_covariance: FloatArray
    rate_laws: FloatArray = field(default_factory=lambda: np.ones(4))
    weak_laws: FloatArray = field(default_factory=lambda: np.ones(4))
    sign: float = 1.0
    path: FloatArray = field(default_factory=lambda: np.array([np.nan]))
    converged: bool = True
    everybody: bool = False

    @property
    def thresholds(self) -> bool:
        """Whether thresholds are personal."""
        return len(self.shifts) > 1

    @property
    def laws(self) -> tuple[Law, Law]:
        """The Beta laws of p_high and p_low; of the latter there is none without a rule."""
        a, b, c, d = (float(part) for part in self.rate_laws)
        return (a, b), ((np.nan, np.nan) if self.everybody else (c, d))

    def place(self, logit: FloatArray) -> IntArray:
        """Return the bin of every patient by the shared rule's logit of g."""
        return self.bins[np.searchsorted(self.edges, self.sign * logit)]

    def read(self, logit: FloatArray, panels: Panels, within: Within) -> LatentReading:
        """Read every panel by the shared rule's logit of g, given in the order of the panels."""
        turned, code, place = self.sign * logit, panels.code, self.place(logit)
        means, posterior, weak = read_panels(place, panels.y, panels.first, self, within)
        high, low, shift = (np.ascontiguousarray(part) for part in means.T)
        g = expit(self.intercept + self.slope * turned + shift[code])
        return LatentReading(
            high,
            np.full(len(panels), np.nan) if self.everybody else low,
            posterior.mean(),
            shift,
            np.zeros(len(panels), dtype=np.int64),
            weak,
            g if self.everybody else expit(turned),
            g,
            low[code] + (high - low)[code] * g,
        )


def panel_grid(
    place: IntArray, y: IntArray, rule: SharedRule
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """Return how likely one panel's decisions are, given the score bin of every patient.

    That is the log-likelihood by shift, p_high and p_low, with what is thought of the shift, and
    the edges of the cells of both rates, narrowed, step by step, to where the posterior under the
    weak laws lies; the mean of g by shift; and the standard deviation of p_high owed to the rule
    being estimated.
    """
    n_bins = len(rule.score)
    no, yes = np.bincount(n_bins * y + place, minlength=2 * n_bins).reshape(2, n_bins)
    used = np.flatnonzero(no + yes)
    no, yes, score = no[used], yes[used], rule.score[used]
    g = expit(rule.intercept + rule.slope * score + rule.shifts[:, None])
    edges = [np.linspace(0, 1, COARSE + 1)] * 2
    likely = np.arange(len(rule.shifts))
    for zoom in range(ZOOMS + 1):
        high, low = (middles(edge) for edge in edges)
        q = low[:, None] + (high[:, None, None] - low[:, None]) * g[likely, None, None]
        q = np.clip(q, 1e-300, 1 - 1e-16)
        grid = np.log(q) @ yes + np.log1p(-q) @ no + rule.log_prior[likely, None, None]
        if zoom == ZOOMS:
            break
        value = grid + log_laws(high, low, rule.weak_laws)
        near = value > value.max() - FURTHEST
        last = zoom == ZOOMS - 1
        cells = (HIGH_CELLS, LOW_CELLS) if last else (COARSE, COARSE)
        edges = [
            _narrowed(edge, near.any(axis=axes), n_cells)
            for edge, axes, n_cells in zip(edges, ((0, 2), (0, 1)), cells, strict=True)
        ]
        likely = likely[near.any(axis=(1, 2))]
    whole = np.full((len(rule.shifts), HIGH_CELLS, LOW_CELLS), -np.inf)
    whole[likely] = grid
    count = yes + no
    mass = softmax(whole + log_laws(high, low, rule.weak_laws))
    moved = expit(rule.intercept + rule.slope * score + mass.sum(axis=(1, 2)) @ rule.shifts)
    own = mass.sum(axis=(0, 2)) @ high, mass.sum(axis=(0, 1)) @ low
    information = _information(count, score, moved, *own)
    # How far p_high would follow intercept and slope of the map, times their doubt.
    reply = np.linalg.solve(information[:2, :2], information[:2, 2:])[0]
    doubt = float(SCORES_TOO * np.sqrt(max(reply @ rule.map_covariance @ reply, 0.0)))
    share = (count * g).sum(axis=1) / max(count.sum(), 1)
    return whole, edges[0], edges[1], share, doubt


def _narrowed(edge: FloatArray, near: BoolArray, n_cells: int) -> FloatArray:
    """Return edges of cells that reach one cell further than those that are near the best."""
    first, last = np.flatnonzero(near)[[0, -1]]
    low, high = edge[max(first - 1, 0)], edge[min(last + 2, len(edge) - 1)]
    return np.linspace(low, high, n_cells + 1)


def _information(
    count: npt.NDArray[Any], score: FloatArray, g: FloatArray, high: Any, low: Any
) -> FloatArray:
    """Return the Fisher information of p_high, p_low, and intercept and slope of the map.

    Of one panel: counts and g go by score bin. Those of a prior are added.
    """
    q = np.clip(low + (high - low) * g, 1e-4, 1.0 - 1e-4)
    bend = (high - low) * g * (1.0 - g)
    slopes = np.stack([g, 1.0 - g, bend, bend * score])
    information: FloatArray = (slopes * (count / (q * (1.0 - q)))) @ slopes.T
    for at, rate in enumerate((high, low)):
        p = np.clip(rate, 1e-3, 1.0 - 1e-3)
        information[at, at] += calibration.STRENGTH / (p * (1.0 - p))
    return information


def log_laws(high: FloatArray, low: FloatArray, laws: FloatArray) -> FloatArray:
    """Return the log density of rates under their laws, up to a constant, p_high x p_low."""
    of_high = (laws[0] - 1.0) * np.log(high) + (laws[1] - 1.0) * np.log1p(-high)
    of_low = (laws[2] - 1.0) * np.log(low) + (laws[3] - 1.0) * np.log1p(-low)
    return np.asarray(of_high[:, None] + of_low)


def read_panels(
    place: IntArray, y: IntArray, first: IntArray, rule: SharedRule, within: Within = "eligible"
) -> tuple[FloatArray, Posterior, Posterior]:
    """Read every panel by its patients' score bins and decisions; panels begin at `first`.

    Returns mean rates and shifts, and the posteriors under the laws and under the weak ones.
    """
    n, whole = len(first) - 1, within == "panel"
    means, doubt = np.zeros((n, 3)), np.empty(n)
    cells = PANEL_CELLS if whole else HIGH_CELLS
    mass, weak = np.ones((n, cells)), np.ones((n, cells))
    edge, weak_edge = np.empty((n, cells + 1)), np.empty((n, cells + 1))
    for j in range(n):
        part = slice(first[j], first[j + 1])
        grid, high_edge, low_edge, share, doubt[j] = panel_grid(place[part], y[part], rule)
        high, low = middles(high_edge), middles(low_edge)
        weight, weaker = (
            softmax(grid + log_laws(high, low, laws)) for laws in (rule.rate_laws, rule.weak_laws)
        )
        by_shift, by_high, by_low = (weight.sum(axis=tuple({0, 1, 2} - {at})) for at in range(3))
        means[j] = (by_high * high).sum(), (by_low * low).sum(), (by_shift * rule.shifts).sum()
        if whole:
            value = rates.panel_discordance(high[:, None], low, share[:, None, None])
            edge[j], weak_edge[j] = (
                rates.cells_of(value, each, cells) for each in (weight, weaker)
            )
            doubt[j] *= (by_shift * share).sum() * np.abs(2 - 4 * means[j, 0])
        else:
            edge[j], weak_edge[j] = high_edge, high_edge
            mass[j], weak[j] = by_high, weaker.sum(axis=(0, 2))
    posterior = Posterior(mass, edge, whole)
    return means, posterior, Posterior(weak, weak_edge, whole, doubt)


def learn_shared(logit: FloatArray, panels: Panels, thresholds: bool) -> SharedRule:
    """Calibrate held-out logits once more on all patients and learn the laws of the rates.

    `thresholds` says whether thresholds may be personal, where the data ask for it.
    """
    for sign in (1.0, -1.0):
        counts = calibration.count(sign * logit, panels)
        fit = _final(counts, thresholds)
        # Where the classes come out switched: the eligible are those decided for more often.
        if fit.mean_high.mean() >= fit.mean_low.mean():
            break
    rule = SharedRule(
        counts.edges,
        counts.bin_of_interval,
        counts.score,
        fit.intercept,
        fit.slope,
        fit.shifts,
        -0.5 * calibration.SHIFT_POINTS**2 if len(fit.shifts) > 1 else np.zeros(1),
        map_covariance(counts, fit),
        sign=sign,
        path=np.array(fit.path),
        converged=fit.converged,
    )
    return _with_laws(rule, logit, panels)


def everybody_eligible(panels: Panels) -> SharedRule:
    """Learn the law of the rates where there is no rule: g is 1 for all."""
    logit, one = np.zeros(len(panels.y)), np.zeros(1)
    counts = calibration.count(logit, panels)
    bins = counts.edges, counts.bin_of_interval, counts.score
    rule = SharedRule(*bins, np.inf, 0.0, one, one, np.zeros((2, 2)), everybody=True)
    return _with_laws(rule, logit, panels)


def _with_laws(rule: SharedRule, logit: FloatArray, panels: Panels) -> SharedRule:
    """Return the same with the laws that everybody's rates most likely come from.

    By every panel's likelihood, shifts summed out, beside its largest.
    """
    place, first, n = rule.place(logit), panels.first, len(panels)
    likelihood = np.zeros((n, HIGH_CELLS, LOW_CELLS))
    high, low = np.empty((n, HIGH_CELLS)), np.empty((n, LOW_CELLS))
    for j in range(n):
        part = slice(first[j], first[j + 1])
        grid, high_edge, low_edge, *_ = panel_grid(place[part], panels.y[part], rule)
        high[j], low[j] = middles(high_edge), middles(low_edge)
        likelihood[j] = np.exp(grid - grid.max()).sum(axis=0)
    laws = rates.learn_laws(likelihood, high, low)
    weak = [rates.no_stronger(law, n) for law in laws]
    return replace(rule, rate_laws=np.ravel(laws), weak_laws=np.ravel(weak))


def map_covariance(counts: calibration.Counts, fit: calibration.Calibration) -> FloatArray:
    """Return the covariance of intercept and slope of the map from scores to g.

    Rates are read from g = sigma(a + b score), and a and b are estimates. With few patients in all,
    whatever the number per physician, that doubt is larger than the one about a physician's own
    counts. It follows from the joint Fisher information of map and rates in one pass.
    """
    shared = np.diag(1 / np.square(calibration.TIGHT[1][:2]))
    first = np.searchsorted(counts.physician, np.arange(counts.n_physicians + 1))
    for j, shift in enumerate(fit.shift):
        part = slice(first[j], first[j + 1])
        score = counts.score[counts.bin[part]]
        count_ = (counts.yes + counts.no)[part]
        g, both = expit(fit.logit(score) + shift), (fit.mean_high[j], fit.mean_low[j])
        own = _information(count_, score, g, *both)
        shared += own[2:, 2:] - own[2:, :2] @ np.linalg.solve(own[:2, :2], own[:2, 2:])
    return np.asarray(np.linalg.inv(shared))


def held_out_on_first(
    nested: FloatArray, decided: Observed, fold: IntArray, shared: SharedRule
) -> float:
    """Return the log-likelihood of the first fold's decisions, read from the other folds.

    Under the shared rule, with personal thresholds if these were found.
    """
    rest, own = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    if shared.everybody:
        return calibration.one_class_log_likelihood(decided, rest, own)
    fit = _final(calibration.count(nested, decided, rest), shared.thresholds)
    return fit.log_likelihood_of(nested, decided, own)


def _final(counts: calibration.Counts, thresholds: bool) -> calibration.Calibration:
    """Calibrate scores that are calibrated already; thresholds are personal where that gains."""
    fit = calibration.calibrate(counts, tight=True)
    if thresholds:
        personal = calibration.calibrate(counts, fit, personal=True, tight=True)
        if personal.log_likelihood > fit.log_likelihood + THRESHOLD_MARGIN:
            return personal
    return fit
