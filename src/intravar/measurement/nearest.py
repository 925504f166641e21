"""Pairs of comparable patients that show a score at work, for every kind of evidence."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.spatial import cKDTree

from intravar.arrays import IntArray
from intravar.estimators.evidence import PAIR_SCHEMA, EligibleRates, Evidence, Pairs
from intravar.observed import Observed

#: Neighbours of a patient that are looked at.
NEIGHBOURS = 6
#: A pair may lie so far apart, measured by what two patients at random do.
FAR = 0.5


def pairs_behind(evidence: Evidence, observed: Observed) -> pl.DataFrame:
    """Return the pairs: panel, positions of both patients, distance, discordant or not.

    A matching method has its own. Otherwise the patients of a physician are paired with their
    nearest neighbours: for the latent rule those to whom the rule surely applies, for other methods
    all of them. Pairs farther apart than two patients of the panel usually are, are left out: no
    pair is better than a bad one.
    """
    if isinstance(evidence, Pairs):
        return evidence.table.cast(PAIR_SCHEMA)  # type: ignore[arg-type]
    of_all = np.ones(observed.n_patients, dtype=np.bool_)
    core = evidence.core if isinstance(evidence, EligibleRates) else of_all
    tables = [_paired(at, panel[core[panel]], observed) for at, panel in enumerate(observed.panels)]
    return pl.concat([pl.DataFrame(schema=PAIR_SCHEMA), *tables])


def _paired(panel: int, rows: IntArray, observed: Observed) -> pl.DataFrame:
    """Pair patients that are each other's nearest among those left, greedily by distance."""
    if len(rows) < 2:
        return pl.DataFrame(schema=PAIR_SCHEMA)
    points = observed.standardised[rows]
    n_near = min(len(rows), NEIGHBOURS)
    distance, near = cKDTree(points).query(points, k=n_near)
    first = np.repeat(np.arange(len(rows)), n_near)
    second, apart = near.ravel(), distance.ravel()
    # Standardised: two patients at random lie the root of twice the number of columns apart.
    valid = (first < second) & (apart <= FAR * np.sqrt(2 * points.shape[1]))
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
