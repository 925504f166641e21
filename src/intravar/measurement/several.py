"""Several decisions of one measurement: each on its own, and all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, option
from intravar.estimators import Predictability
from intravar.estimators.several import (
    PredictedDecisions,
    Several,
    checked_names,
    common_folds,
    several_of,
)
from intravar.measurement.result import Measurement
from intravar.observed import in_natural_order
from intravar.preparation.check import may_go_in_parts
from intravar.request import Request
from intravar.runs.settings import RunSettings
from intravar.sources import read_source
from intravar.sources.reading import scan_source

if TYPE_CHECKING:
    from intravar.measurement.measure import Listener

_UNKNOWN = 2


@dataclass(frozen=True, eq=False)
class Together:
    """Several decisions of one measurement; in memory nothing is hidden, names are real.

    Attributes
    ----------
    request
        What was asked for.
    decisions
        The measurement of each decision on its own, in the order in which they are taken.
    predicted
        What the joint figures rest on, one row per patient of whom any decision is known.
    joint
        What the decisions say together.
    """

    request: Request
    decisions: Mapping[str, Measurement]
    predicted: PredictedDecisions
    joint: Several


class MeasureOne(Protocol):
    """Measures one decision of a table that was read, or is to be read."""

    def __call__(
        self, source: Any, request: Request, tell: Listener, settings: RunSettings
    ) -> Measurement:
        """See :func:`intravar.measurement.measure.measured`."""


def measured_together(
    source: Any, request: Request, tell: Listener, settings: RunSettings, measure_one: MeasureOne
) -> Measurement:
    """Measure several decisions of each physician: each on its own, and all together.

    No decision is a covariate of another. A row in which one decision is missing counts for the
    others.

    Parameters
    ----------
    source, request, tell, settings
        As for :func:`intravar.measure`.
    measure_one
        Measures one of them.

    Returns
    -------
    Measurement
        That of the first decision, with all of them in `decisions` and `together`.
    """
    names = checked_names(request.decisions)
    _refuse_decisions_as_covariates(request, names)
    read = _read_once(source, request, names, settings)
    measurements = {}
    for name, alone in request.of_each().items():
        tell.note(f"decision: {name}")
        kept = settings.of(name)
        measurements[name] = measure_one(read, alone, tell, kept)
    tell.step("measuring the decisions together")
    predicted = _predicted(measurements, request.random_state)
    together = Together(request, measurements, predicted, several_of(predicted))
    first = next(iter(measurements.values()))
    return replace(first, together=together)


def _read_once(source: Any, request: Request, names: tuple[str, ...], settings: RunSettings) -> Any:
    """Read a table that fits into memory once for all decisions; leave a large one where it is."""
    if may_go_in_parts(request):
        large = scan_source(source, settings.spool, least=request.sample, **request.reading)
        if large is not None:
            return source
    return read_source(
        source,
        as_text=(request.physician, *names, *request.categorical),
        where=request.where,
        **request.reading,
    )


def _refuse_decisions_as_covariates(request: Request, names: tuple[str, ...]) -> None:
    for field in ("covariates", "after"):
        for name in set(names) & set(getattr(request, field) or ()):
            raise InputError(
                f"{option(field)} names '{name}', which is one of the decisions; leave it out"
            )


def _predicted(measurements: Mapping[str, Measurement], seed: int) -> PredictedDecisions:
    """Bring the predictions of all decisions onto the same patients."""
    found = [each.check.prepared for each in measurements.values()]
    named = _physicians(measurements)
    place = {name: at for at, name in enumerate(named.to_list())}
    inside = [
        np.array([each.observed.physicians[number] in place for number in each.observed.code])
        for each in found
    ]
    rows = np.unique(
        np.concatenate([each.rows[kept] for each, kept in zip(found, inside, strict=True)])
    )
    shape = (len(rows), len(found))
    values, code = np.full(shape, _UNKNOWN, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    own, pooled = np.full(shape, 0.5), np.full(shape, 0.5)
    alone = []
    for k, (measurement, kept) in enumerate(zip(measurements.values(), inside, strict=True)):
        observed = measurement.check.prepared.observed
        at = np.searchsorted(rows, measurement.check.prepared.rows[kept])
        values[at, k] = observed.decision[kept]
        code[at] = [place[observed.physicians[number]] for number in observed.code[kept]]
        predictions = _predictions(measurement, seed)
        own[at, k], pooled[at, k] = (each[kept] for each in predictions)
        scored = np.full((len(named), 3), np.nan)
        table = measurement.table.filter(pl.col("physician").is_in(named.implode()))
        ends = table.select("discordance", "low", "high").cast(pl.Float64)
        scored[[place[name] for name in table["physician"].to_list()]] = ends.to_numpy()
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


def _physicians(measurements: Mapping[str, Measurement]) -> pl.Series:
    """Return whose decisions are looked at together.

    A physician may have patients in one decision alone. Of a large table they are those who were
    learned from in every decision.
    """
    listed = [each.check.prepared.observed.named for each in measurements.values()]
    if all(each.check.beyond is None for each in measurements.values()):
        return in_natural_order(pl.concat(listed).unique())
    shared = listed[0]
    for other in listed[1:]:
        shared = shared.filter(shared.is_in(other.implode()))
    return in_natural_order(shared)


def _predictions(measurement: Measurement, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return held-out P(yes) by who decides and without; learned if no method needed them."""
    for fitted in measurement.fitted.values():
        if (predicted := fitted.evidence.predicted()) is not None:
            return predicted
    model = Predictability(random_state=seed)
    model.fit_observed(measurement.check.prepared.observed)
    return model.predicted_, model.pooled_


def _by_content(*columns: FloatArray | IntArray) -> IntArray:
    """Order patients by what is known of them: a result does not depend on the table's order."""
    keys = np.column_stack(columns)
    return np.lexsort(keys.T)
