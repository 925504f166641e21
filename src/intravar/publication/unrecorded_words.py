"""How far an unrecorded reason could go, as it may be told: of everybody, rounded as the group."""

from __future__ import annotations

from typing import Any

from intravar.measurement.result import Measurement
from intravar.publication.group_words import group_digits
from intravar.publication.rounding import fraction

#: Covariates that are named in words, the strongest first.
MOST_NAMED = 3


def unrecorded_json(measurement: Measurement) -> dict[str, Any] | None:
    """Return it in a form that fits into JSON; None where it was not looked at."""
    found = measurement.unrecorded
    if found is None:
        return None
    digits = group_digits(measurement.request.smallest_cell)
    reasons = [
        {
            "covariate": reason.covariate,
            "without": fraction(reason.without, digits),
            "lowered": fraction(reason.lowered, digits),
        }
        for reason in found.reasons
    ]
    words = unrecorded_line(
        fraction(found.discordance, digits) or 0.0,
        reasons,
        found.n_tried,
        measurement.request.words,
    )
    return {"words": words, "reasons": reasons, "n_tried": found.n_tried}


def unrecorded_line(discordance: float, reasons: list[dict[str, Any]], n_tried: int) -> str:
    """Say how far an unrecorded reason could go, measured by the recorded ones.

    Examples
    --------
    >>> unrecorded_line(0.23, [{"covariate": "stroke severity", "lowered": 0.17}], 5)
    'An unrecorded reason as strong as stroke severity would bring 23 of 100 down to about 17.'
    """
    now = round(100 * discordance)
    if not reasons:
        tried = f"any one of {n_tried} covariates" if n_tried > 1 else "the covariate"
        return (
            f"How far an unrecorded reason could go cannot be said: without {tried}, decisions are "
            "predicted as well as with it."
        )
    first, *others = reasons[:MOST_NAMED]
    told = [f"An unrecorded reason as strong as {first['covariate']} {_does(first, now)}"]
    told += [f"one as strong as {each['covariate']} {_does(each, now)}" for each in others]
    return f"{'; '.join(told)}."


def _does(reason: dict[str, Any], now: int) -> str:
    lowered = round(100 * reason["lowered"])
    if lowered >= now:
        return f"would hardly lower {now} of 100"
    if lowered == 0:
        return f"could explain all {now} of 100"
    return f"would bring {now} of 100 down to about {lowered}"
