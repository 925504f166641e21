"""The posterior of the rates when the rule itself is unsure: Beta laws, one per drawn rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray
from intravar.latent.rates import EligibleDiscordance, PanelDiscordance

#: Cells of p_high, Beta laws that are laid over them at most, and draws from each law for the
#: discordance of a panel.
CELLS, MOST_LAWS = 500, 150
PANEL_DRAWS = 4


@dataclass(frozen=True)
class RateDraws:
    """Beta laws of the rates, draw x physician: given the rule, the rates' posterior is exact.

    Attributes
    ----------
    high, low
        The two parameters of each Beta law, as a last axis.
    share
        Share of a physician's patients that the drawn rule makes eligible.
    prior_high, prior_low
        Beta laws of the rates over physicians, as they were learned last.
    """

    high: FloatArray
    low: FloatArray
    share: FloatArray
    prior_high: tuple[float, float]
    prior_low: tuple[float, float]

    def mean_rates(self) -> tuple[FloatArray, FloatArray]:
        """Posterior means of p_high and p_low."""
        high, low = (law[..., 0] / law.sum(axis=2) for law in (self.high, self.low))
        return high.mean(axis=0), low.mean(axis=0)

    def eligible_discordance(self) -> EligibleDiscordance:
        """Posterior of 2 p_high (1 - p_high).

        Examples
        --------
        >>> laws = np.full((2, 1, 2), 50.0)
        >>> draws = RateDraws(laws, laws, np.full((2, 1), 0.5), (1.0, 1.0), (1.0, 1.0))
        >>> draws.eligible_discordance().mean().round(3).tolist()
        [0.495]
        """
        edge = np.linspace(0, 1, CELLS + 1)
        p = (edge[1:] + edge[:-1]) / 2
        logs = np.stack([np.log(p), np.log1p(-p)])
        mass = np.zeros((self.high.shape[1], CELLS))
        laws = self.high[:: -(-len(self.high) // MOST_LAWS)]
        for law in laws:
            # Densities at the cells' midpoints: far faster than differences of the Beta integral.
            value = (law - 1) @ logs
            value = np.exp(value - value.max(axis=1, keepdims=True))
            mass += value / value.sum(axis=1, keepdims=True)
        return EligibleDiscordance(mass / len(laws), np.tile(edge, (len(mass), 1)))

    def panel_discordance(self, random: np.random.Generator) -> PanelDiscordance:
        """Posterior of share 2h(1 - h) + (1 - share) 2l(1 - l)."""
        high, low, share = (
            np.repeat(part, PANEL_DRAWS, axis=0) for part in (self.high, self.low, self.share)
        )
        h, lo = (random.beta(law[..., 0], law[..., 1]) for law in (high, low))
        value = 2 * (share * h * (1 - h) + (1 - share) * lo * (1 - lo))
        points = np.linspace(0, 1, 1001)
        quantiles = np.quantile(value, points, axis=0).T
        return PanelDiscordance(value.mean(axis=0), value.std(axis=0), points, quantiles)
