"""Pairs of comparable patients of one physician: those behind a score, and those to review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from scipy.spatial import cKDTree

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.evidence import PAIR_SCHEMA, Evidence
from intravar.measurement.alike import AlikeScale, alike_points
from intravar.observed import Observed
from intravar.seeds import stream

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


def pairs_to_review(
    observed: Observed,
    origin: Sequence[str],
    importance: Mapping[str, float],
    scale: AlikeScale | None = None,
) -> pl.DataFrame:
    """Return pairs that are alike in the record, each patient in one pair at the most.

    Covariates are weighed as in :mod:`intravar.measurement.alike`. Predictions are left out: that
    of a patient is learned from the decisions on the others, so that two neighbours who were
    decided differently would be pushed apart. Patients who are alike in everything are taken in
    an order by lot: they are stored by their decisions.

    Parameters
    ----------
    observed, origin, importance, scale
        See :func:`intravar.measurement.alike.alike_points`.
    """
    points = alike_points(observed, origin, importance, scale=scale)
    tables = []
    for at, panel in enumerate(observed.panels):
        lot = stream(0, "review", "pairs", str(observed.physicians[at])).permutation(len(panel))
        tables.append(_paired(at, panel[lot], points, observed, 1.0))
    return pl.concat([pl.DataFrame(schema=PAIR_SCHEMA), *tables])


def some_pairs(pairs: pl.DataFrame, observed: Observed, most: int) -> pl.DataFrame:
    """Return some pairs of every panel, by lot, with the number that each stands for.

    Parameters
    ----------
    pairs
        Of whole panels.
    observed
        The patients.
    most
        Pairs of a panel at the most.
    """
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
