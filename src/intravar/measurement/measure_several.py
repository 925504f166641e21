"""Measure several decisions of one table: each on its own, and all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, option
from intravar.estimators import Predictability
from intravar.estimators.evidence import Predictions
from intravar.estimators.several import (
    PredictedDecisions,
    Several,
    checked_names,
    common_folds,
    several_of,
)
from intravar.measurement.measure import Listener, Nobody, measured
from intravar.measurement.result import Measurement
from intravar.observed import in_natural_order
from intravar.request import Request, resolved, takes_request
from intravar.sources import read_source

_UNKNOWN = 2


@dataclass(frozen=True, eq=False)
class SeveralMeasured:
    """What was measured of several decisions; in memory nothing is hidden, names are real.

    Attributes
    ----------
    request
        What was asked for.
    measurements
        The measurement of each decision on its own, in the order in which they are taken.
    predicted
        What all of it rests on, one row per patient of whom any decision is known.
    together
        What they say together.
    """

    request: Request
    measurements: Mapping[str, Measurement]
    predicted: PredictedDecisions
    together: Several

    def __repr__(self) -> str:
        return self.together.describe()


@takes_request
def measure_several(
    source: Any,
    request: Request | None = None,
    *,
    progress: Listener | None = None,
    **options: Any,
) -> SeveralMeasured:
    """Measure several decisions of each physician: each on its own, and all together.

    Parameters
    ----------
    source
        As for :func:`intravar.measure`.
    request
        What to measure, and how; its `decision` names several, with commas between.
    progress
        Told how it goes on.
    **options
        The fields of a :class:`intravar.Request`, on their own or in place of the request's.

    Notes
    -----
    No decision is a covariate of another. A row in which one decision is missing counts for the
    others.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("multi-interacting", n_patients=200, n_physicians=4)
    >>> found = intravar.measure_several(
    ...     cohort.to_polars(), physician="physician", decision=["decision", "decision_2"],
    ...     exclude=["decision_3"],
    ... )
    >>> list(found.measurements)
    ['decision', 'decision_2']
    """
    place, asked = resolved(source, request, options)
    tell = progress or Nobody()
    names = checked_names(asked.decisions)
    _refuse_decisions_as_covariates(asked, names)
    tell.step("reading the table")
    read = read_source(
        place,
        as_text=(asked.physician, *names, *asked.categorical),
        where=asked.where,
        **asked.reading,
    )
    measurements = {}
    for name, alone in asked.of_each().items():
        tell.note(f"decision: {name}")
        measurements[name] = measured(read, alone, tell, whole=True)
    tell.step("measuring the decisions together")
    predicted = _predicted(measurements, asked.seed)
    return SeveralMeasured(asked, measurements, predicted, several_of(predicted))


def _refuse_decisions_as_covariates(request: Request, names: tuple[str, ...]) -> None:
    for field in ("covariates", "after"):
        for name in set(names) & set(getattr(request, field) or ()):
            raise InputError(
                f"{option(field)} names '{name}', which is one of the decisions; leave it out"
            )


def _predicted(measurements: Mapping[str, Measurement], seed: int) -> PredictedDecisions:
    """Bring the predictions of all decisions onto the same patients."""
    found = [each.check.prepared for each in measurements.values()]
    rows = np.unique(np.concatenate([each.rows for each in found]))
    # A physician may have patients in one decision alone.
    named = in_natural_order(pl.concat([each.observed.named for each in found]).unique())
    place = {name: at for at, name in enumerate(named.to_list())}
    shape = (len(rows), len(found))
    values, code = np.full(shape, _UNKNOWN, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    own, pooled = np.full(shape, 0.5), np.full(shape, 0.5)
    alone = []
    for k, measurement in enumerate(measurements.values()):
        observed = measurement.check.prepared.observed
        at = np.searchsorted(rows, measurement.check.prepared.rows)
        values[at, k] = observed.decision
        code[at] = [place[observed.physicians[number]] for number in observed.code]
        own[at, k], pooled[at, k] = _predictions(measurement, seed)
        scored = np.full((len(named), 3), np.nan)
        ends = measurement.table.select("discordance", "low", "high").cast(pl.Float64)
        scored[[place[name] for name in measurement.table["physician"].to_list()]] = ends.to_numpy()
        alone.append(scored)
    order = _by_content(own, pooled, values, code)
    own, pooled, values, code = own[order], pooled[order], values[order], code[order]
    fold = common_folds(np.hstack([own, pooled]), values, code, seed)
    return PredictedDecisions(
        tuple(measurements),
        values,
        values != _UNKNOWN,
        own,
        pooled,
        code,
        named,
        fold,
        tuple(alone),
    )


def _predictions(measurement: Measurement, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return held-out P(yes) by who decides and without; learned if no method needed them."""
    for fitted in measurement.fitted.values():
        if isinstance(fitted.evidence, Predictions):
            return fitted.evidence.probability, fitted.evidence.pooled
    model = Predictability(random_state=seed)
    model.fit_observed(measurement.check.prepared.observed)
    return model.predicted_, model.pooled_


def _by_content(*columns: FloatArray | IntArray) -> IntArray:
    """Order patients by what is known of them: a result does not depend on the table's order."""
    keys = np.column_stack(columns)
    return np.lexsort(keys.T)
