"""Two limits of one's own each: every such rule is weighed by how well it explains the decisions.

A physician may treat whom two limits on two covariates mark ("older than 60 and a pressure above
140"), or whom either of them does. There are finitely many such rules on a grid of quantiles, and
with Beta laws of the rates the marginal likelihood of each is exact. So is the posterior: nothing
is searched greedily, and what stays unsure among the rules stays in the interval.

A rule is a pair of covariates, which side of either limit is meant, the two limits, and whether
those inside are eligible (both limits met) or those outside (either missed). Counts inside come
from cumulative tables, so that a rule costs a few look-ups and no patient is visited twice. Limits
between the same two patients of a panel make the same patients eligible. Such rules are weighed
together, as often as there are limits, so that a small panel costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.special import betaln, gammaln

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.personal.panel_rows import PanelDraws
from intravar.latent.rates import Law, fit_beta, no_stronger
from intravar.panels import Panels
from intravar.processes import interrupts_wait

#: Logarithms by which a rule may be less likely than the likeliest to be drawn at all.
FURTHEST_BELOW = 45.0
#: Entries that a table of rules by their counts may have.
LARGEST_TABLE = 1_000_000


#: Sides of the two limits: below or above each.
SIDES = 4


@njit(cache=True, nogil=True)
def _ranked(bins, levels):  # type: ignore[no-untyped-def]
    """Return every patient's rank among a column's levels, and limits by what they part.

    The second array counts, for either side, the limits with so many of the ranks below them.
    """
    present = np.zeros(levels, np.bool_)
    for i in range(bins.size):
        present[bins[i]] = True
    rank, values = np.empty(levels, np.int64), np.empty(levels, np.int64)
    m = 0
    for level in range(levels):
        if present[level]:
            rank[level], values[m] = m, level
            m += 1
    often = np.zeros((2, m + 1))
    for c in range(m + 1):
        # Limits 1 to `levels` with those below inside; 0 to `levels` - 1 with those from it up.
        for side in range(2):
            begin = values[c - 1] + 1 if c > 0 else 1 - side
            end = values[c] if c < m else levels - side
            often[side, c] = end - begin + 1
    out = np.empty(bins.size, np.int64)
    for i in range(bins.size):
        out[i] = rank[bins[i]]
    return out, often


class _Counts(NamedTuple):
    """Cumulative tables of a panel.

    By covariate: ranks of the patients, limits by what they part, and how many kinds of them. By
    pair of covariates: patients below both limits, and those of them who were decided for.
    """

    ranks: IntArray
    often: FloatArray
    wide: IntArray
    inside: IntArray
    yes: IntArray


@njit(cache=True, nogil=True)
def _counted(bins, y, known, pairs, levels):  # type: ignore[no-untyped-def]
    total, p = bins.shape
    ranks = np.empty((p, total), np.int64)
    often = np.zeros((p, 2, levels + 1))
    wide = np.empty(p, np.int64)
    for c in range(p):
        ranks[c], found = _ranked(bins[:, c], levels)
        wide[c] = found.shape[1]
        often[c, :, : wide[c]] = found
    shape = (pairs.shape[0], wide.max(), wide.max())
    inside, yes = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for at in range(pairs.shape[0]):
        one, other = pairs[at]
        for i in known:
            inside[at, ranks[one, i] + 1, ranks[other, i] + 1] += 1
            yes[at, ranks[one, i] + 1, ranks[other, i] + 1] += y[i]
        for table in (inside[at], yes[at]):
            for a in range(1, wide[one]):
                for b in range(1, wide[other]):
                    table[a, b] += table[a - 1, b] + table[a, b - 1] - table[a - 1, b - 1]
    return _Counts(ranks, often, wide, inside, yes)


@njit(cache=True, nogil=True)
def _corner(table, side, a, b, last, final):  # type: ignore[no-untyped-def]
    """Count those inside: ranks below a or from a up, and the same for b."""
    if side == 0:
        return table[a, b]
    if side == 1:
        return table[last, b] - table[a, b]
    if side == 2:
        return table[a, final] - table[a, b]
    return table[last, final] - table[a, final] - table[last, b] + table[a, b]


class _Chances(NamedTuple):
    """How likely rules are, relative to the likeliest, whose log evidence is `top`.

    `table` goes by number inside, decisions for among them, and whether those inside or those
    outside are eligible; empty where the panel is too large for one. `high` and `low` look up the
    Beta laws.
    """

    table: FloatArray
    top: float
    total: int
    given: int
    high: FloatArray
    low: FloatArray


@njit(cache=True, nogil=True)
def _log_evidence(n, k, way, total, given, high, low):  # type: ignore[no-untyped-def]
    """Return the log marginal likelihood of the decisions, those inside eligible or the others."""
    if way == 1:
        n, k = total - n, given - k
    m, h = total - n, given - k
    return high[0, k] + high[1, n - k] - high[2, n] + low[0, h] + low[1, m - h] - low[2, m]


@njit(cache=True, nogil=True)
def _chance(chances, n, k, way):  # type: ignore[no-untyped-def]
    if chances.table.size:
        return chances.table[n, k, way]
    value = _log_evidence(n, k, way, chances.total, chances.given, chances.high, chances.low)
    value -= chances.top
    return np.exp(value) if value > -FURTHEST_BELOW else 0.0


@njit(cache=True, nogil=True)
def _chances_of(counts, pairs, total, given, high, low):  # type: ignore[no-untyped-def]
    few = (total + 1) * (given + 1) <= LARGEST_TABLE
    shape = (total + 1, given + 1) if few else (0, 0)
    met = np.zeros(shape, np.bool_)
    top = -np.inf
    for at in range(pairs.shape[0]):
        one, other = pairs[at]
        last, final = counts.wide[one] - 1, counts.wide[other] - 1
        inside, yes = counts.inside[at], counts.yes[at]
        for a in range(last + 1):
            for b in range(final + 1):
                for side in range(SIDES):
                    n = _corner(inside, side, a, b, last, final)
                    k = _corner(yes, side, a, b, last, final)
                    if few:
                        met[n, k] = True
                    else:
                        for way in range(2):
                            top = max(top, _log_evidence(n, k, way, total, given, high, low))
    table = np.zeros((shape[0], shape[1], 2))
    for n in range(shape[0]):
        for k in range(shape[1]):
            if met[n, k]:
                for way in range(2):
                    table[n, k, way] = _log_evidence(n, k, way, total, given, high, low)
                    top = max(top, table[n, k, way])
    for n in range(shape[0]):
        for k in range(shape[1]):
            for way in range(2):
                value = table[n, k, way] - top
                likely = met[n, k] and value > -FURTHEST_BELOW
                table[n, k, way] = np.exp(value) if likely else 0.0
    return _Chances(table, top, total, given, high, low)


@njit(cache=True, nogil=True)
def _block_sum(counts, pairs, block, chances):  # type: ignore[no-untyped-def]
    """Sum up the chances of all rules of a pair of covariates and a side."""
    at, side = block // SIDES, block % SIDES
    one, other = pairs[at]
    last, final = counts.wide[one] - 1, counts.wide[other] - 1
    inside, yes = counts.inside[at], counts.yes[at]
    total = 0.0
    for a in range(last + 1):
        often = counts.often[one, side % 2, a]
        if often == 0.0:
            continue
        for b in range(final + 1):
            n = _corner(inside, side, a, b, last, final)
            k = _corner(yes, side, a, b, last, final)
            chance = _chance(chances, n, k, 0) + _chance(chances, n, k, 1)
            total += often * counts.often[other, side // 2, b] * chance
    return total


@njit(cache=True, nogil=True)
def _drawn(counts, pairs, chances, point, n_draws):  # type: ignore[no-untyped-def]
    """Return block, both limits and way of rules drawn by their chances, evenly spread."""
    n_blocks = pairs.shape[0] * SIDES
    run = np.zeros(n_blocks + 1)
    for block in range(n_blocks):
        run[block + 1] = run[block] + _block_sum(counts, pairs, block, chances)
    drawn = np.zeros((n_draws, 4), np.int64)
    t = 0
    for block in range(n_blocks):
        if t == n_draws:
            break
        if run[block + 1] < (t + point) / n_draws * run[-1] or run[block + 1] == run[block]:
            continue
        at, side = block // SIDES, block % SIDES
        one, other = pairs[at]
        last, final = counts.wide[one] - 1, counts.wide[other] - 1
        so_far = run[block]
        likely = (block, 0, 0, 0)
        for a in range(last + 1):
            for b in range(final + 1):
                often = counts.often[one, side % 2, a] * counts.often[other, side // 2, b]
                n = _corner(counts.inside[at], side, a, b, last, final)
                k = _corner(counts.yes[at], side, a, b, last, final)
                for way in range(2):
                    chance = often * _chance(chances, n, k, way)
                    if chance == 0.0:
                        continue
                    so_far += chance
                    likely = (block, a, b, way)
                    while t < n_draws and (t + point) / n_draws * run[-1] <= so_far:
                        drawn[t] = likely
                        t += 1
        # What rounding left over belongs to the last rule.
        while t < n_draws and (t + point) / n_draws * run[-1] <= run[block + 1]:
            drawn[t] = likely
            t += 1
    return drawn


@njit(cache=True, nogil=True)
def weigh_panel(  # type: ignore[no-untyped-def]
    bins, y, known, pairs, levels, high, low, laws, point, n_draws, tested
):
    """Draw rules of two limits from their exact posterior.

    `bins` holds the level of every patient in every covariate; decisions count of `known`
    positions, the others are predicted. `high` and `low` look up the Beta laws, whose parameters
    are `laws`: log Gamma of a + k, b + k and a + b + k, each less its value at k = 0. The evenly
    spread draws begin at `point` in [0, 1); of so many as are `tested`, P(yes) is kept.
    """
    n_patients, total, given = y.size, known.size, y[known].sum()
    counts = _counted(bins, y, known, pairs, levels)
    chances = _chances_of(counts, pairs, total, given, high, low)
    drawn = _drawn(counts, pairs, chances, point, n_draws)
    out, kept = np.empty((n_draws, 5)), np.empty((tested, n_patients))
    eligible, told = np.empty(n_patients, np.bool_), np.zeros(n_patients, np.bool_)
    told[known] = True
    sums, g_sums, q_sums = np.zeros(n_patients), np.zeros(n_patients), np.zeros(n_patients)
    for t in range(n_draws):
        block, a, b, way = drawn[t]
        one, other = pairs[block // SIDES]
        side = block % SIDES
        n, k = 0, 0
        for i in range(n_patients):
            within = (counts.ranks[one, i] >= a) == (side % 2 == 1)
            if within:
                within = (counts.ranks[other, i] >= b) == (side >= 2)
            eligible[i] = within != (way == 1)
            if eligible[i] and told[i]:
                n += 1
                k += y[i]
        out[t, 0], out[t, 1] = laws[0] + k, laws[1] + n - k
        out[t, 2], out[t, 3] = laws[2] + given - k, laws[3] + total - n - given + k
        out[t, 4] = n / max(total, 1)
        for i in range(n_patients):
            a_own, b_own = (out[t, 0], out[t, 1]) if eligible[i] else (out[t, 2], out[t, 3])
            if tested > 0:
                kept[t * tested // n_draws, i] = a_own / (a_own + b_own)
            q, weight = a_own / (a_own + b_own), 1.0
            if told[i]:
                # Without the own decision: it leaves the law, and what it made likely weighs less.
                a_own -= y[i]
                q = a_own / (a_own + b_own - (1 - y[i]))
                weight = 1.0 / (q if y[i] == 1 else 1.0 - q)
            sums[i] += weight
            g_sums[i] += weight if eligible[i] else 0.0
            q_sums[i] += weight * q
    return PanelDraws(out, 0, g_sums / sums, q_sums / sums, kept)


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
    """What personal limits have in common: columns and their cuts, and the laws of the rates."""

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
        shared: FloatArray | None = None,
    ) -> CommonLimits:
        """Learn the laws of the rates from the decisions on `known`; limits are on `columns`.

        The shared rule's logit, of the other family, is not looked at.
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
        pairs = np.column_stack(np.tril_indices(bins.shape[1], -1))
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


def law_table(law: Law, most: int) -> FloatArray:
    """Return look-up tables of a Beta law, see :func:`weigh_panel`."""
    # The constants make evidences of different laws comparable; between rules they cancel.
    start = np.array([[law[0]], [law[1]], [sum(law)]])
    return np.asarray(gammaln(start + np.arange(most + 1)) - gammaln(start))


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
