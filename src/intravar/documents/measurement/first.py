"""The first screen: the verdict, the figure, every decider as a dot, where it lies, what next."""

from __future__ import annotations

from statistics import median

from intravar.documents.blocks import (
    Block,
    Bullets,
    Figure,
    Note,
    Paragraph,
    Section,
    SideBySide,
)
from intravar.documents.measurement import deciders
from intravar.documents.measurement.group import hundred_pairs, noise_blocks, noise_parts
from intravar.measurement.sentences import MAY_BE_READ, explained_sentence, rates_in_words
from intravar.measurement.verdict import LITTLE_EXPLAINED, NOTHING, UNRANKED
from intravar.publication.findings import location_lines, review_sentence
from intravar.publication.group import differences_line
from intravar.publication.results import Decision
from intravar.tables import hundred, hundredths
from intravar.wording import Words, agree, capital

#: How grave a verdict is, as a look of notes.
LOOK_OF = {
    "levels and ranks": "good",
    "upper limits and ranks": "good",
    "not interpretable": "alarm",
}
#: Loss of AUC from which on decisions are said to rest on a covariate.
TELLS = 0.01
#: Explained share below which nothing is said of what decisions depend on.
SOME_RULE = 0.05
#: What a discordance does not mean, in the same words wherever the figure stands.
_NOT_MEANT = (
    "It says nothing about intent, and nothing about whether a decision was right: {a_decider} can "
    "be consistent and always wrong.",
    "Reasons that are not in the record (a preference, an exception, a test that was not recorded) "
    "count as inconsistency here. A high figure is a question to ask, not a finding against a "
    "person.",
    "{Deciders} with more close calls can be expected to differ more.",
    "With few {cases} the figure is uncertain; always read it with its interval.",
)


#: What the word means, said where it first stands; and why a figure comes without its share.
_ELIGIBLE = "Eligible are the {cases} for which the rule learned from the data says yes."
_NOT_EXPLAINED = (
    "This method does not tell how much of how decisions vary the record explains; Predictability "
    "does."
)


def first_screen(decision: Decision, words: Words) -> list[Block]:
    """Return the blocks of the first screen; every number comes from what is published."""
    note, cards = verdict_note(decision, words), []
    steps: list[Block] = [Bullets(next_steps(decision, words), numbered=True)]
    if decision.verdict != NOTHING:
        title, sure = headline(decision, words)
        lines = caveats(decision, words)
        lines += [f"{capital(line)}." for line in decision.verdict_reasons[1:3] if lines]
        standing, named = _standing(decision, words)
        differ = _differ(decision, words)
        where = map(Paragraph, location_lines(decision.location, words)[:2])
        lies = [*noise_blocks(decision, words), *where]
        parts: dict[str, list[Block | None]] = {
            title: [
                Paragraph(sure) if sure else None,
                hundred_pairs(decision, words),
                *map(Paragraph, lines),
            ],
            f"Do the {words.deciders} differ?": [
                deciders.dots(decision, words),
                Paragraph(" ".join([*differ[:1], standing])),
                Bullets(named) if named else None,
                *map(Paragraph, differ[1:]),
                Paragraph(with_figure(decision, words), quiet=True),
            ],
            "Where the disagreement lies": [
                *(lies or [Paragraph("The data do not tell where it lies.")])
            ],
        }
        cards = [
            Section(title, [block for block in blocks if block], "wide" if at == 1 else "card")
            for at, (title, blocks) in enumerate(parts.items())
        ]
        if decision.unrecorded is not None:
            steps.append(Paragraph(decision.unrecorded.words))
    leaks = [
        Note(
            f"'{words.label(column)}' may give the decision away.",
            f"{capital(why)}. If it is known only after the decision, {words.deciders} look "
            "more consistent than they are, and the true figure is higher.",
            "alarm",
        )
        for column, why in decision.check.leaks.items()
    ]
    return [note, *leaks, SideBySide([*cards, Section("What to do next", steps, "wide")])]


def verdict_note(decision: Decision, words: Words) -> Note:
    """Return the verdict, what may be read, and its first reason."""
    reason = f" {capital(decision.verdict_reasons[0])}." if decision.verdict_reasons else ""
    text = f"{words.said(MAY_BE_READ[decision.verdict])}{reason} {eligible(decision, words)}"
    look = LOOK_OF.get(decision.verdict, "care")
    return Note(f"{capital(decision.verdict)}.", text.strip(), look)


def eligible(decision: Decision, words: Words) -> str:
    """Return what "eligible" means; nothing where the figure does not speak of it."""
    return words.fill(_ELIGIBLE) if "eligible" in decision.compared else ""


def not_meant(words: Words) -> list[str]:
    """Return what the figure does not mean."""
    return [words.fill(line) for line in _NOT_MEANT]


def headline(decision: Decision, words: Words) -> tuple[str, str]:
    """Return the group's figure in a sentence, and how sure it is; a review comes first."""
    group = decision.group
    sentence, sure = "No figure can be given.", ""
    if group is not None and group.discordance.value is not None:
        claim, low = decision.claim, hundred(group.discordance.low)
        figure, high = (
            hundred(each, claim) for each in (group.discordance.value, group.discordance.high)
        )
        level = f"between {low} and {high}" if decision.ranged else f"{claim} {figure}"
        sentence = f"Of 100 {decision.compared}, {level} get different decisions"
        sure = f"Both {words.cases} of a pair are of the same {words.decider}."
        if decision.ranged:
            sure = f"Every level in this range fits the data equally well. {sure}"
        elif group.discordance.high is not None:
            limit = f"An upper limit: with 95 % confidence at most {high}."
            ends = f"95 % interval {low} to {high}."
            sure = f"{ends if claim == 'about' else limit} {sure}"
    if decision.review is None:
        return sentence, sure
    reviewed = review_sentence(decision.review, words).rstrip(".")
    return reviewed, f"{sentence}. {sure}" if sure else ""


def summary_lines(decision: Decision, words: Words) -> list[str]:
    """Return what the first screen says of all together, line by line: for a terminal."""
    if decision.verdict == NOTHING or decision.group is None:
        return []
    noise = [b.alternative for b in noise_blocks(decision, words) if isinstance(b, Figure)]
    lines = [
        ". ".join(filter(None, headline(decision, words))),
        eligible(decision, words),
        *caveats(decision, words),
        *_differ(decision, words),
        *noise,
        *location_lines(decision.location, words),
        "" if decision.unrecorded is None else decision.unrecorded.words,
    ]
    return [line for line in lines if line]


def _differ(decision: Decision, words: Words) -> list[str]:
    """Say whether deciders differ, and whether their order tells more than their rates."""
    group = decision.group
    if group is None or group.discordance.value is None:
        return []
    lines = (
        differences_line(group, decision.claim),
        rates_in_words(group.with_rate, group.with_half),
    )
    return [words.said(line) for line in lines if line]


def caveats(decision: Decision, words: Words) -> list[str]:
    """Return what limits the group's figure, what changes the conclusion first."""
    group = decision.group
    if group is None or group.discordance.value is None:
        return []
    explained = None if group.explained is None else group.explained.value
    lines = [_NOT_EXPLAINED if explained is None else words.said(explained_sentence(explained))]
    if decision.claim != "about":
        lines.append(
            f"What could not be predicted counts as different, even where the {words.decider} was "
            "consistent: the true figure lies at or below the limit."
        )
    if group.contradiction is not None:
        share, rest = hundred(group.contradiction), group.share_not_inconsistency
        lines.append(f"On cases seen twice they contradicted themselves in {share} of 100.")
        if rest is not None:
            lines.append(
                f"So up to about {hundred(rest)} % of the figure may be reasons that are not "
                "recorded, or what could not be predicted, and not inconsistency."
            )
    return lines


def new_warnings(decision: Decision) -> list[str]:
    """Return the warnings that are not among the reasons of the verdict."""
    return [line for line in decision.warnings if line not in decision.verdict_reasons]


def counted_figures(decision: Decision) -> str:
    """Return how many have a figure, in a few words."""
    n, what = decision.n_reportable, "range" if decision.ranged else "figure"
    return f"{'all' if n == decision.n_physicians else f'{n:,}' if n else 'none'} with a {what}"


def with_figure(decision: Decision, words: Words) -> str:
    """Tell apart those in the table and those with a figure."""
    n, shown, ranges = decision.n_physicians, decision.n_reportable, decision.n_banded
    what = f"{agree(shown, 'has', 'have')} a {'range of levels' if decision.ranged else 'figure'}"
    if shown == n:
        return f"{agree(n, 'The', 'All')} {words.counted(n)} in the table {what}."
    some = f"{shown:,} {what}" if shown else what.replace("have", "none has")
    if ranges:
        some += (
            f", {ranges:,} {agree(ranges, 'has', 'have')} a range in its place, because an exact "
            "value could reveal small numbers"
        )
    known = [row.discordance for row in decision.physicians if row.discordance is not None]
    bands = [row.band.middle for row in decision.physicians if row.band is not None]
    if known and len(bands) > 1 and decision.verdict not in UNRANKED:
        lower = median(bands) < median(known)
        some += "; most of those with a range are more consistent than most of the others" * lower
    return f"Of {words.counted(n)} in the table, {some}."


def _standing(decision: Decision, words: Words) -> tuple[str, list[str]]:
    """Say who stands out and by how much, or that nobody does."""
    funnel, listed = deciders.funnel_of(decision), deciders.named_ones(decision)
    group, ends = decision.group, "The most and the least consistent by rank:"
    if decision.verdict in UNRANKED:
        return "None is singled out: the data do not support a ranking.", []
    if funnel is not None and funnel.outside:
        n = len(funnel.outside)
        sentence = (
            f"{n:,} of {words.counted(len(funnel.sizes))} with a figure "
            f"{agree(n, 'stands', 'stand')} out by more than chance and the usual spread allow."
        )
        ends = f"The {len(listed)} farthest:" if n > len(listed) else ""
    elif len(listed) < 2:
        return f"None stands out; too few {words.deciders} can be ranked.", []
    elif funnel is None:
        sentence = "Whether any stands out cannot be said: the level is not determined."
    elif group is not None and group.differences == "differ":
        sentence = (
            f"Yet no single {words.decider} stands out: none lies farther from the average than "
            "such differences and chance together explain."
        )
    else:
        sentence = "None stands out by more than chance and the usual spread allow."
    return f"{sentence} {ends}".strip(), [_named(each, funnel, words) for each in listed]


def _named(known: deciders.Known, funnel: deciders.Funnel | None, words: Words) -> str:
    """Return what is said of one who is named, in numbers that add up as they are shown."""
    if funnel is None:
        return known.hint
    own, middle = (hundredths(each, known.claim) for each in (known.level, funnel.limits.middle))
    apart = f"{abs(own - middle)} {'more' if own > middle else 'fewer'} than "
    average = f"the average of single {words.deciders} ({middle})"
    return f"{known.hint}, {apart if own != middle else ''}{average}"


def next_steps(decision: Decision, words: Words) -> list[str]:
    """Return what to do next, the most pressing first, in words that need no software."""
    funnel = deciders.funnel_of(decision)
    steps = [
        f"Find out when '{words.label(column)}' was known. If only after the decision, have "
        "the figures measured again without it."
        for column in list(decision.check.leaks)[:1]
    ]
    group = decision.group
    explained = None if group is None or group.explained is None else group.explained.value
    if decision.verdict == NOTHING:
        return [*steps, "Fix the problem that the verdict names, then measure again."]
    if decision.verdict == "group only":
        remedy = "More {cases} of each, or recording what decisions depend on, would"
        if explained is not None and explained < LITTLE_EXPLAINED:
            remedy = "Record what decisions depend on: with this record, more {cases} would not"
        whom = "Work with the group, not with single {deciders}."
        steps.append(words.fill(f"{whom} {remedy} tell them apart."))
    elif funnel is None or not funnel.outside:
        steps.append(
            f"Talk about the decision with all {words.deciders}: no single one stands out."
        )
    elif above := [each for each in funnel.outside if each.level > funnel.limits.middle]:
        steps.append(
            f"Look at {words.cases} of {above[0].row.physician} together before you draw "
            "conclusions: reasons that are not recorded may explain them."
        )
    else:
        who = funnel.outside[0].row.physician
        steps.append(f"Ask {who} how decisions are taken there: more consistent than is usual.")
    if parts := noise_parts(decision, words):
        largest = max(parts, key=lambda part: part.of_hundred)
        steps.append(f"{largest.remedy} ({largest.shown} of 100).")
    rule, group = decision.rule, decision.group
    weights = list(rule.importance.items())[:3]
    named = [words.label(name) for name, weight in weights if weight >= TELLS]
    if named and rule.auc is not None and (explained is None or explained >= SOME_RULE):
        listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        steps.append(f"Start with the factors that weigh most in the decision: {listed}.")
    if decision.claim != "about":
        steps.append(
            "To learn how far below the limit the truth lies, let colleagues judge pairs of "
            f"{words.cases} without knowing how they were decided."
        )
    return steps
