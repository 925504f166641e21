"""Surprising decisions of a decider for their own eyes, as `intravar explain` finds them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from intravar.documents.blocks import Block, Heading, Table, plain_table
from intravar.publication.explain import explain
from intravar.wording import Words

#: Decisions that stand on a sheet.
MOST_CASES = 3


def surprising(folder: Path, physician: str, decision: str, words: Words) -> list[Block]:
    """Return decisions of a decider beside similar cases decided otherwise. Patient-level."""
    told = words.decision or words.label(decision)
    found = explain(folder, physician, most=MOST_CASES)
    tables: list[Block] = [
        _case(rows.filter(pl.col("pair") == rows["pair"][0]), told, words, number)
        for number, (_, rows) in enumerate(found.group_by("case", maintain_order=True), 1)
    ]
    return [Heading("Decisions of yours that surprised"), *tables] if tables else []


def _case(rows: pl.DataFrame, decision: str, words: Words, number: int) -> Table:
    """Return a case and the one most alike that was decided otherwise, where there is one."""
    first = rows.row(0, named=True)
    sides = [f"row {first[name]:,}" for name in ("row_for", "row_against") if first[name]]
    cells = rows.select("covariate", "decided_for", "decided_against", "difference").rows()
    return plain_table(
        f"Case {number}",
        f"{_expected(first, words)}: data {' and '.join(sides)}",
        ("", f"{decision}: yes", f"{decision}: no", "difference"),
        [[words.label(name), *(cell or "–" for cell in values)] for name, *values in cells],
        words=(0, 1, 2, 3),
    )


def _expected(first: Mapping[str, Any], words: Words) -> str:
    """Say why a case is shown; a prediction is told where one was made."""
    if first["predicted"] is None:
        return words.fill("Two similar {cases}, decided differently")
    yes = first["row"] == first["row_for"]
    return words.fill(
        "You {decided} data row {row:,}; a yes was expected in {likely} of 100 such {cases}",
        decided=words.fill("{decided_for}" if yes else "{decided_against}"),
        row=first["row"],
        likely=round(100 * first["predicted"]),
    )
