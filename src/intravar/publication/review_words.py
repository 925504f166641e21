"""A blind review in words: the first sentence of a page, and what stands behind it."""

from __future__ import annotations

from intravar.publication.results import Review
from intravar.wording import USUAL, Words

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
    return words.fill(
        "Of 100 pairs of {cases} whom reviewers found comparable, {middle} "
        "[{low}, {high}] were decided differently; {alone}",
        middle=middle,
        low=low,
        high=high,
        alone=alone,
    )


def review_lines(review: Review, words: Words = USUAL) -> list[str]:
    """Say what else a review found, one sentence each."""
    left = f"; {review.n_left:,} are left" if review.n_left else ""
    lines = [
        words.fill(
            "{n_pairs:,} pairs of the same {decider}, alike in the record, were "
            "judged by reviewers who saw neither the decision nor the "
            "{decider}{left}.",
            n_pairs=review.n_pairs,
            left=left,
        )
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
        listed = ", ".join(
            f"{each.reason} ({round(100 * (each.share or 0))} %)" for each in review.reasons
        )
        lines.append(f"Reasons: {listed}.")
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
