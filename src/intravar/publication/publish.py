"""What may be published of a result: nothing from which a small count could be worked out.

Uncertainty across physicians, ranks and totals are computed again from the rows that are shown
alone. Whoever knows the method therefore learns nothing about a hidden row from them beyond that
it is hidden. Numbers are rounded on top of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from intravar.arrays import BoolArray
from intravar.measurement.scores import (
    MIN_RELIABILITY,
    RESULT_COLUMNS,
    Scores,
    result_table,
)
from intravar.preparation.panels import MIN_PANEL, too_small
from intravar.publication.suppression import (
    SMALLEST_CELL,
    is_small,
    is_small_expectation,
    part_is_safe,
    shown,
)

#: Digits of what is published; more would tell apart what is meant to look the same.
DIGITS = 3
RANK_DIGITS = 1

#: What is shown of a result that is not reportable; a column not named here is then hidden.
_ALWAYS_SHOWN = ("physician", "n_patients", "n_pairs", "reliability", "reportable", "reason")
_ONLY_IF_REPORTABLE = tuple(name for name in RESULT_COLUMNS if name not in _ALWAYS_SHOWN)


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
    measured
        Physicians whose score is not hidden and whose panel is large enough.
    """

    table: pl.DataFrame
    n_patients: int
    n_hidden: int
    withheld: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)


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
    hidden = hidden_parts(scores, smallest_cell)
    if also_hide_size is not None:
        hidden = replace(hidden, size=hidden.size | np.array(also_hide_size, dtype=np.bool_))
    measured = np.flatnonzero(~hidden.score & (scores.n_patients >= min_panel))
    results = _rounded(
        result_table(scores.take(measured), min_panel=min_panel, min_reliability=min_reliability),
        smallest_cell,
    )
    visible = dict(zip(measured.tolist(), results.iter_rows(named=True), strict=True))
    events = _events(scores)
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
        elif hidden.others[row]:
            shown_row |= dict.fromkeys(("p_low", "discrimination"))
        shown_row["n_patients"] = None if hidden.size[row] else int(scores.n_patients[row])
        rows.append(shown_row)
    table = pl.DataFrame(rows, schema=results.schema)
    return Published(
        table,
        int(table["n_patients"].sum()),
        int((hidden.size | hidden.score | hidden.others).sum()),
        [scores.physician[row] for row in np.flatnonzero(hidden.size)],
        [scores.physician[row] for row in measured],
    )


def _rounded(results: pl.DataFrame, smallest_cell: int) -> pl.DataFrame:
    """Round what is published, unless nothing is to be hidden."""
    if smallest_cell <= 1:
        return results
    floats = [name for name, dtype in results.schema.items() if dtype == pl.Float64]
    return results.with_columns(
        pl.col(name).round(RANK_DIGITS if name == "rank" else DIGITS) for name in floats
    )


def _events(scores: Scores) -> str:
    """Name the events behind a score of this method."""
    if np.isfinite(scores.n_pairs).any():
        return "discordant or concordant pairs"
    if np.isfinite(scores.n_eligible).any():
        return "eligible patients decided one way or the other"
    return "decisions of one kind"


def _reason(n_patients: int, events: str, smallest_cell: int, min_panel: int) -> str:
    """Say why nothing is shown; where the panel is hidden, in words that fit all hidden panels."""
    if is_small(n_patients, smallest_cell):
        return f"{shown(1, smallest_cell)} patients, too few to publish"
    few = f"{shown(1, smallest_cell)} {events}, too few to publish"
    return too_small(n_patients, min_panel) or few


@dataclass(frozen=True)
class Hidden:
    """What must be hidden, one entry per physician.

    Attributes
    ----------
    size
        The panel size.
    score
        The score, with all that comes from it.
    others
        What the latent rule says about the patients who are not eligible.
    """

    size: BoolArray
    score: BoolArray
    others: BoolArray


def hidden_parts(scores: Scores, smallest_cell: int) -> Hidden:
    """Tell for every physician what must be hidden.

    A score is the number of discordant pairs over the number of pairs: both, and the concordant
    rest, can be worked out from it. Panel size and number of pairs together tell how many patients
    stayed without a pair; where these are few, the size is hidden and the score is kept.

    The latent rule's p_high, and the score that follows from it, are the eligible patients decided
    for over the eligible; p_low is the same of the others. Where the eligible decided one way are
    few the score is hidden, where the others are, p_low is; where the others are few on the whole,
    the panel size is hidden too, because it tells them by subtraction.
    """
    found = [
        _with_rates(n, positive, eligible, eligible_positive, smallest_cell)
        if np.isnan(pairs)  # a method without pairs
        else _with_pairs(n, pairs, discordant, smallest_cell)
        for n, positive, pairs, discordant, eligible, eligible_positive in zip(
            scores.n_patients.tolist(),
            scores.n_positive.tolist(),
            scores.n_pairs.tolist(),
            scores.n_discordant.tolist(),
            scores.n_eligible.tolist(),
            scores.n_eligible_positive.tolist(),
            strict=True,
        )
    ]
    columns = np.array(found, dtype=np.bool_).reshape(-1, 3)
    return Hidden(columns[:, 0], columns[:, 1], columns[:, 2])


def _with_pairs(
    n: int, pairs: float, discordant: float, smallest_cell: int
) -> tuple[bool, bool, bool]:
    few = is_small(n, smallest_cell)
    events = (pairs, discordant, pairs - discordant)
    score = few or any(is_small(count, smallest_cell) for count in events)
    return few or (not score and is_small(n - 2 * pairs, smallest_cell)), score, score


def _with_rates(
    n: int, positive: int, eligible: float, eligible_positive: float, smallest_cell: int
) -> tuple[bool, bool, bool]:
    few = is_small(n, smallest_cell)
    # Probabilities fitted to few decisions come close to their count.
    score = few or not part_is_safe(positive, n, smallest_cell)
    if eligible != eligible:
        return few, score, score
    others, others_positive = n - eligible, positive - eligible_positive
    of_eligible = (eligible_positive, eligible - eligible_positive)
    of_others = (others_positive, others - others_positive)
    score = score or any(is_small_expectation(count, smallest_cell) for count in of_eligible)
    low = score or any(is_small_expectation(count, smallest_cell) for count in of_others)
    # Where all the eligible were decided alike, all exceptions of the panel are the others'; that
    # there are not few of them leaves too little to guess unless the others are many.
    score = score or (low and min(of_eligible) < 0.5 and others < 2 * smallest_cell)
    return few or (not score and is_small_expectation(others, smallest_cell)), score, low
