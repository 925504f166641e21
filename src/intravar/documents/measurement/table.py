"""The table of deciders as it is published: the page, paper, the workbook and terminals show it."""

from __future__ import annotations

from intravar.measurement import columns
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.results import Decision
from intravar.publication.scores import Band
from intravar.tables import Cell, Table
from intravar.wording import Words


def decider_table(decision: Decision, words: Words) -> Table:
    """Return the table of all deciders, with a band where a number is hidden."""
    return columns.decider_table(
        decision.physicians,
        words,
        ranked=decision.verdict not in UNRANKED,
        readable=decision.verdict != NOTHING,
        band=_band,
    )


def _band(text: str) -> Cell:
    band = Band.of_text(text)
    return Cell(band.of_hundred, order=100 * band.high)
