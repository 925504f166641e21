"""Surprising decisions of a physician for their own eyes, as `intravar explain` finds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from intravar.documents.sheet.sheet_content import CaseTable
from intravar.publication.explain import explain
from intravar.wording import Words

#: Decisions that stand on a sheet.
MOST_CASES = 3


def surprising(folder: Path, physician: str, summary: Mapping[str, Any]) -> list[CaseTable]:
    """Return decisions of a physician beside patients alike decided otherwise. Patient-level."""
    words = Words.in_summary(summary)
    decision = words.decision or words.label(str(summary["request"]["columns"]["decision"]))
    found = explain(folder, physician, most=MOST_CASES)
    return [
        _case(rows.filter(pl.col("pair") == rows["pair"][0]), decision, words)
        for _, rows in found.group_by("case", maintain_order=True)
    ]


def _case(rows: pl.DataFrame, decision: str, words: Words) -> CaseTable:
    """Return a case and the patient most alike who was decided otherwise, where there is one."""
    first = rows.row(0, named=True)
    sides = [f"row {first[name]:,}" for name in ("row_for", "row_against") if first[name]]
    told = rows.select("covariate", "decided_for", "decided_against", "difference").rows()
    return CaseTable(
        f"{_expected(first, words)}: data {' and '.join(sides)}",
        ("", f"{decision}: yes", f"{decision}: no", "difference"),
        [(words.label(name), *(cell or "–" for cell in cells)) for name, *cells in told],
    )


def _expected(first: Mapping[str, Any], words: Words) -> str:
    """Say why a case is shown; a prediction is told where one was made."""
    if first["predicted"] is None:
        return words.said("Two patients alike, decided differently")
    yes = first["row"] == first["row_for"]
    likely = round(100 * first["predicted"])
    return words.said(
        f"You decided {'for' if yes else 'against'} data row {first['row']:,}; a yes was expected "
        f"in {likely} of 100 such patients"
    )
