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


def pairs_behind(evidence: Evidence, observed: Observed) -> pl.DataFrame:
    """Return the pairs: panel, positions of both patients, distance, discordant or not.

    A matching method has its own. For the latent rule, the patients of a physician to whom the
    rule surely applies are paired with their nearest neighbours among them.
    """
    if isinstance(evidence, Pairs):
        return evidence.table.cast(PAIR_SCHEMA)  # type: ignore[arg-type]
    if not isinstance(evidence, EligibleRates):
        return pl.DataFrame(schema=PAIR_SCHEMA)
    tables = [
        _paired(at, panel[evidence.core[panel]], observed)
        for at, panel in enumerate(observed.panels)
    ]
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
    valid = first < second
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
