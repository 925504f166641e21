"""Reading physicians beyond the sample by rules of their own, the population given."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.interrupts import interrupts_wait
from intravar.latent.beyond.limits_kernel import weigh_panel
from intravar.latent.beyond.panel_reading import PanelReading
from intravar.latent.beyond.sorted_panels import SortedPanels
from intravar.latent.beyond.weights_kernel import Sweeps, mean_rates, mixed_mass, run_panel
from intravar.latent.personal.families import CommonLimits, CommonRules, CommonWeights
from intravar.latent.personal.limit_rules import DRAWS, LEVELS, law_table, pairs_of
from intravar.latent.personal.panel_rows import PanelRows, design_of
from intravar.latent.personal.rate_draws import CELLS, MOST_LAWS, RateDraws
from intravar.latent.rates import EligibleDiscordance, PanelDiscordance

SWEEPS = Sweeps()


class _One(NamedTuple):
    """What is known of one panel: laws by draw, the camp, and who is eligible."""

    laws: FloatArray
    camp: int
    g: FloatArray
    q: FloatArray


def read_personal(
    common: CommonRules,
    z: FloatArray,
    logit: FloatArray,
    panels: SortedPanels,
    within: Literal["eligible", "panel"],
    seed: int,
) -> PanelReading:
    """Read every panel by rules of its own.

    Parameters
    ----------
    common
        What the sample's physicians have in common.
    z, logit
        Standardised covariates and the shared rule's logit, in the order of the panels.
    panels
        The panels.
    within
        Whose discordance is scored.
    seed
        Names the random streams, together with the panels' content.
    """
    reader: _Weights | _Limits
    if isinstance(common, CommonWeights):
        reader = _Weights(common, z, logit)
    else:
        reader = _Limits(common, z, int(panels.sizes.max(initial=0)))
    n = len(panels)
    rates, mass, camp = np.empty((n, 2)), np.empty((n, CELLS)), np.zeros(n, dtype=np.int64)
    g, q = np.empty(len(panels.y)), np.empty(len(panels.y))
    whole: list[PanelDiscordance] = []
    for j in range(n):
        part, random = panels.part(j), panels.stream(j, seed)
        found = reader.read(part, panels.y[part], random)
        rates[j], camp[j] = mean_rates(found.laws), found.camp
        g[part], q[part] = found.g, found.q
        if within == "eligible":
            mass[j] = mixed_mass(found.laws, CELLS, MOST_LAWS)
        else:
            whole.append(_draws(found.laws).panel_discordance(random))
    posterior: EligibleDiscordance | PanelDiscordance
    if within == "eligible":
        edge = np.tile(np.linspace(0, 1, CELLS + 1), (n, 1))
        posterior = EligibleDiscordance(mass, edge)
    else:
        posterior = PanelDiscordance.together(whole)
    high, low = (np.ascontiguousarray(part) for part in rates.T)
    nothing, places = np.zeros(n), np.arange(n)
    return PanelReading(high, low, posterior.mean(), nothing, camp, posterior, places, g, q)


class _Weights:
    def __init__(self, common: CommonWeights, z: FloatArray, logit: FloatArray) -> None:
        self.design = design_of(z[:, common.columns], logit, common.logit)
        self.population = common.population

    def read(self, part: slice, y: IntArray, random: np.random.Generator) -> _One:
        rows = PanelRows(self.design[part], y, np.array([0, len(y)]))
        with interrupts_wait():
            found = run_panel(rows, self.population, SWEEPS, random)
        return _One(found.laws, int(found.camp.argmax()), found.g, found.q)


class _Limits:
    def __init__(self, common: CommonLimits, z: FloatArray, most: int) -> None:
        self.bins = common.levels(z[:, common.columns])
        self.pairs = pairs_of(self.bins.shape[1])
        self.tables = law_table(common.high, most), law_table(common.low, most)
        self.laws = np.array([*common.high, *common.low])

    def read(self, part: slice, y: IntArray, random: np.random.Generator) -> _One:
        with interrupts_wait():
            found = weigh_panel(
                self.bins[part],
                y,
                self.pairs,
                LEVELS,
                *self.tables,
                self.laws,
                random.random(),
                DRAWS,
            )
        return _One(found.laws, 0, found.g, found.q)


def _draws(laws: FloatArray) -> RateDraws:
    """Return one panel's laws as those of one physician."""
    own = laws[:, None]
    return RateDraws(own[..., :2], own[..., 2:4], own[..., 4], (1.0, 1.0), (1.0, 1.0))
