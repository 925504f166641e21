"""Several decisions of one measurement: each on its own, and all together."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from intravar.estimators.several import (
    MISSING,
    PredictedDecisions,
    Several,
    common_folds,
    several_of,
)
from intravar.measurement.result import Measurement, OneDecision
from intravar.observed import in_natural_order
from intravar.request import Request


@dataclass(frozen=True, eq=False)
class Together:
    """Several decisions of one measurement; in memory nothing is hidden, names are real.

    Beside the request there is the measurement of each decision on its own, in the order in which
    they are taken; what the decisions say together (`joint`), and what that rests on (`predicted`),
    one row per patient of whom any decision is known.
    """

    request: Request
    decisions: Mapping[str, Measurement]
    predicted: PredictedDecisions
    joint: Several


def together_of(
    request: Request,
    measurements: Mapping[str, Measurement],
    everybody: Mapping[str, OneDecision],
) -> Together:
    """Say what decisions that were measured each on its own tell together.

    The predictions of all decisions are brought onto the same patients. A row in which one decision
    is missing counts for the others, and a physician may have patients in one decision alone.
    """
    patients = []
    for each in everybody.values():
        assert each.patients is not None
        assert each.physicians is not None
        physician = each.physicians[each.patients["code"]]
        patients.append(each.patients.with_columns(physician=physician))
    named = in_natural_order(pl.concat([each["physician"].unique() for each in patients]).unique())
    listed = named.alias("physician").to_frame()
    rows = np.unique(np.concatenate([each["row"].to_numpy() for each in patients]))
    shape = (len(rows), len(patients))
    values, code = np.full(shape, MISSING, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    own, pooled = np.full(shape, 0.5), np.full(shape, 0.5)
    unit = np.full(len(rows), -1, dtype=np.int64)
    alone = []
    for k, (measurement, predicted) in enumerate(zip(measurements.values(), patients, strict=True)):
        at = np.searchsorted(rows, predicted["row"].to_numpy())
        code[at] = predicted["physician"].replace_strict(named, np.arange(len(named))).to_numpy()
        values[at, k], own[at, k], pooled[at, k] = (
            predicted[name].to_numpy() for name in ("decision", "own", "pooled")
        )
        if k == 0 and not predicted["unit"].null_count():
            unit[at] = predicted["unit"].to_numpy()
        scored = listed.join(measurement.table, "physician", how="left", maintain_order="left")
        alone.append(scored.select("discordance", "low", "high").cast(pl.Float64).to_numpy())
    # By what is known of patients: a result does not depend on the table's order.
    order = np.lexsort(np.column_stack((own, pooled, values, code)).T)
    own, pooled, values, code = own[order], pooled[order], values[order], code[order]
    unit = unit[order]
    fold = common_folds(np.hstack([own, pooled]), values, code, request.random_state)
    together = PredictedDecisions(
        tuple(measurements),
        values,
        own,
        pooled,
        code,
        named,
        fold,
        tuple(alone),
        unit=unit if (unit >= 0).any() else None,
    )
    return Together(request, measurements, together, several_of(together))
