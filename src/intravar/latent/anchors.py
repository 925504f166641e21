"""What pins the level of the rates: patients who are surely eligible, or surely not.

Decisions follow q = p_low + (p_high - p_low) g. Calling another value of g "1" changes p_high and
leaves every q, and so the likelihood, as it is. Only patients with g at 0 and 1 anchor the scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from intravar.arrays import FloatArray

#: A patient is an anchor with g below this, or above one minus this.
NEAR = 0.05
#: Scales that are tried.
N_SCALES = 21


class AnchorWarning(UserWarning):
    """Few patients are surely eligible or surely not: the level of the scores is not pinned."""


@dataclass(frozen=True)
class Anchors:
    """How well the scale of g is anchored, and what follows from it for the discordance.

    Shares of patients with g near 0 and near 1; of the eligible, and of the others, who are surely
    so; the range of each physician's discordance over the scales of g that fit equally well; and
    `scales`, the values of g that may be called 1, from the lowest to the highest.
    """

    near: ClassVar[float] = NEAR
    low: float
    high: float
    sure_eligible: float
    sure_others: float
    identified_low: FloatArray
    identified_high: FloatArray
    scales: tuple[float, float] = (1.0, 1.0)

    @property
    def clear(self) -> float:
        """Share of clear cases on the side that has fewer."""
        return min(self.sure_eligible, self.sure_others)

    def with_ranges(self, low: FloatArray, high: FloatArray) -> Anchors:
        """Return the same with these ranges."""
        return replace(self, identified_low=low, identified_high=high)

    def for_rates(self, p_high: FloatArray, p_low: FloatArray) -> Anchors:
        """Return the same with the ranges of physicians, by their rates.

        No scale lies beyond those of the physicians who were fitted, nor beyond what the own rates
        allow.
        """
        low, high = self.scales
        contrast = p_high - p_low
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(contrast > 0.05, (1 - p_low) / contrast, high)
        top = np.minimum(np.maximum(room, 1.0), high)
        here = 2 * p_high * (1 - p_high)
        least, most = here.copy(), here.copy()
        for part in np.linspace(0.0, 1.0, N_SCALES):
            p = np.clip(p_low + contrast * (low + part * (top - low)), 0, 1)
            value = 2 * p * (1 - p)
            least, most = np.minimum(least, value), np.maximum(most, value)
        return self.with_ranges(least, most)

    def columns(self) -> dict[str, FloatArray]:
        """Return the ranges as columns of a result."""
        return {"identified_low": self.identified_low, "identified_high": self.identified_high}

    def complaints(self, least: float) -> list[str]:
        """Say what is thin: fewer than a share `least` of the eligible or of the others sure."""
        eligible, others = "the eligible are surely so", "the others are surely not"
        shares = {eligible: self.sure_eligible, others: self.sure_others}
        return [text for text, share in shares.items() if share < least]


def find_anchors(g: FloatArray, p_high: FloatArray, p_low: FloatArray) -> Anchors:
    """Measure the anchors by everybody's g, and the admissible scales of g by all rates.

    The value of g that is called 1 may be as low as the largest g that occurs (its 99 % quantile)
    and as high as the p_high of all physicians allow. Ranges of physicians are for others to add.
    """
    contrast = p_high - p_low
    able = contrast > 0.05
    room = float(((1 - p_low[able]) / contrast[able]).min()) if able.any() else 1.0
    return Anchors(
        low=float(np.mean(g < NEAR)),
        high=float(np.mean(g > 1 - NEAR)),
        sure_eligible=float(g[g > 1 - NEAR].sum() / g.sum()),
        sure_others=float((1 - g[g < NEAR]).sum() / (1 - g).sum()) if (g < 1).any() else 1.0,
        identified_low=np.empty(0),
        identified_high=np.empty(0),
        scales=(min(float(np.quantile(g, 0.99)), 1.0), max(room, 1.0)),
    )
