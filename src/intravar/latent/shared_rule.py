"""Rates under the rule that all share: learned from held-out scores, then read panel by panel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.latent.calibration import (
    SHIFT_POINTS,
    TIGHT,
    Calibration,
    CalibrationSettings,
    Counts,
    calibrate,
    count,
    decision_log_likelihood,
)
from intravar.latent.crossfit import CrossFit, one_class_log_likelihood
from intravar.latent.rates import EligibleDiscordance, PanelDiscordance, learn_laws, no_stronger
from intravar.latent.rates_kernel import (
    STRENGTH,
    Given,
    PanelGrid,
    likelihoods,
    middles,
    panel_grid,
    posterior_mass,
    read_panels,
)
from intravar.latent.reading import LatentReading, Within
from intravar.panels import PanelDecisions, Panels
from intravar.processes import interrupts_wait

#: Gain in log-likelihood that personal thresholds must show over a shared one.
THRESHOLD_MARGIN = 10.0


@dataclass(frozen=True)
class SharedRule:
    """What is held in common beside the logits of the shared rule.

    Attributes
    ----------
    edges, bins
        Edges between which scores are counted, and the bin of every cell between them.
    given
        The calibration, the laws of the rates, and how well the map is known.
    sign
        -1 if the classes were switched, else 1.
    path, converged
        Log-likelihood of the calibration by iteration, and whether it ended by itself.
    """

    edges: FloatArray
    bins: IntArray
    given: Given
    sign: float
    path: FloatArray
    converged: bool

    @property
    def thresholds(self) -> bool:
        """Whether thresholds are personal."""
        return len(self.given.shifts) > 1

    @property
    def laws(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The Beta laws of p_high and p_low."""
        a, b, c, d = (float(part) for part in self.given.laws)
        return (a, b), (c, d)

    def read(self, logit: FloatArray, panels: Panels, within: Within) -> LatentReading:
        """Read every panel.

        Parameters
        ----------
        logit
            The shared rule's logit of g, in the order of the panels.
        panels
            The panels.
        within
            Whose discordance is scored.
        """
        given, code = self.given, panels.code
        turned = self.sign * logit
        place = self.bins[np.searchsorted(self.edges, turned)]
        with interrupts_wait():
            means, mass, weak, edge, doubt = read_panels(place, panels.y, panels.first, given)
        high, low, shift = (np.ascontiguousarray(part) for part in means.T)
        posterior: EligibleDiscordance | PanelDiscordance
        if within == "eligible":
            score = EligibleDiscordance(mass, edge).mean()
            posterior = EligibleDiscordance(weak, edge, doubt)
        else:
            score, posterior = self._of_panels(place, panels, high)
        g = expit(given.intercept + given.slope * turned + shift[code])
        return LatentReading(
            high,
            low,
            score,
            shift,
            np.zeros(len(panels), dtype=np.int64),
            posterior,
            np.arange(len(panels)),
            expit(turned),
            g,
            low[code] + (high - low)[code] * g,
        )

    def _of_panels(
        self, place: IntArray, panels: Panels, high: FloatArray
    ) -> tuple[FloatArray, PanelDiscordance]:
        """Return scores and posterior of the discordance of whole panels, one by one."""
        found: list[PanelDiscordance] = []
        score = np.empty(len(panels))
        for j in range(len(panels)):
            part = panels.part(j)
            with interrupts_wait():
                read: PanelGrid = panel_grid(place[part], panels.y[part], self.given)
            own, share = _discordance(read, self.given.laws)
            score[j] = own.means[0]
            weak, _ = _discordance(read, self.given.weak)
            doubt = share * np.abs(2 - 4 * high[j : j + 1]) * read.doubt
            found.append(replace(weak, doubt=doubt))
        return score, PanelDiscordance.together(found)


def _discordance(read: PanelGrid, laws: FloatArray) -> tuple[PanelDiscordance, float]:
    """Return the posterior of share 2h(1 - h) + (1 - share) 2l(1 - l), and the mean share."""
    high, low = middles(read.high_edge), middles(read.low_edge)
    mass = posterior_mass(read.grid, high, low, laws)
    share = read.share[:, None, None]
    h, lo = high[None, :, None], low[None, None, :]
    value = 2 * (share * h * (1 - h) + (1 - share) * lo * (1 - lo))
    mean_share = float((read.share * mass.sum(axis=(1, 2))).sum())
    return PanelDiscordance.of_values(value.ravel(), mass.ravel()), mean_share


def learn_shared(logit: FloatArray, panels: Panels, thresholds: bool) -> SharedRule:
    """Calibrate once more on all patients and learn the laws of the rates.

    Parameters
    ----------
    logit
        Held-out logit of g.
    panels
        The patients.
    thresholds
        Whether thresholds may be personal, where the data ask for it.
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
        CalibrationSettings().strength,
        np.ones(4),
        np.ones(4),
        map_covariance(counts, fit),
    )
    with interrupts_wait():
        grids = likelihoods(counts.bin, panels.y, panels.first, given)
    laws = learn_laws(*grids)
    weak = [no_stronger(law, len(panels)) for law in laws]
    given = given._replace(laws=np.array(laws).ravel(), weak=np.array(weak).ravel())
    sign = -1.0 if switched else 1.0
    return SharedRule(
        counts.edges, counts.bin_of_cell(), given, sign, np.array(fit.path), fit.converged
    )


def map_covariance(counts: Counts, fit: Calibration) -> FloatArray:
    """Return the covariance of intercept and slope of the map from scores to g.

    Rates are read from g = sigma(a + b score), and a and b are estimates. With few patients in all,
    whatever the number per physician, that doubt is larger than the one about a physician's own
    counts. It follows from the joint Fisher information of map and rates in one pass.
    """
    g = expit(fit.logit(counts.score)[None, :] + fit.shift[:, None])
    high, low = fit.mean_high[:, None], fit.mean_low[:, None]
    q = np.clip(low + (high - low) * g, 1e-4, 1 - 1e-4)
    weight = (counts.yes + counts.no) / (q * (1 - q))
    bend = (high - low) * g * (1 - g)
    # derivatives of q in p_high, p_low, intercept and slope
    slopes = np.stack([g, 1 - g, bend, bend * counts.score[None, :]])
    information = np.einsum("ajb,cjb,jb->jac", slopes, slopes, weight)
    rates = np.clip(np.column_stack([high, low]), 1e-3, 1 - 1e-3)
    own = information[:, :2, :2] + np.einsum(
        "ja,ac->jac", STRENGTH / (rates * (1 - rates)), np.eye(2)
    )
    reply = np.linalg.solve(own, information[:, :2, 2:])
    shared = information[:, 2:, 2:] - np.swapaxes(information[:, :2, 2:], 1, 2) @ reply
    prior = np.diag(1 / np.square(TIGHT[1][:2]))
    return np.asarray(np.linalg.inv(shared.sum(axis=0) + prior))


def held_out_on_first(
    crossed: CrossFit, decided: PanelDecisions, fold: IntArray, shared: SharedRule | None
) -> float:
    """Return the log-likelihood of the first fold's decisions, read from the other folds.

    Under the shared rule, with personal thresholds if these were found; without a rule if
    `shared` is None.
    """
    rest, own = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    here = decided.take(own)
    if shared is None:
        return one_class_log_likelihood(decided.take(rest), here)
    fit, _ = _final(count(crossed.nested[rest], decided.take(rest)), shared.thresholds)
    logit = fit.logit(crossed.nested[own]) + fit.shift[here.physician]
    return decision_log_likelihood(logit, here, fit.mean_high, fit.mean_low)


def _final(counts: Counts, thresholds: bool) -> tuple[Calibration, bool]:
    """Calibrate with scores that are calibrated already; say whether thresholds are personal."""
    fit = calibrate(counts, CalibrationSettings(tight=True))
    if thresholds:
        personal = calibrate(counts, CalibrationSettings(personal=True, tight=True), fit)
        if personal.log_likelihood > fit.log_likelihood + THRESHOLD_MARGIN:
            return personal, True
    return fit, False
