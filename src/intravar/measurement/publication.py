"""What may be published of a result: nothing from which a small count could be worked out.

Everything published about physicians is a function of the rows that are shown: uncertainty across
physicians, ranks and totals are computed again from these rows alone. Whoever knows the method
therefore learns nothing about a hidden row beyond that it is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from intravar.measurement.assessment import (
    MIN_RELIABILITY,
    RESULT_COLUMNS,
    Scores,
    result_table,
)
from intravar.measurement.panels import MIN_PANEL, too_small
from intravar.measurement.suppression import SMALLEST_CELL, is_small, part_is_safe, shown

_ONLY_IF_REPORTABLE = (
    "discordance",
    "low",
    "high",
    "shrunken",
    "p_high",
    "p_low",
    "discrimination",
    "rank",
    "rank_low",
    "rank_high",
)


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
    withheld
        Physicians whose panel size is hidden for a reason of its own.
    """

    table: pl.DataFrame
    n_patients: int
    n_hidden: int
    withheld: list[str] = field(default_factory=list)


def publish(
    scores: Scores,
    *,
    smallest_cell: int = SMALLEST_CELL,
    min_panel: int = MIN_PANEL,
    min_reliability: float = MIN_RELIABILITY,
    also_hide_size: list[bool] | None = None,
) -> Published:
    """Return what may be published.

    Parameters
    ----------
    scores
        Of the method that measures.
    smallest_cell
        The smallest count of patients or events that is shown.
    min_panel, min_reliability
        Below which a result is not reported.
    also_hide_size
        Physicians whose panel size other published counts would turn into a small one.
    """
    size_hidden, score_hidden = hidden_parts(scores, smallest_cell)
    if also_hide_size is not None:
        size_hidden = [one or other for one, other in zip(size_hidden, also_hide_size, strict=True)]
    small = [too_small(int(n), min_panel) is not None for n in scores.n_patients]
    measured = np.array(
        [row for row, (a, b) in enumerate(zip(score_hidden, small, strict=True)) if not (a or b)],
        dtype=np.int64,
    )
    results = result_table(
        scores.take(measured), min_panel=min_panel, min_reliability=min_reliability
    )
    visible = dict(zip(measured.tolist(), results.iter_rows(named=True), strict=True))
    has_pairs = bool(np.isfinite(scores.n_pairs).any())
    events = "discordant or concordant pairs" if has_pairs else "decisions of one kind"
    rows = []
    for row, name in enumerate(scores.physician):
        shown_row = visible.get(row)
        if shown_row is None:
            shown_row = dict.fromkeys(RESULT_COLUMNS)
            shown_row |= {
                "physician": name,
                "reportable": False,
                "reason": _reason(int(scores.n_patients[row]), events, smallest_cell, min_panel),
            }
        elif not shown_row["reportable"]:
            shown_row |= dict.fromkeys(_ONLY_IF_REPORTABLE)
        shown_row["n_patients"] = None if size_hidden[row] else int(scores.n_patients[row])
        rows.append(shown_row)
    table = pl.DataFrame(rows, schema=results.schema)
    hidden = [a or b for a, b in zip(size_hidden, score_hidden, strict=True)]
    return Published(
        table,
        int(table["n_patients"].sum()),
        sum(hidden),
        [name for name, one in zip(scores.physician, size_hidden, strict=True) if one],
    )


def _reason(n_patients: int, events: str, smallest_cell: int, min_panel: int) -> str:
    """Say why nothing is shown; where the panel is hidden, in words that fit all hidden panels."""
    if is_small(n_patients, smallest_cell):
        return f"{shown(1, smallest_cell)} patients, too few to publish"
    few = f"{shown(1, smallest_cell)} {events}, too few to publish"
    return too_small(n_patients, min_panel) or few


def hidden_parts(scores: Scores, smallest_cell: int) -> tuple[list[bool], list[bool]]:
    """Tell for every physician whether the panel size and whether the score must be hidden.

    A score is the number of discordant pairs over the number of pairs: both, and the concordant
    rest, can be worked out from it. Panel size and number of pairs together tell how many patients
    stayed without a pair; where these are few, the size is hidden and the score is kept.
    """
    sizes, whole = [], []
    for n, positive, pairs, discordant in zip(
        scores.n_patients.tolist(),
        scores.n_positive.tolist(),
        scores.n_pairs.tolist(),
        scores.n_discordant.tolist(),
        strict=True,
    ):
        few = is_small(n, smallest_cell)
        if pairs == pairs:  # a method without pairs has NaN here
            score_hidden = few or any(
                is_small(count, smallest_cell) for count in (pairs, discordant, pairs - discordant)
            )
            unpaired_few = not score_hidden and is_small(n - 2 * pairs, smallest_cell)
        else:
            # Probabilities fitted to few decisions come close to their count.
            score_hidden = few or not part_is_safe(positive, n, smallest_cell)
            unpaired_few = False
        sizes.append(few or unpaired_few)
        whole.append(score_hidden)
    return sizes, whole
