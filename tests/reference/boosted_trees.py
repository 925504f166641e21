"""F of one patient by trees that were grown, branch by branch, as the definition has it."""

from __future__ import annotations

from collections.abc import Sequence

MISSING = 63


def score(
    bins: Sequence[int],
    start: float,
    columns: Sequence[Sequence[int]],
    cuts: Sequence[Sequence[int]],
    missing: Sequence[Sequence[bool]],
    values: Sequence[Sequence[float]],
) -> float:
    """Return the start and what every tree adds, never beyond 8 on either side."""
    total = start
    for column, cut, missing_left, leaves in zip(columns, cuts, missing, values, strict=True):
        path = ""
        while 2 ** len(path) < len(leaves):
            # Nodes are numbered level by level, from left to right within a level.
            node = 2 ** len(path) - 1 + int(path or "0", 2)
            seen = bins[column[node]]
            left = missing_left[node] if seen == MISSING else seen <= cut[node]
            path += "0" if left else "1"
        total = min(max(total + leaves[int(path, 2)], -8.0), 8.0)
    return total
