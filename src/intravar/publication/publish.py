"""What may be published of a result: nothing from which a small count could be worked out.

Uncertainty across physicians, ranks and totals are computed again from the rows that are shown
alone. Whoever knows the method therefore learns nothing about a hidden row from them beyond that
it is hidden. Numbers are rounded on top of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.measurement.columns import COLUMNS, rounded, typed
from intravar.measurement.scores import Scores, result_table
from intravar.preparation.panels import too_small
from intravar.publication.hiding import hidden_parts
from intravar.publication.suppression import is_small, shown
from intravar.request import MIN_PANEL, MIN_RELIABILITY, SMALLEST_CELL


@dataclass(frozen=True)
class Published:
    """A result fit to be handed on.

    Attributes
    ----------
    table
        The result columns; what is hidden is missing.
    n_patients
        Patients of the physicians whose panel size is shown.
    n_hidden
        Physicians of whom something is hidden.
    with_size
        Positions of the physicians whose panel size is shown.
    measured
        Positions of those whose score is not hidden and whose panel is large enough.
    """

    table: pl.DataFrame
    n_patients: int
    n_hidden: int
    with_size: IntArray
    measured: IntArray


def publish(
    scores: Scores,
    evidence: Evidence,
    *,
    smallest_cell: int = SMALLEST_CELL,
    min_panel: int = MIN_PANEL,
    min_reliability: float = MIN_RELIABILITY,
    also_hide_size: BoolArray | None = None,
    hide_repeats: BoolArray | None = None,
) -> Published:
    """Return what may be published.

    Parameters
    ----------
    scores, evidence
        Of the method that measures.
    smallest_cell
        The smallest count of patients or events that is shown.
    min_panel, min_reliability
        Below which a result is not reported.
    also_hide_size
        Physicians whose panel size other published counts would turn into a small one.
    hide_repeats
        Physicians of whom few cases seen twice were decided alike, or differently.
    """
    hidden = hidden_parts(scores, evidence, smallest_cell)
    if also_hide_size is not None:
        hidden = replace(hidden, size=hidden.size | also_hide_size)
    measured = np.flatnonzero(~hidden.score & (scores.n_patients >= min_panel))
    results = result_table(
        scores.take(measured), min_panel=min_panel, min_reliability=min_reliability
    )
    if smallest_cell > 1:
        results = rounded(results)
    visible = dict(zip(measured.tolist(), results.iter_rows(named=True), strict=True))
    rows = []
    for position, name in enumerate(scores.physician.to_list()):
        n = int(scores.n_patients[position])
        row = visible.get(position)
        if row is None:
            why = _reason(n, evidence.events, smallest_cell, min_panel)
            row = {"physician": name, "reportable": False, "reason": why}
        else:
            row = _shown(
                row,
                others=not hidden.others[position],
                repeats=hide_repeats is None or not hide_repeats[position],
            )
        row["n_patients"] = None if hidden.size[position] else n
        rows.append(row)
    table = _table(rows, scores.physician.dtype)
    return Published(
        table,
        int(table["n_patients"].sum()),
        int((hidden.size | hidden.score | hidden.others).sum()),
        np.flatnonzero(~hidden.size),
        measured,
    )


def _table(rows: list[dict[str, object]], physician: pl.DataType) -> pl.DataFrame:
    columns = {
        column.name: pl.Series(
            [row.get(column.name) for row in rows],
            dtype=physician if column.name == "physician" else column.dtype,
        )
        for column in COLUMNS
    }
    return typed(columns)


def _shown(row: dict[str, object], *, others: bool, repeats: bool) -> dict[str, object]:
    """Keep of a row what its columns allow."""
    kept = {"always"} | ({"repeats"} if repeats else set())
    if row["reportable"]:
        kept |= {"reportable", "others"} if others else {"reportable"}
    return {column.name: row[column.name] if column.shown in kept else None for column in COLUMNS}


def _reason(n_patients: int, events: str, smallest_cell: int, min_panel: int) -> str:
    """Say why nothing is shown; where the panel is hidden, in words that fit all hidden panels."""
    if is_small(n_patients, smallest_cell):
        return f"{shown(1, smallest_cell)} patients, too few to publish"
    few = f"{shown(1, smallest_cell)} {events}, too few to publish"
    return too_small(n_patients, min_panel) or few
