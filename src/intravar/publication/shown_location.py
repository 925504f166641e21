"""Where the discordance lies, as far as it may be told."""

from __future__ import annotations

from intravar.measurement.result import Measurement
from intravar.measurement.sentences import close_calls_sentence
from intravar.publication.group_words import step_over_all
from intravar.publication.results import KindOfPatients, Location
from intravar.publication.rounding import coarse
from intravar.publication.suppression import part_is_safe
from intravar.wording import USUAL, Words


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


def location_lines(location: Location | None, words: Words = USUAL) -> list[str]:
    """Say where the discordance lies.

    Examples
    --------
    >>> kind = KindOfPatients("age > 80", 0.2, 0.4, 0.36)
    >>> for line in location_lines(Location(0.27, 0.84, (kind,))):
    ...     print(line)
    84 % of the discordance lies in close calls, the 27 % of patients who could be decided either \
way.
    Most of it lies where age > 80: 20 % of patients, 40 % of the discordance.
    """
    if location is None or location.close_patients is None:
        return []
    lines = [
        words.said(close_calls_sentence(location.close_patients, location.close_discordance or 0.0))
    ]
    for number, kind in enumerate(location.kinds):
        head = "Most of it lies where" if number == 0 else "Much of it lies where"
        shares = (100 * (each or 0.0) for each in (kind.patients, kind.discordance))
        patients, discordance = (f"{each:.0f} %" for each in shares)
        lines.append(
            words.fill(
                "{head} {when}: {patients} of {cases}, {discordance} of the discordance.",
                head=head,
                when=kind.when,
                patients=patients,
                discordance=discordance,
            )
        )
    return lines
