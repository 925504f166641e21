"""Where the discordance lies, as far as it may be told."""

from __future__ import annotations

from intravar.measurement.result import Measurement
from intravar.publication.group_words import step_over_all
from intravar.publication.results import KindOfPatients, Location
from intravar.publication.rounding import coarse
from intravar.publication.suppression import part_is_safe


def published_location(measurement: Measurement) -> Location | None:
    """Return close calls and kinds of patients; kinds in which few were decided one way are not."""
    found = measurement.location
    if found is None:
        return None
    step = max(step_over_all(measurement), 0.01)
    smallest = measurement.request.smallest_cell
    kinds = [
        KindOfPatients(
            row["when"], *(coarse(row[name], step) for name in ("patients", "discordance", "level"))
        )
        for row in found.kinds.iter_rows(named=True)
        if part_is_safe(row["n_for"], row["n_patients"], smallest)
    ]
    return Location(
        coarse(found.close_patients, step), coarse(found.close_discordance, step), tuple(kinds)
    )
