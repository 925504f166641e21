"""One physician in subgroups, over time, or decision by decision, beside all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from intravar.documents.sheet.sheet_pictures import WIDTHS, Own, SheetRow, rows_picture
from intravar.errors import theirs
from intravar.measurement.strata import MATTERS
from intravar.publication.outputs import Outputs
from intravar.wording import Words

#: Rows of a picture; of more periods the last ones.
MOST_ROWS = 8
_READ = "Dot: you, with your 95 % interval. Ring: all together."
_AXIS = "of 100 pairs of patients, decided differently"
#: By part of the summary: how its strata are called in the tables, and the field of its column.
_PARTS = {"by": ("by", "by"), "course": ("period", "date")}


@dataclass(frozen=True)
class SheetPart:
    """A part of a sheet: a heading, a picture wide and narrow, and how to read it.

    Attributes
    ----------
    heading, line
        Over it, and below it.
    pictures
        Nothing where there is none.
    """

    heading: str
    line: str
    pictures: Sequence[Markup] = ()


def drawn_rows(rows: Sequence[SheetRow], heading: str, line: str, words: Words) -> SheetPart:
    """Return rows as a part of a sheet."""
    axis, title, read = (
        words.said(_AXIS),
        words.said(heading),
        words.said(f"{_READ} {line}".strip()),
    )
    told = "; ".join(f"{row.label}: {row.told}" for row in rows)
    drawn = [rows_picture(rows, axis, title, f"{told}.", kind) for kind in WIDTHS]
    return SheetPart(title, read, drawn)


def strata_parts(outputs: Outputs, physician: str) -> list[SheetPart]:
    """Return a physician in subgroups and over time, as far as these were asked for."""
    asked = {
        name: value
        for section in outputs.summary["request"].values()
        for name, value in section.items()
    }
    found = []
    for part, (dealt, field) in _PARTS.items():
        told = outputs.summary.get(part)
        if not told:
            continue
        column = outputs.words.label(str(asked.get(field)))
        heading = "You over time" if part == "course" else f"You by {theirs(column)}"
        mine = _of(outputs.strata, dealt, physician)
        if not mine:
            line = (
                "Your figures are not shown: few of your patients were decided one way in one of "
                "them, or too little is known of you."
            )
            found.append(SheetPart(outputs.words.said(heading), outputs.words.said(line)))
            continue
        group = {row["stratum"]: row["discordance"] for row in told["strata"]}
        rows = [
            SheetRow(str(row["stratum"]), _own(row), _hundred(group.get(row["stratum"])))
            for row in mine[-MOST_ROWS:]
        ]
        line = _changed(_of(outputs.changes, dealt, physician)) if part == "course" else ""
        if len(mine) > MOST_ROWS:
            line = f"The last {MOST_ROWS} of {len(mine)}. {line}".strip()
        found.append(drawn_rows(rows, heading, line, outputs.words))
    return found


def _of(table: pl.DataFrame | None, dealt: str, physician: str) -> list[dict[str, Any]]:
    if table is None:
        return []
    mine = (pl.col("dealt_by") == dealt) & (pl.col("physician") == physician)
    return table.filter(mine & pl.all_horizontal(pl.all().is_not_null())).to_dicts()


def _own(row: Mapping[str, Any]) -> Own:
    return Own(*(100 * row[name] for name in ("discordance", "low", "high")))


def _hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _changed(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say by how much a physician changed, and how sure that is."""
    if not rows:
        return ""
    change, low, high, drawn = (
        round(100 * rows[0][name]) for name in ("change", "low", "high", "shrunken")
    )
    sure = round(100 * rows[0]["probability"])
    return (
        f"From the first period to the last, on patients alike: {change:+d} [{low:+d}, {high:+d}] "
        f"of 100. Drawn towards the change of all it is {drawn:+d}; that it is more than "
        f"{100 * MATTERS:.0f} is then {sure} % probable."
    )
