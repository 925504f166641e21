"""What may be published of a result: nothing from which a small count could be worked out.

Uncertainty across physicians, ranks and totals are computed again from the rows that are shown
alone. Whoever knows the method therefore learns nothing about a hidden row from them beyond that
it is hidden. Numbers are rounded on top of it. A hidden score is told as a band.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import (
    Evidence,
)
from intravar.measurement.columns import COLUMNS, rounded
from intravar.measurement.scores import Scores, result_table
from intravar.preparation.panels import too_small
from intravar.publication.bands import FEWEST_PATIENTS, Band, Reach, band_of
from intravar.publication.hiding import HiddenParts, hidden_parts
from intravar.publication.suppression import is_few
from intravar.request import MIN_PANEL, MIN_RELIABILITY, SMALLEST_CELL


@dataclass(frozen=True)
class ShownScores:
    """Scores of a method as they may be handed on.

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
    hidden
        What is hidden of whom.
    bands
        One entry per physician; None where there is no band.
    """

    table: pl.DataFrame
    n_patients: int
    n_hidden: int
    with_size: IntArray
    measured: IntArray
    hidden: HiddenParts
    bands: tuple[Band | None, ...]


def shown_scores(
    scores: Scores,
    evidence: Evidence,
    *,
    smallest_cell: int = SMALLEST_CELL,
    min_panel: int = MIN_PANEL,
    min_reliability: float = MIN_RELIABILITY,
    beside: Iterable[HiddenParts] = (),
    hide_repeats: BoolArray | None = None,
    hide_close: BoolArray | None = None,
    secrets: FloatArray | None = None,
) -> ShownScores:
    """Return what may be published.

    Parameters
    ----------
    scores, evidence
        Of the method that measures.
    smallest_cell
        The smallest count of patients or events that is shown.
    min_panel
        Below which a result is not reported.
    min_reliability
        Below which a physician is not ranked.
    beside
        What other methods must hide: a size or a rate that one of them hides, all hide.
    hide_repeats
        Physicians of whom few cases seen twice were decided alike, or differently.
    hide_close
        Physicians of whom close calls, or the others, are few.
    secrets
        Between 0 and 1, one per physician: which of two bands a score between them is told as.
        Without them there are no bands.
    """
    hidden = hidden_parts(scores, evidence, smallest_cell)
    for other in beside:
        hidden = replace(
            hidden,
            size=hidden.size | other.size,
            least=np.minimum(hidden.least, other.least),
            rate=hidden.rate | other.rate,
        )
    measured = np.flatnonzero(~hidden.score & (hidden.least >= min_panel))
    results = result_table(
        scores.take(measured),
        min_panel=min_panel,
        min_reliability=min_reliability,
        determined=scores.determined,
    )
    if smallest_cell > 1:
        results = rounded(results)
    visible = dict(zip(measured.tolist(), results.iter_rows(named=True), strict=True))
    bands = _bands(scores, evidence, hidden, smallest_cell, min_panel, secrets)
    rows = []
    for position, name in enumerate(scores.physician.to_list()):
        n = int(scores.n_patients[position])
        row = visible.get(position)
        if row is None:
            # Of a hidden panel with a hidden score it is not even told whether it is too small.
            known = not (hidden.score[position] and hidden.size[position])
            size = too_small(int(hidden.least[position]), min_panel) if known else None
            few = "decisions" if is_few(n, smallest_cell) else evidence.events
            why = size or f"at most {smallest_cell} {few}, too few to publish"
            band = bands[position]
            text = None if band is None else band.text
            row = {"physician": name, "band": text, "reportable": False, "reason": why}
        else:
            row = _shown(
                row,
                others=not hidden.others[position],
                rates=not hidden.rate[position] and not hidden.size[position],
                repeats=hide_repeats is None or not hide_repeats[position],
                close=hide_close is not None and not hide_close[position],
            )
            if scores.most < 1 and hidden.size[position]:
                row["reliability"] = None  # it depends on the size alone
        row["n_patients"] = None if hidden.size[position] else n
        rows.append(row)
    table = _table(rows, scores.physician.dtype)
    return ShownScores(
        table,
        int(table["n_patients"].sum()),
        int((hidden.size | hidden.score | hidden.others).sum()),
        np.flatnonzero(~hidden.size),
        measured,
        hidden,
        bands,
    )


def _bands(
    scores: Scores,
    evidence: Evidence,
    hidden: HiddenParts,
    smallest: int,
    min_panel: int,
    secrets: FloatArray | None,
) -> tuple[Band | None, ...]:
    """Return the bands of hidden scores, in panels that are large enough and known to be."""
    n_physicians = len(scores.physician)
    if secrets is None or scores.scale != "discordance":
        return (None,) * n_physicians
    counted = not evidence.of_pairs and evidence.core is None
    trials = evidence.trials(scores.n_patients)
    found: list[Band | None] = []
    for at in range(n_physicians):
        if not hidden.score[at] or hidden.least[at] < max(min_panel, FEWEST_PATIENTS, smallest + 1):
            found.append(None)
            continue
        reach = Reach(smallest, evidence.of_pairs, counted and not hidden.size[at])
        score, secret = float(scores.discordance[at]), float(secrets[at])
        found.append(band_of(score, secret, float(trials[at]), reach))
    return tuple(found)


def _table(rows: list[dict[str, object]], physician: pl.DataType) -> pl.DataFrame:
    columns = {
        column.name: pl.Series(
            [row.get(column.name) for row in rows],
            dtype=physician if column.name == "physician" else column.dtype,
        )
        for column in COLUMNS
    }
    return pl.DataFrame(columns)


def _shown(
    row: dict[str, object], *, others: bool, rates: bool, repeats: bool, close: bool
) -> dict[str, object]:
    """Keep of a row what its columns allow."""
    kept = {"always"} | ({"repeats"} if repeats else set())
    if row["reportable"]:
        allowed = {"reportable": True, "others": others, "rates": rates, "close": close}
        kept |= {name for name, may in allowed.items() if may}
    return {column.name: row[column.name] if column.shown in kept else None for column in COLUMNS}
