"""Surprising decisions of a physician for their own eyes, as `intravar explain` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intravar.pages.sheet.sheet_content import CaseTable
from intravar.publication.explain import explain
from intravar.wording import Words

#: Decisions that stand on a sheet.
MOST_CASES = 3


def surprising(folder: Path, physician: str, summary: Mapping[str, Any]) -> list[CaseTable]:
    """Return comparable patients of a physician who were decided differently. Patient-level."""
    words = Words.in_summary(summary)
    decision = words.decision or words.label(str(summary["request"]["columns"]["decision"]))
    found = []
    for (number,), rows in explain(folder, physician, most=MOST_CASES).group_by(
        "pair", maintain_order=True
    ):
        first = rows.row(0, named=True)
        line = words.said(
            f"Pair {number}: two comparable patients, data rows {first['row_for']:,} and "
            f"{first['row_against']:,}"
        )
        told = rows.select("covariate", "decided_for", "decided_against", "difference").rows()
        found.append(
            CaseTable(
                line,
                ("", f"{decision}: yes", f"{decision}: no", "difference"),
                [(words.label(covariate), *cells) for covariate, *cells in told],
            )
        )
    return found
