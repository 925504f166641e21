"""The first screen: the verdict, the figure, every decider as a dot, where it lies, what next."""

from __future__ import annotations

from typing import Any

import polars as pl

from intravar.documents.blocks import Block, Bullets, Card, Cards, Note, Paragraph
from intravar.documents.measurement.deciders import (
    MOST_NAMED,
    Funnel,
    dots,
    funnel_of,
    with_intervals,
)
from intravar.documents.measurement.group import (
    hundred_pairs,
    noise_bar,
    noise_parts,
    noise_sentence,
)
from intravar.measurement.sentences import MAY_BE_READ, explained_sentence, rates_in_words
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.findings import location_lines, review_sentence
from intravar.publication.group import differences_line
from intravar.publication.results import Decision
from intravar.wording import Words, agree, capital

#: How grave a verdict is, as a look of notes.
LOOK_OF = {
    "levels and ranks": "good",
    "upper limits and ranks": "good",
    "not interpretable": "alarm",
}
#: Loss of AUC from which on decisions are said to rest on a covariate.
TELLS = 0.01


def first_screen(decision: Decision, words: Words) -> list[Block]:
    """Return the blocks of the first screen; every number comes from what is published."""
    funnel = funnel_of(decision)
    cards = [_figure_card(decision, words)]
    if decision.verdict != NOTHING:
        cards += [_deciders_card(decision, funnel, words), _where_card(decision, words)]
    cards.append(
        Card("What to do next", [Bullets(next_steps(decision, funnel, words), numbered=True)], True)
    )
    return [verdict_note(decision, words), *_leaks(decision, words), Cards(cards)]


def verdict_note(decision: Decision, words: Words) -> Note:
    """Return the verdict, what may be read, and its first reason."""
    reason = decision.verdict_reasons[0] if decision.verdict_reasons else ""
    told = words.said(MAY_BE_READ[decision.verdict])
    return Note(
        f"{capital(decision.verdict)}.",
        f"{told} {capital(reason)}.".replace(" .", "").strip(),
        LOOK_OF.get(decision.verdict, "care"),
    )


def _leaks(decision: Decision, words: Words) -> list[Block]:
    return [
        Note(
            words.fill("'{column}' may give the decision away.", column=words.label(leak.column)),
            words.fill(
                "{why}. If it is known only after the decision, {deciders} look more consistent "
                "than they are, and the true figure is higher.",
                why=capital(leak.why),
            ),
            "alarm",
        )
        for leak in decision.leaks
    ]


def headline(decision: Decision, words: Words) -> tuple[str, str]:
    """Return the group's figure in a sentence, and how sure it is; a review comes first."""
    if decision.verdict == NOTHING:
        return "No figure yet", "The data do not support one: see the verdict above."
    told, sure = _by_record(decision, words)
    if decision.review is None:
        return told, sure
    return review_sentence(decision.review, words).rstrip("."), f"{told}. {sure}" if sure else ""


def _by_record(decision: Decision, words: Words) -> tuple[str, str]:
    group = decision.group
    if group is None or group.discordance is None:
        return "No figure can be given.", ""
    about = round(100 * group.discordance)
    told = f"Of 100 {decision.compared}, {decision.claim} {about} get different decisions"
    same = words.fill("Both {cases} of a pair are of the same {decider}.")
    if group.low is None or group.high is None:
        return told, same
    low, high = round(100 * group.low), round(100 * group.high)
    if decision.claim != "about":
        return told, f"An upper limit: with 95 % confidence at most {high}. {same}"
    return told, f"95 % interval {low} to {high}. {same}"


def caveats(decision: Decision, words: Words) -> list[str]:
    """Return what limits the group's figure, what changes the conclusion first."""
    group = decision.group
    found: list[str] = []
    if decision.verdict == NOTHING:
        return found
    if group is not None and group.explained is not None and group.explained.value is not None:
        found.append(words.said(explained_sentence(group.explained.value)))
    if decision.claim != "about":
        found.append(
            words.fill(
                "What could not be predicted counts as different, even where the {decider} was "
                "consistent: the true figure lies at or below the limit."
            )
        )
    found += [capital(line) + "." for line in decision.verdict_reasons[1:3]]
    if group is not None and (told := rates_in_words(group.with_rate, group.with_half)):
        found.append(words.said(told))
    if decision.unrecorded is not None:
        found.append(decision.unrecorded.words)
    if group is not None and group.repeats is not None and group.repeats.contradiction is not None:
        share = round(100 * group.repeats.contradiction)
        found.append(f"On cases seen twice they contradicted themselves in {share} of 100.")
    return found


def _figure_card(decision: Decision, words: Words) -> Card:
    title, interval = headline(decision, words)
    picture = hundred_pairs(decision, words)
    blocks: list[Block] = [Paragraph(interval)] if interval else []
    blocks += [picture] if picture else []
    return Card(title, [*blocks, *(Paragraph(line) for line in caveats(decision, words))])


def with_figure(decision: Decision, words: Words) -> str:
    """Tell apart those who were measured and those with a figure."""
    n, shown = decision.n_physicians, decision.n_reportable
    if shown == n:
        return words.fill("All {n} have a figure.", n=words.counted(n))
    text = words.fill(
        "{n} were measured; {shown} of them {have} a figure of {their} own",
        n=words.counted(n),
        shown=f"{shown:,}",
        have=agree(shown, "has", "have"),
        their=agree(shown, "its", "their"),
    )
    if decision.n_banded:
        return (
            f"{text}, {decision.n_banded:,} a range in its place, because an exact value could "
            "reveal small numbers."
        )
    return f"{text}."


def _deciders_card(decision: Decision, funnel: Funnel | None, words: Words) -> Card:
    picture = dots(decision, words)
    standing, named = _standing(decision, funnel, words)
    blocks: list[Block] = [] if picture is None else [picture]
    line = None if decision.group is None else differences_line(decision.group)
    difference = "" if line is None else words.said(line)
    blocks.append(Paragraph(" ".join(line for line in (difference, standing) if line)))
    blocks += [Bullets(named)] if named else []
    blocks.append(Paragraph(with_figure(decision, words), quiet=True))
    return Card(words.fill("Do the {deciders} differ?"), blocks, wide=True)


def _standing(decision: Decision, funnel: Funnel | None, words: Words) -> tuple[str, list[str]]:
    """Say who stands out and by how much, or that nobody does."""
    if decision.verdict in UNRANKED:
        return words.fill("Nobody is singled out: the data do not support a ranking."), []
    if funnel is not None and funnel.outside:
        n = len(funnel.outside)
        rest = f" The {MOST_NAMED} farthest:" if n > MOST_NAMED else ""
        told = words.fill(
            "{n} of {all} {stands} out by more than chance and the usual spread allow.{rest}",
            n=f"{n:,}",
            all=words.counted(len(funnel.rows)),
            stands=agree(n, "stands", "stand"),
            rest=rest,
        )
        return told, [_named(row, funnel) for row in funnel.outside[:MOST_NAMED]]
    ranked = with_intervals(decision).drop_nulls("rank").sort("rank", "physician")
    if ranked.height < 2:
        return words.fill("Nobody stands out; too few {deciders} can be ranked."), []
    told = (
        "Whether anybody stands out cannot be said: the level is not determined."
        if funnel is None
        else "Nobody stands out by more than chance and the usual spread allow."
    )
    ends = pl.concat([ranked.head(1), ranked.tail(1)]).to_dicts()
    return f"{told} The most and the least consistent:", [_named(row, funnel) for row in ends]


def _named(row: dict[str, Any], funnel: Funnel | None) -> str:
    """Return what is said of one who is named."""
    if row["discordance"] is None or funnel is None:
        low, high = (100 * row[end] for end in ("low", "high"))
        return f"{row['physician']}: between {low:.0f} and {high:.0f} of 100"
    score, middle = 100 * row["discordance"], 100 * funnel.limits.middle
    away = round(score - middle)
    apart = f"{abs(away)} {'more' if away > 0 else 'fewer'} than the average" if away else "average"
    interval = f"[{100 * row['low']:.0f}, {100 * row['high']:.0f}]"
    return f"{row['physician']}: {score:.0f} of 100 {interval}, {apart}"


def _where_card(decision: Decision, words: Words) -> Card:
    """Return where the disagreement lies."""
    parts = noise_parts(decision, words)
    picture = noise_bar(decision, words)
    blocks: list[Block] = []
    title = "Where the disagreement lies"
    if parts and picture is not None:
        blocks += [Paragraph(noise_sentence(parts, words)), picture]
    blocks += [Paragraph(line) for line in location_lines(decision.location, words)[:2]]
    important = _important(decision, words)
    if important:
        blocks.append(Paragraph(f"Decisions depend most on {important}."))
    if not blocks:
        blocks.append(Paragraph("The data do not tell where it lies."))
    return Card(title, blocks)


def _important(decision: Decision, words: Words) -> str:
    """Name the covariates that decisions depend on most; nothing where none does."""
    rule = decision.rule
    if rule.auc is None:
        return ""
    named = [words.label(row.covariate) for row in rule.importance[:3] if row.importance >= TELLS]
    return ", ".join(named[:-1]) + f" and {named[-1]}" if len(named) > 1 else "".join(named)


def next_steps(decision: Decision, funnel: Funnel | None, words: Words) -> list[str]:
    """Return what to do next, the most pressing first, in words that need no software."""
    steps = []
    for leak in decision.leaks[:1]:
        column = words.label(leak.column)
        steps.append(
            f"Find out when '{column}' was known. If only after the decision, have the figures "
            "measured again without it."
        )
    if decision.verdict == NOTHING:
        return [*steps, "Fix the problem that the verdict names, then measure again."]
    if decision.verdict == "group only":
        steps.append(
            words.fill(
                "Work with the group, not with single {deciders}. More {cases} of each, or "
                "recording what decisions depend on, would tell them apart."
            )
        )
    else:
        steps.append(_about(decision, funnel, words))
    parts = noise_parts(decision, words)
    largest = max(parts, key=lambda part: part.of_hundred, default=None)
    if largest is not None and largest.of_hundred >= 1:
        steps.append(f"{largest.remedy} ({largest.shown} of 100).")
    if important := _important(decision, words):
        steps.append(f"Start with the factors that weigh most in the decision: {important}.")
    if decision.claim != "about":
        steps.append(
            words.fill(
                "To learn how far below the limit the truth lies, let colleagues judge pairs of "
                "{cases} without knowing how they were decided."
            )
        )
    return steps


def _about(decision: Decision, funnel: Funnel | None, words: Words) -> str:
    """Say what to do about those who stand out: look at cases, or learn."""
    outside = funnel.outside if funnel is not None else []
    above = [row for row in outside if row["discordance"] > funnel.limits.middle] if funnel else []
    if above:
        return words.fill(
            "Look at {cases} of {who} together before you draw conclusions about a person: reasons "
            "that are not recorded may explain them.",
            who=above[0]["physician"],
        )
    if outside:
        return f"Ask {outside[0]['physician']} how they decide: more consistent than is usual."
    told = "Talk about the decision with all {deciders}: nobody stands out from the others."
    return words.fill(told)
