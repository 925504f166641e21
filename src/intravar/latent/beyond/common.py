"""What a fitted latent rule holds in common, small enough to be sent about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.latent.anchors import Anchors
from intravar.latent.beyond.own_rules_read import read_personal
from intravar.latent.beyond.panel_reading import CommonRates, Law, PanelReading
from intravar.latent.beyond.shared import CommonCalibration
from intravar.latent.beyond.sorted_panels import SortedPanels
from intravar.latent.decided import Decided
from intravar.latent.kept_rule import KeptSharedRule
from intravar.latent.personal.families import CommonRules
from intravar.latent.personal.panel_rows import Standard


@dataclass(frozen=True)
class CommonRule:
    """All that physicians beyond the sample are read by; no patient of the sample is in it.

    Attributes
    ----------
    names, columns
        Names of the covariates, and the order in which they were learned from.
    rates
        Law of the rates of one class; None if there are two.
    rule, calibration
        The shared rule, and how rates are read from it; None if there is none.
    standard, own
        How covariates are standardised, and what rules of their own have in common; None where
        such rules did not win.
    anchors
        What pins the level of the rates, without the physicians' ranges.
    facts
        Fitted attributes that hold for everybody.
    """

    names: tuple[str, ...]
    columns: IntArray
    rates: CommonRates | None
    rule: KeptSharedRule | None
    calibration: CommonCalibration | None
    standard: Standard | None
    own: CommonRules | None
    anchors: Anchors
    facts: dict[str, Any]

    def arranged(self, covariates: FloatArray, names: tuple[str, ...]) -> FloatArray:
        """Return covariates in the order in which they were learned from."""
        if sorted(names) != sorted(self.names):
            odd = sorted(set(names) ^ set(self.names)) or sorted(names)
            raise InputError(
                f"other physicians have other covariates than those fitted ({', '.join(odd)}); "
                "give the same columns"
            )
        place = {name: at for at, name in enumerate(names)}
        order = [place[self.names[column]] for column in self.columns]
        return np.ascontiguousarray(covariates[:, order])

    def read(
        self, panels: SortedPanels, within: Literal["eligible", "panel"], seed: int
    ) -> tuple[PanelReading, Anchors, Decided]:
        """Read every panel by itself; return the anchors of each, and the decisions, as well."""
        decided = Decided(panels.y, panels.physician, len(panels))
        if self.own is not None and self.standard is not None:
            logit = np.zeros(len(panels.y)) if self.rule is None else self.rule.logit(panels.X)
            z = self.standard(panels.X)
            read = read_personal(self.own, z, logit, panels, within, seed)
        elif self.rule is not None and self.calibration is not None:
            read = self.calibration.read(self.rule.logit(panels.X), panels, within)
        elif self.rates is not None:
            read = self.rates.read(decided)
            return read, self.anchors.of_scores(read.score), decided
        else:
            raise AssertionError("neither a rule nor a law of the rates was kept")
        return read, self.anchors.for_rates(read.p_high, read.p_low).around(read.score), decided


@dataclass
class Kept:
    """What a fit keeps on its way; see :class:`CommonRule`."""

    names: tuple[str, ...]
    columns: IntArray
    n_physicians: int
    rule: KeptSharedRule | None = None
    calibration: CommonCalibration | None = None
    standard: Standard | None = None
    own: CommonRules | None = None

    def common(self, anchors: Anchors, law: Law, facts: dict[str, Any]) -> CommonRule:
        """Return what is common once the fit is done; `law` is that of p_high."""
        nobody = np.empty(0, dtype=np.int64)
        one_class = self.calibration is None and self.own is None
        return CommonRule(
            self.names,
            self.columns,
            CommonRates(law, self.n_physicians) if one_class else None,
            self.rule,
            self.calibration,
            self.standard,
            self.own,
            anchors.of(nobody),
            facts,
        )
