"""Two limits of one's own each: every such rule is weighed by how well it explains the decisions.

A physician may treat whom two limits on two covariates mark ("older than 60 and a pressure above
140"), or whom either of them does. There are finitely many such rules on a grid of quantiles, and
with Beta laws of the rates the marginal likelihood of each is exact. So is the posterior: nothing
is searched greedily, and what stays unsure among the rules stays in the interval.

A rule is a pair of covariates, a limit on each with the side that is meant, and whether those
inside are eligible (both limits met) or those outside (either missed). Counts inside come from
cumulative tables: a rule costs a look-up, however many patients there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent import rates
from intravar.panels import Panels

#: Levels of a covariate, and rules drawn per physician.
LEVELS, DRAWS = 40, 200
#: Beta laws of p_high and p_low: worth four patients and ten.
HIGH, LOW = (3.0, 1.0), (1.0, 9.0)


@dataclass(frozen=True)
class CommonLimits:
    """What personal limits have in common: columns, and where they are cut into levels.

    A value on a cut is above it.
    """

    columns: IntArray
    cuts: tuple[FloatArray, ...]

    name = "personal limits"
    laws = (HIGH, LOW)

    @classmethod
    def learn(cls, z: FloatArray, columns: IntArray, *_: object) -> CommonLimits:
        """Cut columns at quantiles, or between values where these are few; nothing else counts."""
        cuts = []
        for values in z[:, columns].T:
            few = np.unique(values)
            if few.size > LEVELS:
                few = np.unique(np.quantile(values, np.arange(LEVELS) / LEVELS))
            cuts.append(few[1:])
        return cls(columns, tuple(cuts))

    def reader(
        self, z: FloatArray, _: FloatArray, panels: Panels, known: BoolArray, tested: int
    ) -> Callable[[slice, np.random.Generator], rates.PanelDraws]:
        """Return what reads a panel; the shared rule's logit is not looked at."""
        bins = np.array(
            [np.digitize(z[:, at], cuts) for at, cuts in zip(self.columns, self.cuts, strict=True)]
        )
        pairs = np.column_stack(np.tril_indices(len(bins), -1))
        return lambda part, random: weigh_panel(
            bins[:, part], panels.y[part], known[part], pairs, random.random(), tested
        )


def weigh_panel(
    bins: IntArray, y: IntArray, known: BoolArray, pairs: IntArray, point: float, tested: int
) -> rates.PanelDraws:
    """Draw rules of two limits from their exact posterior.

    `bins` holds the level of every patient, covariate x patient. Decisions on `known` patients
    count, the others are predicted. The evenly spread draws begin at `point` in [0, 1); of so many
    as are `tested`, P(yes) is kept.
    """
    inside = _counts_inside(bins[:, known], np.ones(known.sum(), dtype=np.int64), pairs)
    inside_for = _counts_inside(bins[:, known], y[known], pairs)
    n, n_for = int(known.sum()), int(y[known].sum())
    evidence = _log_evidence(inside, inside_for, n, n_for)
    run = np.cumsum(np.exp(evidence - evidence.max()))
    points = (np.arange(DRAWS) + point) / DRAWS * run[-1]
    drawn = np.minimum(np.searchsorted(run, points), len(run) - 1)
    way, pair, a, b = (at[:, None] for at in np.unravel_index(drawn, (2, *inside.shape)))
    within = [
        np.where(limit < LEVELS, own <= limit, own >= limit - LEVELS)
        for limit, own in ((a, bins[pairs[pair[:, 0], 0]]), (b, bins[pairs[pair[:, 0], 1]]))
    ]
    eligible = (within[0] & within[1]) != (way == 1)
    yes = y == 1
    own_laws = rates.laws_given_decisions(np.ravel([HIGH, LOW]), eligible, yes, known)
    for_it = np.where(eligible, own_laws[:, [0]], own_laws[:, [2]])
    total = for_it + np.where(eligible, own_laws[:, [1]], own_laws[:, [3]])
    # Without the own decision, which leaves the law.
    q = (for_it - (known & yes)) / (total - known)
    means = rates.without_own_decision(eligible, q, yes, known)
    some = np.arange(tested) * DRAWS // max(tested, 1)
    return rates.PanelDraws(own_laws, 0, *means, (for_it / total)[some])


def _counts_inside(bins: IntArray, count: IntArray, pairs: IntArray) -> IntArray:
    """Add `count` up over the patients inside both limits, pair x limit x limit.

    Limits are first those with patients up to a level inside, then those with the others from it.
    """
    table = np.zeros((len(pairs), LEVELS, LEVELS), dtype=np.int64)
    for at, (one, other) in enumerate(pairs):
        place = bins[one] * LEVELS + bins[other]
        table[at] = np.bincount(place, count, LEVELS**2).reshape(LEVELS, LEVELS)
    for axis in (1, 2):
        up_to = table.cumsum(axis=axis)
        table = np.concatenate([up_to, up_to.take([-1], axis=axis) - up_to + table], axis=axis)
    return table


def _log_evidence(inside: IntArray, inside_for: IntArray, n: int, n_for: int) -> FloatArray:
    """Return the log marginal likelihood of every rule, those inside eligible, then the others."""
    high, low = (
        gammaln(start + np.arange(n + 1)) - gammaln(start)
        for start in (np.array([[a], [b], [a + b]]) for a, b in (HIGH, LOW))
    )
    # Rules with the same counts are alike: where counts are few, each is weighed once.
    few = (n + 1) * (n_for + 1) < inside.size
    m, k = np.indices((n + 1, n_for + 1)) if few else (inside, inside_for)
    against, others_for = np.maximum(m - k, 0), n_for - k
    others_against = np.maximum(n - m - others_for, 0)
    values = [
        (one[0, k] + one[1, against] - one[2, m])
        + (other[0, others_for] + other[1, others_against] - other[2, n - m])
        for one, other in ((high, low), (low, high))
    ]
    return np.concatenate(
        [(value[inside, inside_for] if few else value).ravel() for value in values]
    )
