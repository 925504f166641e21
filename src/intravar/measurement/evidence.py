"""The pairs of comparable patients behind a score, for every kind of method."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.spatial import cKDTree

from intravar.estimators import Estimator, Observed

SCHEMA = {
    "physician": pl.String,
    "first": pl.Int64,
    "second": pl.Int64,
    "distance": pl.Float64,
    "discordant": pl.Boolean,
}
#: A patient is in the core if the latent rule is this sure that it applies.
SURE = 0.9


def pairs_behind(estimator: Estimator, observed: Observed) -> pl.DataFrame:
    """Return the pairs: physician, positions of both patients, distance, discordant or not.

    A matching method has its own. For the latent rule, the patients of a physician that lie in
    the core, where the rule surely applies, are paired with their nearest neighbours there.
    """
    found: Any = getattr(estimator, "pairs_", None)
    if found is not None:
        table: pl.DataFrame = found.select(
            pl.col(name).cast(dtype) for name, dtype in SCHEMA.items()
        )
        return table
    core = core_of(estimator, observed)
    if core is None:
        return pl.DataFrame(schema=SCHEMA)
    tables = [
        _paired(name, panel[core[panel]], observed)
        for name, panel in zip(observed.physicians, observed.panels, strict=True)
    ]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *tables])


def core_of(estimator: Estimator, observed: Observed) -> npt.NDArray[np.bool_] | None:
    """Return which patients the latent rule is sure about; None for a method without a core."""
    core: Any = getattr(estimator, "core_", None)
    if core is not None and len(np.asarray(core)) == observed.n_patients:
        return np.asarray(core, dtype=np.bool_)
    eligible: Any = getattr(estimator, "eligible_probability_", None)
    if eligible is None:
        return None
    return np.asarray(np.asarray(eligible) >= SURE)


def _paired(name: str, rows: npt.NDArray[np.int64], observed: Observed) -> pl.DataFrame:
    """Pair patients that are each other's nearest among those left, greedily by distance."""
    if len(rows) < 2:
        return pl.DataFrame(schema=SCHEMA)
    points = observed.standardised[rows]
    n_near = min(len(rows), 6)
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
            "physician": [name] * len(taken),
            "first": a,
            "second": b,
            "distance": apart[taken],
            "discordant": observed.decision[a] != observed.decision[b],
        },
        schema=SCHEMA,
    )
