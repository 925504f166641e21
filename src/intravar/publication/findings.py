"""Where the discordance lies, how far unrecorded reasons could go, and what reviewers found."""

from __future__ import annotations

from collections.abc import Sequence

from intravar.measurement.result import Measurement
from intravar.measurement.sentences import close_calls_sentence
from intravar.publication.group import group_digits, step_over_all
from intravar.publication.hiding import coarse, fraction, part_is_safe
from intravar.publication.results import (
    Group,
    KindOfPatients,
    LeftOut,
    Location,
    Review,
    Unrecorded,
)
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
        much = "Much" if number else "Most"
        shares = (100 * (each or 0.0) for each in (kind.patients, kind.discordance))
        patients, discordance = (f"{each:.0f} %" for each in shares)
        lines.append(
            f"{much} of it lies where {kind.when}: {patients} of {words.cases}, {discordance} of "
            "the discordance."
        )
    return lines


#: Covariates that are named in words, the strongest first.
MOST_NAMED = 3


def published_unrecorded(measurement: Measurement, group: Group | None) -> Unrecorded | None:
    """Return it as it may be handed on: in proportion to the figure that is told of all together.

    None where it was not looked at.
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
    words = unrecorded_line(told, reasons, found.n_tried, measurement.request.words)
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
        brings = f" would bring {now} of 100 down"  # is said once
        short = does.replace(brings, ",") if so_far.startswith(brings) else does
        told += f"{who} as strong as {words.label(reason.covariate)}{short}"
        so_far = does
    return f"{told}."


def _does(lowered: int, now: int) -> str:
    if lowered >= now:
        return f" would hardly lower {now} of 100"
    if lowered == 0:
        return f" could explain all {now} of 100"
    return f" would bring {now} of 100 down to about {lowered}"


#: Figures that are rounded to this or less need no word about it.
FINE = 0.01


def review_sentence(review: Review, words: Words = USUAL) -> str:
    """Say the reviewed discordance beside what the record alone tells of the same pairs.

    Examples
    --------
    >>> told = Review(0.13, 0.09, 0.18, 120, 0.21, 0.01, 0, None, (), None, None, {})
    >>> review_sentence(told).split("; ")[1]
    'on the record alone it was at most 21.'
    """
    middle, low, high, record = (
        round(100 * each) for each in (review.discordance, review.low, review.high, review.record)
    )
    if middle < record:
        alone = f"on the record alone it was at most {record}."
    else:
        # A review may lie at the record or above: most pairs that differ were decided alike.
        alone = f"of all pairs alike in the record, {record} were."
    return (
        f"Of 100 pairs of {words.cases} whom reviewers found comparable, {middle} [{low}, {high}] "
        f"were decided differently; {alone}"
    )


def review_lines(review: Review, words: Words = USUAL) -> list[str]:
    """Say what else a review found, one sentence each."""
    left = f"; {review.n_left:,} are left" if review.n_left else ""
    lines = [
        f"{review.n_pairs:,} pairs of the same {words.decider}, alike in the record, were judged "
        f"by reviewers who saw neither the decision nor the {words.decider}{left}."
    ]
    if review.step > FINE:
        step = round(100 * review.step)
        lines.append(
            f"Figures of the review are rounded to {step} of 100, because an exact value could "
            "reveal small numbers of pairs; with more pairs they are sharper."
        )
    if review.explained is not None:
        lines.append(
            f"Of 100 pairs that were decided differently, about {round(100 * review.explained)} "
            "differ in something that matters."
        )
    if review.reasons:
        shares = (f"{each.reason} ({round(100 * (each.share or 0))} %)" for each in review.reasons)
        lines.append(f"Reasons: {', '.join(shares)}.")
    if review.unsure is not None:
        low, high = round(100 * review.unsure.low), round(100 * review.unsure.high)
        lines.append(
            f"Counting unsure pairs as comparable or as different, it lies between {low} and "
            f"{high} of 100."
        )
    if review.agreement is not None and review.agreement.kappa is not None:
        lines.append(
            f"Two reviewers agree with a kappa of {review.agreement.kappa:.1f} (1 always, 0 as "
            "often as by chance)."
        )
    return lines
