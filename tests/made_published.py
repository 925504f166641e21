"""A published measurement made without measuring: everybody has a pseudonym, nobody a figure."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from intravar.measurement.columns import typed
from intravar.publication.results import (
    Check,
    Decision,
    DecisionColumn,
    PhysicianRow,
    Published,
    rows_of,
)
from intravar.request import Request


def made_published(names: Iterable[str], request: Request) -> Published:
    """Return it for physicians under the names that they are to have."""
    shown = sorted(names)
    table = typed(
        {
            "physician": shown,
            "reportable": [False] * len(shown),
            "reason": ["too few"] * len(shown),
        }
    ).with_columns(pl.col("physician").cast(pl.String))
    check = Check(
        *("patients.csv", (), 0, len(shown), 0, 0, request.min_panel, request.smallest_cell),
        *(DecisionColumn(request.decision, "1", "0"), None, request.covariates or (), ()),
        *(request.missing, "none", (), {}, (), "predictability", 1.0, 1),
    )
    decision = Decision(
        decision=request.decision,
        verdict="group only",
        verdict_reasons=("too few",),
        method="predictability",
        claim="at most",
        compared="pairs of comparable patients",
        n_physicians=len(shown),
        n_patients_shown=0,
        warnings=(),
        seconds={"total": 1},
        check=check,
        physicians=rows_of(table, PhysicianRow),
    )
    return Published("0.1", "patients.csv", request, (decision,))
