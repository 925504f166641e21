"""The published decision as dictionaries, for pages that do not read the types yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from intravar.errors import theirs
from intravar.measurement.result import Measurement
from intravar.measurement.scores import in_words
from intravar.publication.disclosure import published_of
from intravar.publication.files import plain
from intravar.publication.results import Decision, Published
from intravar.wording import Words


@dataclass(frozen=True)
class Outputs:
    """What is published of one decision; see :class:`intravar.publication.results.Decision`."""

    physicians: pl.DataFrame
    methods: pl.DataFrame | None
    summary: dict[str, Any]
    checks: dict[str, Any]
    diagnostics: dict[str, Any]
    strata: pl.DataFrame | None = None
    changes: pl.DataFrame | None = None
    decision: Decision | None = None

    @property
    def words(self) -> Words:
        """What whoever asked calls things."""
        return Words.in_summary(self.summary)


def outputs_from(published: Published) -> Outputs:
    """Return the first decision as dictionaries."""
    decision, words = published.first, published.words
    lines = {
        row["physician"]: in_words(row, decision.claim, words, theirs(decision.compared))
        for row in decision.physicians.iter_rows(named=True)
    }
    diagnostics = plain(decision.diagnostics)
    diagnostics["attrition"] = [
        {"physician": row.physician, **row.parts} for row in decision.diagnostics.attrition
    ]
    diagnostics["distances"] = [
        {"from": row.lower, "to": row.upper, "share": row.share}
        for row in decision.diagnostics.distances
    ]
    head = {"what": "measurement", "version": published.version, "source": published.source}
    return Outputs(
        decision.physicians,
        decision.methods,
        head | {"request": published.request.as_dict(), "lines": lines} | plain(decision),
        plain(decision.check),
        diagnostics,
        decision.strata,
        decision.changes,
        decision,
    )


def outputs_of(
    measurement: Measurement,
    names: Mapping[str, str],
    secret: Callable[[str], float] | None = None,
) -> Outputs:
    """Return what may be handed on as dictionaries."""
    return outputs_from(published_of(measurement, names, secret))
