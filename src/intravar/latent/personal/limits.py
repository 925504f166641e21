"""Two limits of one's own each: every such rule is weighed by how well it explains the decisions.

A physician may treat whom two limits on two covariates mark ("older than 60 and a pressure above
140"), or whom either of them does. There are finitely many such rules on a grid of quantiles, and
with Beta laws of the rates the marginal likelihood of each is exact. So is the posterior: nothing
is searched greedily, and what stays unsure among the rules stays in the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, gammaln

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.personal.limits_kernel import weigh_panel
from intravar.latent.personal.panel_rows import PanelDraws
from intravar.latent.rates import Law, fit_beta, no_stronger
from intravar.panels import Panels
from intravar.processes import interrupts_wait

#: Levels of a covariate, rules drawn per physician, rounds in which the Beta laws are learned.
LEVELS, DRAWS, ROUNDS = 40, 200, 3
#: Cells on which the Beta laws are learned.
CELLS = 200
#: Physicians whose cells are held at a time: their densities under all draws take 80 kB each.
AT_A_TIME = 64


@dataclass(frozen=True)
class Levels:
    """Where every column is cut into levels; a value on a cut is above it."""

    cuts: tuple[FloatArray, ...]

    @classmethod
    def of(cls, X: FloatArray, levels: int = LEVELS) -> Levels:
        """Cut at quantiles, or between values where these are few."""
        cuts = []
        for column in X.T:
            values = np.unique(column)
            if values.size > levels:
                cuts.append(np.unique(np.quantile(column, np.arange(1, levels) / levels)))
            else:
                cuts.append(values[1:])
        return cls(tuple(cuts))

    def __call__(self, X: FloatArray) -> IntArray:
        """Return the level of every value, from 0."""
        out = np.zeros(X.shape, dtype=np.int64)
        for c, cuts in enumerate(self.cuts):
            out[:, c] = np.searchsorted(cuts, X[:, c], side="right")
        return out


@dataclass(frozen=True)
class CommonLimits:
    """What personal limits have in common.

    Attributes
    ----------
    columns, levels
        Columns of the standardised covariates, and where they are cut.
    high, low
        Laws of the rates.
    """

    columns: IntArray
    levels: Levels
    high: Law
    low: Law

    name = "personal limits"

    @property
    def laws(self) -> tuple[Law, Law]:
        """Beta laws of p_high and p_low."""
        return self.high, self.low

    @classmethod
    def learn(
        cls,
        z: FloatArray,
        columns: IntArray,
        panels: Panels,
        known: BoolArray,
        random: np.random.Generator,
    ) -> CommonLimits:
        """Learn the laws of the rates from the decisions on `known`.

        Parameters
        ----------
        z, columns
            Standardised covariates, and those that limits may be about, at least two.
        panels
            The patients.
        known
            Whose decisions are looked at.
        random
            Where the draws come from.
        """
        found = cls(columns, Levels.of(z[:, columns]), (3.0, 1.0), (1.0, 9.0))
        for _ in range(ROUNDS):
            read = found.reader(z, np.empty(0), panels, known, 0)
            laws = np.stack([read(j, random).laws for j in range(len(panels))], axis=1)
            high, low = _learned_law(laws[..., :2]), _learned_law(laws[..., 2:4])
            found = replace(found, high=high, low=low)
        return found

    def reader(
        self, z: FloatArray, shared: FloatArray, panels: Panels, known: BoolArray, tested: int
    ) -> Callable[[int, np.random.Generator], PanelDraws]:
        """Return what reads a panel by its number; the shared rule's logit is not looked at."""
        bins = self.levels(z[:, self.columns])
        pairs = pairs_of(bins.shape[1])
        most = int(panels.sizes.max(initial=0))
        tables = law_table(self.high, most), law_table(self.low, most)
        laws = np.array([*self.high, *self.low])

        def read(j: int, random: np.random.Generator) -> PanelDraws:
            part = panels.part(j)
            own = np.flatnonzero(known[part])
            with interrupts_wait():
                found: PanelDraws = weigh_panel(
                    bins[part], panels.y[part], own, pairs, LEVELS, *tables, laws,
                    random.random(), DRAWS, tested,
                )  # fmt: skip
            return found

        return read


def pairs_of(n_columns: int) -> IntArray:
    """Return all pairs of columns."""
    return np.array([(a, b) for a in range(n_columns) for b in range(a)], dtype=np.int64)


def law_table(law: Law, most: int) -> FloatArray:
    """Return look-up tables of a Beta law, see :func:`weigh_panel`."""
    k = np.arange(most + 1)
    a, b = law
    # The constants make evidences of different laws comparable; between rules they cancel.
    return np.stack(
        [
            gammaln(a + k) - gammaln(a),
            gammaln(b + k) - gammaln(b),
            gammaln(a + b + k) - gammaln(a + b),
        ]
    )


def _learned_law(laws: FloatArray) -> Law:
    """Return the Beta law that rates with these posteriors most likely come from."""
    p = (np.arange(CELLS) + 0.5) / CELLS
    log_p, log_rest = np.log(p), np.log1p(-p)
    mass = np.empty((laws.shape[1], CELLS))
    for start in range(0, len(mass), AT_A_TIME):
        part = slice(start, start + AT_A_TIME)
        a, b = laws[::4, part, :1], laws[::4, part, 1:]
        mass[part] = np.exp((a - 1) * log_p + (b - 1) * log_rest - betaln(a, b)).sum(axis=0)
    law = fit_beta(mass / mass.sum(axis=1, keepdims=True), np.tile(p, (len(mass), 1)))
    return no_stronger(law, len(mass))
