"""The figures that the paper prints, to set ours beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

#: Table of the paper that holds a condition's figures by group.
_GROUP_TABLES = {
    "score2": "score2_groups",
    "copula": "sensitivity_copula",
    "lognormal": "sensitivity_lognormal",
}


@dataclass(frozen=True)
class Published:
    """The paper's printed figures, by table."""

    tables: dict[str, Any]

    def ground_truth(self, condition: str) -> dict[int, float]:
        """Return the printed oracle's estimate by physician group; empty where none is printed.

        Examples
        --------
        >>> published().ground_truth("score2")[2]
        0.174
        """
        table = _GROUP_TABLES.get(condition)
        if table is None:
            return {}
        cells = self.tables[table]["rows"]["ground_truth"][:5]
        values = [cell[0] if isinstance(cell, list) else cell for cell in cells]
        return dict(enumerate(values, start=1))


@cache
def published() -> Published:
    """Return the figures of the paper."""
    text = files("intravar.benchmark").joinpath("data/published.json").read_text("utf-8")
    return Published(json.loads(text))
