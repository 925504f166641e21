"""Reading physicians beyond the sample by the rule that all share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.interrupts import interrupts_wait
from intravar.latent.beyond.panel_reading import PanelReading, under_rule
from intravar.latent.beyond.shared_kernel import Given, ReadPanel, counted, read_panel, read_panels
from intravar.latent.beyond.sorted_panels import SortedPanels
from intravar.latent.calibration import SHIFT_POINTS, CalibrationSettings
from intravar.latent.rates import (
    EligibleDiscordance,
    PanelDiscordance,
    RatePosterior,
    no_stronger,
)
from intravar.latent.readout import SharedReading


@dataclass(frozen=True)
class CommonCalibration:
    """What is held in common beside the shared rule itself.

    Attributes
    ----------
    edges, bins
        Edges between which scores are counted, and the bin of every cell between them.
    given
        The calibration, the laws of the rates, and how well the map is known.
    sign
        -1 if the classes were switched, else 1.
    """

    edges: FloatArray
    bins: IntArray
    given: Given
    sign: float

    @classmethod
    def of(cls, read: SharedReading) -> CommonCalibration:
        """Keep what was read of the sample, its patients and physicians left out."""
        fit, posterior = read.fit, read.posterior
        n_physicians = len(posterior.high)
        laws = posterior.prior_high, posterior.prior_low
        given = Given(
            read.counts.score,
            fit.intercept,
            fit.slope,
            fit.shifts,
            -0.5 * SHIFT_POINTS**2 if read.thresholds else np.zeros(1),
            np.array(fit.means),
            CalibrationSettings().strength,
            np.array([*laws[0], *laws[1]]),
            np.array([part for law in laws for part in no_stronger(law, n_physicians)]),
            read.map_covariance,
        )
        sign = -1.0 if read.switched else 1.0
        return cls(read.counts.edges, read.counts.bin_of_cell(), given, sign)

    def read(
        self, logit: FloatArray, panels: SortedPanels, within: Literal["eligible", "panel"]
    ) -> PanelReading:
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
        given, physician = self.given, panels.physician
        turned = self.sign * logit
        place = self.bins[np.searchsorted(self.edges, turned)]
        found = read_panels(place, panels.y, panels.first, given)
        means, mass, weak, edge, doubt = found
        high, low, shift = (np.ascontiguousarray(part) for part in means.T)
        posterior: EligibleDiscordance | PanelDiscordance
        if within == "eligible":
            score = EligibleDiscordance(mass, edge).mean()
            posterior = EligibleDiscordance(weak, edge, doubt)
        else:
            score, posterior = self._of_panels(place, panels, high)
        moved = given.intercept + given.slope * turned + shift[physician]
        return PanelReading(
            high,
            low,
            score,
            shift,
            np.zeros(len(panels), dtype=np.int64),
            posterior,
            np.arange(len(panels)),
            expit(turned),
            under_rule(moved, high[physician], low[physician]),
        )

    def _of_panels(
        self, place: IntArray, panels: SortedPanels, high: FloatArray
    ) -> tuple[FloatArray, PanelDiscordance]:
        """Return scores and posterior of the discordance of whole panels, one by one."""
        found: list[PanelDiscordance] = []
        score = np.empty(len(panels))
        for j in range(len(panels)):
            part = panels.part(j)
            yes, no = counted(place[part], panels.y[part], len(self.given.score))
            with interrupts_wait():
                read: ReadPanel = read_panel(yes, no, self.given)
            score[j] = _posterior(read, read.weight).panel_discordance().mean()[0]
            share = float((read.share * read.weight.sum(axis=(1, 2))).sum())
            doubt = share * np.abs(2 - 4 * high[j : j + 1]) * read.doubt
            weak = _posterior(read, read.weak).panel_discordance()
            found.append(replace(weak, doubt=doubt))
        return score, PanelDiscordance.together(found)


def _posterior(read: ReadPanel, weight: FloatArray) -> RatePosterior:
    """Return the posterior of one panel as that of one physician."""
    high, low = ((e[1:] + e[:-1])[None] / 2 for e in (read.high_edge, read.low_edge))
    return RatePosterior(
        high,
        low,
        read.high_edge[None],
        weight.sum(axis=0)[None],
        weight.sum(axis=(1, 2))[None],
        read.share[None],
        (1.0, 1.0),
        (1.0, 1.0),
        lambda: weight[None],
    )
