"""Reading physicians by rules of their own, what they have in common given."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from intravar.arrays import BoolArray, FloatArray
from intravar.latent.personal.limits import CommonLimits
from intravar.latent.personal.panel_rows import PanelDraws
from intravar.latent.personal.weights import CommonWeights
from intravar.latent.rates import EligibleDiscordance, PanelDiscordance
from intravar.latent.reading import LatentReading, Within
from intravar.panels import Panels

OwnRules: TypeAlias = CommonWeights | CommonLimits

#: Cells of p_high, and Beta laws that are laid over them at most.
CELLS, MOST_LAWS = 500, 150
CELL_MIDDLES = (np.arange(CELLS) + 0.5) / CELLS
#: Draws from each law of the rates for the discordance of a panel.
PANEL_DRAWS = 4


def read_own_rules(
    common: OwnRules,
    z: FloatArray,
    logit: FloatArray,
    panels: Panels,
    seed: int,
    *,
    within: Within = "eligible",
    known: BoolArray | None = None,
    tested: int = 0,
) -> tuple[LatentReading, FloatArray]:
    """Read every panel by rules of its own.

    Parameters
    ----------
    common
        What the physicians who were learned from have in common.
    z, logit
        Standardised covariates and the shared rule's logit, in the order of the panels.
    panels
        The panels.
    seed
        Names the random streams, together with the panels' content.
    within
        Whose discordance is scored.
    known
        Patients whose decisions count; by default all of them. The others are predicted.
    tested
        Draws of which P(yes) is returned as well, draw x patient.
    """
    if known is None:
        known = np.ones(len(panels.y), dtype=np.bool_)
    if isinstance(common, CommonWeights):
        read = common.reader(z, logit, panels, known, tested)
    else:
        read = common.reader(z, panels, known, tested)
    n = len(panels)
    rates, mass, camp = np.empty((n, 2)), np.empty((n, CELLS)), np.zeros(n, dtype=np.int64)
    g, q = np.empty(len(panels.y)), np.empty(len(panels.y))
    drawn = np.empty((tested, len(panels.y)))
    whole: list[PanelDiscordance] = []
    for j in range(n):
        part, random = panels.part(j), panels.stream(j, seed)
        found = read(j, random)
        rates[j], camp[j] = mean_rates(found.laws), found.camp
        g[part], q[part], drawn[:, part] = found.g, found.q, found.drawn
        if within == "eligible":
            mass[j] = mixed_mass(found.laws)
        else:
            whole.append(_panel_discordance(found, random))
    posterior: EligibleDiscordance | PanelDiscordance
    if within == "eligible":
        edge = np.tile(np.linspace(0, 1, CELLS + 1), (n, 1))
        posterior = EligibleDiscordance(mass, edge)
    else:
        posterior = PanelDiscordance.together(whole)
    high, low = (np.ascontiguousarray(part) for part in rates.T)
    nothing, places = np.zeros(n), np.arange(n)
    reading = LatentReading(high, low, posterior.mean(), nothing, camp, posterior, places, g, g, q)
    return reading, drawn


def _panel_discordance(found: PanelDraws, random: np.random.Generator) -> PanelDiscordance:
    """Return the posterior of share 2h(1 - h) + (1 - share) 2l(1 - l)."""
    a, b, c, d, share = np.repeat(found.laws, PANEL_DRAWS, axis=0).T
    high, low = random.beta(a, b), random.beta(c, d)
    value = 2 * (share * high * (1 - high) + (1 - share) * low * (1 - low))
    return PanelDiscordance.of_values(value, np.ones(len(value)))


def mean_rates(laws: FloatArray) -> FloatArray:
    """Return the means of p_high and p_low over their laws."""
    a, b, c, d = laws[:, :4].T
    return np.array([np.mean(a / (a + b)), np.mean(c / (c + d))])


def mixed_mass(laws: FloatArray) -> FloatArray:
    """Return the mass of p_high in equal cells under a mixture of Beta laws, at most so many.

    Examples
    --------
    >>> mass = mixed_mass(np.array([[50.0, 50.0], [50.0, 50.0]]))
    >>> bool(abs(mass @ CELL_MIDDLES - 0.5) < 1e-9)
    True
    """
    some = laws[:: -(-len(laws) // MOST_LAWS), :2]
    # Densities at the cells' midpoints: far faster than differences of the Beta integral.
    value = (some[:, :1] - 1) * np.log(CELL_MIDDLES) + (some[:, 1:] - 1) * np.log1p(-CELL_MIDDLES)
    value = np.exp(value - value.max(axis=1, keepdims=True))
    mass: FloatArray = (value / value.sum(axis=1, keepdims=True)).mean(axis=0)
    return mass
