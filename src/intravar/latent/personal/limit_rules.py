"""Two limits of one's own each: every such rule is weighed by how well it explains the decisions.

A physician may treat whom two limits on two covariates mark ("older than 60 and a pressure above
140"), or whom either of them does. There are finitely many such rules on a grid of quantiles, and
with Beta laws of the rates the marginal likelihood of each is exact. So is the posterior: nothing
is searched greedily, and what stays unsure among the rules stays in the interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from intravar.arrays import FloatArray, IntArray
from intravar.latent.decided import Decided
from intravar.latent.personal.limit_kernel import draw_rules, eligible_under, rule_log_evidence
from intravar.latent.personal.rate_draws import RateDraws
from intravar.latent.rates import fit_beta, no_stronger

#: Levels of a covariate, rules drawn per physician, rounds in which the Beta laws are learned.
LEVELS, DRAWS, ROUNDS = 40, 200, 4
#: Cells on which the Beta laws are learned.
CELLS = 200
#: Physicians whose cells are held at a time: their densities under all draws take 80 kB each.
AT_A_TIME = 64
#: Entries that a table of rules by their counts may have; about as many as there are rules.
LARGEST_TABLE = 250_000

Law = tuple[float, float]


@dataclass(frozen=True)
class LimitRules:
    """Draws from the posterior over rules of two limits.

    Attributes
    ----------
    draws
        Laws of the rates, given the rule, by draw.
    rules
        Numbers of the drawn rules, draw x physician.
    pairs
        Pairs of covariates.
    levels
        Levels of a covariate.
    """

    draws: RateDraws
    rules: IntArray
    pairs: IntArray
    levels: int

    def predict(self, bins: IntArray, physician: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the probability of a decision for, and of being eligible, for these patients."""
        q, g = np.zeros(len(bins)), np.zeros(len(bins))
        high, low = (law[..., 0] / law.sum(axis=2) for law in (self.draws.high, self.draws.low))
        for j in np.unique(physician):
            at = np.flatnonzero(physician == j)
            eligible = eligible_under(bins[at], self.rules[:, j], self.pairs, self.levels)
            g[at] = eligible.mean(axis=0)
            q[at] = np.where(eligible, high[:, j, None], low[:, j, None]).mean(axis=0)
        return q, g

    def predict_draws(self, bins: IntArray, physician: IntArray, most: int) -> list[FloatArray]:
        """Return the probability of a decision for under single draws, at most so many."""
        chosen = np.linspace(0, len(self.rules) - 1, most).astype(np.int64)
        found = np.empty((most, len(bins)))
        high, low = (law[..., 0] / law.sum(axis=2) for law in (self.draws.high, self.draws.low))
        for j in np.unique(physician):
            at = np.flatnonzero(physician == j)
            eligible = eligible_under(bins[at], self.rules[chosen, j], self.pairs, self.levels)
            found[:, at] = np.where(eligible, high[chosen, j, None], low[chosen, j, None])
        return list(found)


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


def level_of(X: FloatArray, levels: int = LEVELS) -> IntArray:
    """Cut every column at quantiles into at most so many levels, numbered from 0.

    Examples
    --------
    >>> level_of(np.array([[3.0], [1.0], [3.0], [2.0]])).ravel().tolist()
    [2, 0, 2, 1]
    """
    return Levels.of(X, levels)(X)


def weigh_limit_rules(
    bins: IntArray, decided: Decided, random: np.random.Generator, levels: int = LEVELS
) -> LimitRules:
    """Return draws from the exact posterior over all rules of two limits, Beta laws learned.

    Parameters
    ----------
    bins
        Level of every patient in every covariate, at least two covariates.
    decided
        The decisions.
    random
        Where the draws come from.
    levels
        Number of levels.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> bins, who = random.integers(0, 5, (600, 2)), np.repeat([0, 1], 300)
    >>> eligible = (bins[:, 0] > 1) & np.where(who == 0, bins[:, 1] > 1, bins[:, 1] < 3)
    >>> y = (random.random(600) < np.where(eligible, 0.9, 0.05)).astype(np.int64)
    >>> found = weigh_limit_rules(bins, Decided(y, who, 2), random, levels=5)
    >>> found.draws.mean_rates()[0].round(1).tolist()
    [0.9, 0.9]
    """
    pairs = pairs_of(bins.shape[1])
    order = np.argsort(decided.physician, kind="stable")
    sizes = np.bincount(decided.physician, minlength=decided.n_physicians)
    panels = np.split(order, np.cumsum(sizes)[:-1])
    high, low = (3.0, 1.0), (1.0, 9.0)
    for at in range(ROUNDS):
        tables = law_table(high, int(sizes.max())), law_table(low, int(sizes.max()))
        rules = np.empty((DRAWS, len(panels)), dtype=np.int64)
        laws = np.empty((DRAWS, len(panels), 5))
        for j, rows in enumerate(panels):
            own, y = bins[rows], decided.y[rows]
            point = random.random()
            if (y.size + 1) * (int(y.sum()) + 1) <= LARGEST_TABLE:
                found = draw_rules(own, y, pairs, levels, *tables, point, DRAWS)
            else:
                evidence = rule_log_evidence(own, y, pairs, levels, *tables)
                found = _drawn(evidence, point, own, y, pairs, levels)
            rules[:, j] = found[0]
            laws[:, j] = _laws(found[1], y, high, low)
        if at < ROUNDS - 1:
            high, low = _learned_law(laws[..., :2]), _learned_law(laws[..., 2:4])
    draws = RateDraws(laws[..., :2], laws[..., 2:4], laws[..., 4], high, low)
    return LimitRules(draws, rules, pairs, levels)


def pairs_of(n_columns: int) -> IntArray:
    """Return all pairs of columns."""
    return np.array([(a, b) for a in range(n_columns) for b in range(a)], dtype=np.int64)


def law_table(law: Law, most: int) -> FloatArray:
    """Return look-up tables of a Beta law, see `rule_log_evidence`."""
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


def _drawn(
    log_evidence: FloatArray,
    point: float,
    bins: IntArray,
    y: IntArray,
    pairs: IntArray,
    levels: int,
) -> tuple[IntArray, IntArray]:
    """Draw as `draw_rules` does, from the evidence of every single rule."""
    run = np.cumsum(np.exp(log_evidence - log_evidence.max()))
    points = (np.arange(DRAWS) + point) / DRAWS * run[-1]
    rules = np.minimum(np.searchsorted(run, points), run.size - 1).astype(np.int64)
    eligible = eligible_under(bins, rules, pairs, levels)
    return rules, np.column_stack([eligible.sum(axis=1), (eligible * y).sum(axis=1)])


def _laws(counts: IntArray, y: IntArray, high: Law, low: Law) -> FloatArray:
    """Return the Beta laws of both rates given every rule, and the share it makes eligible."""
    n, k = counts.T
    m, h = y.size - n, y.sum() - k
    parts = (high[0] + k, high[1] + n - k, low[0] + h, low[1] + m - h, n / max(y.size, 1))
    return np.column_stack(parts)


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
