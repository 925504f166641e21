"""How far an unrecorded reason could go, as it may be told: from the group's figure."""

from __future__ import annotations

from collections.abc import Sequence

from intravar.measurement.result import Measurement
from intravar.publication.group_words import group_digits
from intravar.publication.results import Group, LeftOut, Unrecorded
from intravar.publication.rounding import fraction
from intravar.wording import USUAL, Words

#: Covariates that are named in words, the strongest first.
MOST_NAMED = 3
BRINGS = " would bring {} of 100 down"


def published_unrecorded(measurement: Measurement, group: Group | None) -> Unrecorded | None:
    """Return it as it may be handed on; None where it was not looked at.

    Parameters
    ----------
    measurement
        With everything in it.
    group
        What is told of all together: the same figure is brought down here.
    """
    found = measurement.unrecorded
    told = None if group is None else group.discordance
    if found is None or told is None or not found.discordance > 0:
        return None
    digits = group_digits(measurement.request.smallest_cell)
    scale = told / found.discordance
    reasons = tuple(
        LeftOut(
            reason.covariate,
            fraction(scale * reason.without, digits),
            fraction(scale * reason.lowered, digits),
        )
        for reason in found.reasons
    )
    words = unrecorded_line(
        told,
        reasons,
        found.n_tried,
        measurement.request.words,
    )
    return Unrecorded(words, reasons, found.n_tried)


def unrecorded_line(
    discordance: float, reasons: Sequence[LeftOut], n_tried: int, words: Words = USUAL
) -> str:
    """Say how far an unrecorded reason could go, measured by the recorded ones.

    Examples
    --------
    >>> unrecorded_line(0.23, [LeftOut("stroke severity", 0.3, 0.17)], 5)
    'An unrecorded reason as strong as stroke severity would bring 23 of 100 down to about 17.'
    """
    now = round(100 * discordance)
    if not reasons:
        tried = f"any one of {n_tried} covariates" if n_tried > 1 else "the covariate"
        return (
            f"How far an unrecorded reason could go cannot be said: without {tried}, decisions are "
            "predicted as well as with it."
        )
    told, so_far = "", ""
    for reason in reasons[:MOST_NAMED]:
        who = "An unrecorded reason" if not told else "; one"
        does = _does(round(100 * (reason.lowered or 0.0)), now)
        # "would bring 23 of 100 down" is said once.
        short = (
            does.replace(BRINGS.format(now), ",") if so_far.startswith(BRINGS.format(now)) else ""
        )
        told += f"{who} as strong as {words.label(reason.covariate)}{short or does}"
        so_far = does
    return f"{told}."


def _does(lowered: int, now: int) -> str:
    if lowered >= now:
        return f" would hardly lower {now} of 100"
    if lowered == 0:
        return f" could explain all {now} of 100"
    return f"{BRINGS.format(now)} to about {lowered}"
