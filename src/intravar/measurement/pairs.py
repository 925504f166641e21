"""Who is alike enough to be set beside a patient: one distance, on which 1 is the caliper.

Two patients are alike if they agree in what the decisions depend on, and if the same would be
predicted for both. Covariates are standardised and weighed by how much the decisions depend on
them; predictions are compared as log odds. Both count in units of the farthest that is allowed. See
docs/measure.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.spatial import cKDTree
from scipy.special import logit

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.evidence import PAIR_SCHEMA, Evidence
from intravar.observed import Observed
from intravar.seeds import stream

#: Weighted covariates may differ by so much of what they differ by between two patients at random.
COVARIATES = 0.5
#: Predictions may differ by so much in log odds: 50 and 62 of 100, 90 and 94.
LOG_ODDS = 0.5
#: Beyond these log odds (5 and 95 of 100) a prediction is clear, and no clearer than another.
CLEAR = 3.0
#: Share of the weight that all covariates have alike, whatever decisions depend on.
EVEN = 0.1
#: Points within 1 of each other are alike; those at the limit are, whichever way it is rounded.
ALIKE = 1 + 1e-9
#: Neighbours of a patient that are looked at.
NEIGHBOURS = 6
#: A pair may lie so far apart, measured by what two patients at random do.
FAR = 0.5


@dataclass(frozen=True, eq=False)
class AlikeScale:
    """By how much covariates may differ, one entry per column.

    Columns are standardised by `mean` and `spread`, a gap counts as the mean; two patients at
    random lie `usual` apart.
    """

    mean: FloatArray
    spread: FloatArray
    weight: FloatArray
    usual: float

    @classmethod
    def of(
        cls, observed: Observed, origin: Sequence[str], importance: Mapping[str, float]
    ) -> AlikeScale:
        """Learn the scale from patients.

        `origin` names for every column its covariate, `importance` says how much decisions depend
        on each; what is negative or not known counts as 0.
        """
        gap = np.isnan(observed.covariates)
        if gap.any():
            known = np.where(gap, 0.0, observed.covariates).sum(axis=0)
            usual_values = known / np.maximum((~gap).sum(axis=0), 1)
            filled = np.where(gap, usual_values, observed.covariates)
            observed = replace(observed, covariates=filled)
        mean, spread = observed.mean_and_spread
        names = list(dict.fromkeys(origin))
        given = np.array([max(0.0, float(importance.get(name, 0.0))) for name in names])
        given = np.where(np.isfinite(given), given, 0.0)
        total = given.sum()
        share = given / total if total > 0 else np.full(len(names), 1 / len(names))
        by_name = dict(zip(names, (1 - EVEN) * share + EVEN / len(names), strict=True))
        weight = np.array([by_name[name] for name in origin])
        points = observed.standardised * np.sqrt(weight)
        # Two patients at random lie the root of twice the whole variance apart.
        usual = float(np.sqrt(2 * np.square(points).mean(axis=0).sum()))
        return cls(mean, spread, weight, usual)

    def points(self, covariates: FloatArray, probability: FloatArray | None = None) -> FloatArray:
        """Return patients as points; two of them are alike if they lie within 1 of each other.

        Without `probability` predictions do not count.

        Examples
        --------
        >>> observed = Observed.of([[0.0, 0], [0, 1], [2, 0], [2, 1]], [0, 1, 0, 1], list("aaaa"))
        >>> scale = AlikeScale.of(observed, ("age", "sex"), {"age": 1.0})
        >>> points = scale.points(observed.covariates)
        >>> np.abs(points[0] - points[1:]).max(axis=1).round(2).tolist()
        [0.63, 2.76, 2.76]
        """
        centred = np.where(np.isnan(covariates), 0.0, covariates - self.mean)
        centred[:, np.isinf(self.spread)] = 0.0
        points = centred / self.spread * np.sqrt(self.weight)
        points = points / (COVARIATES * self.usual) if self.usual > 0 else np.zeros_like(points)
        if probability is None:
            return points
        odds = np.clip(logit(np.clip(probability, 1e-9, 1 - 1e-9)), -CLEAR, CLEAR)
        return np.column_stack([points, odds / LOG_ODDS])


def nearest_within(
    points: FloatArray, patient: int, among: IntArray, most: int
) -> list[tuple[int, float]]:
    """Return those among some patients who are alike, the nearest first, with their distances.

    `among` are positions, rising, of those who may be set beside `patient`; equally near ones come
    in the order of their positions.

    Examples
    --------
    >>> nearest_within(np.array([[0.0], [0.5], [0.2], [3.0]]), 0, np.array([1, 2, 3]), 2)
    [(2, 0.2), (1, 0.5)]
    """
    apart = np.sqrt(np.square(points[among] - points[patient]).sum(axis=1))
    within = np.flatnonzero(apart <= ALIKE)
    nearest = within[np.argsort(apart[within], kind="stable")[:most]]
    return [(int(among[at]), float(apart[at])) for at in nearest]


def pairs_behind(evidence: Evidence, observed: Observed) -> pl.DataFrame:
    """Return the pairs: panel, positions of both patients, distance, discordant or not.

    A matching method has its own. Otherwise the patients of a physician are paired with their
    nearest neighbours: for the latent rule those to whom the rule surely applies, for other methods
    all of them. Pairs farther apart than two patients of the panel usually are, are left out: no
    pair is better than a bad one.
    """
    counted = evidence.pairs()
    if counted is not None:
        return counted
    of_all = np.ones(observed.n_patients, dtype=np.bool_)
    core = of_all if evidence.core is None else evidence.core
    points = observed.standardised
    # Standardised: two patients at random lie the root of twice the number of columns apart.
    most_apart = FAR * float(np.sqrt(2 * points.shape[1]))
    tables = [
        _paired(at, panel[core[panel]], points, observed, most_apart)
        for at, panel in enumerate(observed.panels)
    ]
    return pl.concat([pl.DataFrame(schema=PAIR_SCHEMA), *tables])


def pairs_to_review(observed: Observed, scale: AlikeScale) -> pl.DataFrame:
    """Return pairs that are alike in the record, each patient in one pair at the most.

    Predictions are left out: that of a patient is learned from the decisions on the others, so that
    two neighbours who were decided differently would be pushed apart. Patients who are alike in
    everything are taken in an order by lot: they are stored by their decisions.
    """
    points = scale.points(observed.covariates)
    tables = []
    for at, panel in enumerate(observed.panels):
        lot = stream(0, "review", "pairs", str(observed.physicians[at])).permutation(len(panel))
        tables.append(_paired(at, panel[lot], points, observed, 1.0))
    return pl.concat([pl.DataFrame(schema=PAIR_SCHEMA), *tables])


def some_pairs(pairs: pl.DataFrame, observed: Observed, most: int) -> pl.DataFrame:
    """Return so many pairs of every panel at the most, by lot, with the number each stands for."""
    kept = [pairs.head(0).with_columns(pl.lit(1.0).alias("weight"))]
    for (panel,), own in pairs.group_by("panel", maintain_order=True):
        name = str(observed.physicians[int(panel)])
        lot = stream(0, "review", "kept", name).permutation(own.height)[:most]
        kept.append(own[np.sort(lot)].with_columns(pl.lit(own.height / len(lot)).alias("weight")))
    return pl.concat(kept)


def _paired(
    panel: int, rows: IntArray, points: FloatArray, observed: Observed, most_apart: float
) -> pl.DataFrame:
    """Pair patients that are each other's nearest among those left, greedily by distance."""
    if len(rows) < 2:
        return pl.DataFrame(schema=PAIR_SCHEMA)
    n_near = min(len(rows), NEIGHBOURS)
    distance, near = cKDTree(points[rows]).query(points[rows], k=n_near)
    first = np.repeat(np.arange(len(rows)), n_near)
    second, apart = near.ravel(), distance.ravel()
    valid = (first < second) & (apart <= most_apart)
    first, second, apart = first[valid], second[valid], apart[valid]
    order = np.lexsort((second, first, apart))
    used = np.zeros(len(rows), dtype=np.bool_)
    taken = []
    for position in order.tolist():
        a, b = first[position], second[position]
        if not (used[a] or used[b]):
            used[a] = used[b] = True
            taken.append(position)
    a, b = rows[first[taken]], rows[second[taken]]
    return pl.DataFrame(
        {
            "panel": [panel] * len(taken),
            "first": a,
            "second": b,
            "distance": apart[taken],
            "discordant": observed.decision[a] != observed.decision[b],
        },
        schema=PAIR_SCHEMA,
    )
