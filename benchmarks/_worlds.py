"""Worlds that span what is explained, who differs in what, and how many there are.

The chance of "yes" is logistic in a sum of covariates. Physicians differ in their rate (where they
draw the line), in their consistency (how often they decide regardless of the patient), in both or
in neither. The steeper the rule, the more of the decisions is explained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import expit

from benchmarks._cohorts import Case, made_case
from intravar.arrays import FloatArray
from intravar.seeds import stream

Differ = Literal["neither", "rates", "consistency", "both"]
#: Shares decided for that physicians run through where rates differ, as in the trial of docs.
RATES = (0.35, 0.9)
#: Share of decisions made regardless of the patient, where consistency differs.
LAPSES = (0.0, 0.8)


@dataclass(frozen=True)
class World:
    """A world of physicians.

    Attributes
    ----------
    differ
        What physicians differ in.
    slope
        Log odds ratio of one standard deviation of what decisions rest on: 0.3 explains 1 %, 1.5
        about 25 %, 6 about 75 %.
    n_physicians, panel
        How many there are, and patients of each.
    lapses
        Largest share of decisions made regardless of the patient.
    hidden
        Share of what decisions rest on that is not recorded.
    """

    differ: Differ
    slope: float
    n_physicians: int
    panel: int
    lapses: float = LAPSES[1]
    hidden: float = 0.0

    @property
    def name(self) -> str:
        """What a row says."""
        what = {"neither": "nothing", "both": "rates and consistency"}.get(self.differ, self.differ)
        unseen = f", {100 * self.hidden:.0f} % hidden" if self.hidden else ""
        little = f", lapses to {self.lapses:g}" if self.lapses != LAPSES[1] else ""
        return (
            f"{what} differ, slope {self.slope:g}{little}{unseen} "
            f"{self.n_physicians * self.panel}/{self.n_physicians}"
        )

    def draw(self, seed: int) -> Case:
        """Draw a cohort."""
        random = stream(seed, "worlds", self.name)
        j = self.n_physicians
        code = np.repeat(np.arange(j), self.panel)
        x = random.normal(size=(len(code), 5))
        drive = x @ np.array([0.8, 0.5, -0.3, 0.15, 0.0])
        unseen = random.normal(size=len(code))
        drive = np.sqrt(1 - self.hidden) * drive + np.sqrt(self.hidden) * unseen
        line, lapse = np.zeros(j), np.zeros(j)
        if self.differ in ("rates", "both"):
            wanted = random.permutation(np.linspace(*RATES, j))
            line = np.array([_line(self.slope, rate) for rate in wanted])
        if self.differ in ("consistency", "both"):
            lapse = random.permutation(np.linspace(LAPSES[0], self.lapses, j))
        rate = np.array([_rate(self.slope, each) for each in line])

        def chance(part: FloatArray) -> FloatArray:
            own = expit(self.slope * part + line[code])
            return np.asarray((1 - lapse[code]) * own + lapse[code] * rate[code])

        known = chance(drive)
        alike = known
        if self.hidden:
            seen = np.sqrt(1 - self.hidden) * (x @ np.array([0.8, 0.5, -0.3, 0.15, 0.0]))
            nodes, weight = np.polynomial.hermite_e.hermegauss(15)
            parts = [chance(seen + np.sqrt(self.hidden) * each) for each in nodes]
            alike = np.tensordot(weight / weight.sum(), np.array(parts), axes=1)
        case = made_case(self.name, x, code, known, random, alike=alike)
        return replace(case, rates_alone=self.differ == "rates" and self.slope <= 1.0)


_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


def _rate(slope: float, line: float) -> float:
    """Return the share decided for; 0.99 is the standard deviation of the sum of covariates."""
    return float(_WEIGHTS @ expit(slope * 0.99 * _NODES + line) / _WEIGHTS.sum())


def _line(slope: float, rate: float) -> float:
    """Return the intercept at which a share of patients is decided for."""
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _rate(slope, middle) < rate else (low, middle)
    return low


#: Worlds of few patients, of which many can be drawn.
SMALL = (
    *(World("neither", slope, 10, 60) for slope in (0.0, 1.0, 2.5, 6.0)),
    *(World("rates", slope, 12, 60) for slope in (0.0, 0.3, 0.7, 1.0, 1.5, 2.5, 6.0)),
    World("rates", 0.3, 24, 50),
    World("rates", 0.7, 100, 8),
    World("rates", 0.7, 5, 150),
    World("rates", 6.0, 12, 60, hidden=0.9),
    *(World("consistency", slope, 10, 60) for slope in (1.5, 2.5, 6.0, 20.0)),
    World("consistency", 6.0, 30, 30),
    World("consistency", 6.0, 5, 150),
    World("consistency", 4.0, 100, 8),
    World("consistency", 6.0, 12, 60, lapses=0.2),
    World("consistency", 6.0, 10, 60, hidden=0.4),
    World("consistency", 6.0, 10, 60, hidden=0.8),
    *(World("both", slope, 10, 60) for slope in (1.0, 1.5, 2.5, 6.0)),
    World("both", 4.0, 5, 120),
    World("both", 6.0, 20, 40),
)
#: More worlds for whoever judges them quickly: sizes from 5 to 500 physicians.
WIDE = (
    *(
        World(differ, slope, *size)
        for differ in ("neither", "rates", "consistency", "both")
        for slope, size in (
            (0.3, (20, 200)),
            (0.7, (50, 100)),
            (1.0, (10, 400)),
            (1.5, (100, 50)),
            (2.5, (5, 300)),
            (4.0, (200, 40)),
            (8.0, (30, 100)),
        )
    ),
    World("consistency", 4.0, 500, 40),
    World("rates", 0.0, 500, 40),
)
#: Worlds of many patients, drawn once each replicate that asks for them.
LARGE = (
    World("rates", 0.3, 463, 37),
    World("consistency", 9.0, 82, 4600, lapses=0.025),
    World("rates", 0.3, 100, 4000),
    World("rates", 0.0, 60, 250),
    World("both", 2.5, 250, 40),
)


def worlds(replicate: int, *, wide: bool = False, large: bool = False) -> Iterator[Case]:
    """Draw the worlds one by one: those of few patients, and more if asked for."""
    for world in (*SMALL, *(WIDE if wide else ()), *(LARGE if large else ())):
        yield world.draw(replicate)
