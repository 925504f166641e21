"""The first screen: the verdict, the figure, every decider as a dot, where it lies, what next."""

from statistics import median

from intravar.documents import blocks
from intravar.documents.blocks import Block, Bullets, Figure, Note, Paragraph, Section
from intravar.documents.charts import Drawing
from intravar.documents.measurement import deciders
from intravar.measurement import sentences
from intravar.measurement.verdict import LITTLE_EXPLAINED, NOTHING, UNRANKED
from intravar.publication.results import Decision
from intravar.publication.sentences import differences_line, location_lines, review_sentence
from intravar.tables import hundred, hundredths, most
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
#: Pairs side by side, and the pixels of a pair; pixels of the bar of noise.
ACROSS, PAIR_WIDTH, PAIR_HEIGHT = 20, 30, 19
BAR = 360, 28
#: By part of the noise: class of the style sheet, and what lowers it.
NOISE = {
    "level": (
        "fill",
        "Agree on the threshold: most of what can be agreed on is how readily to decide for it",
    ),
    "pattern": ("second", "Agree on what counts: {deciders} weigh the same findings differently"),
    "occasion": (
        "third",
        "Record the reasons and use a checklist: most of the disagreement is not between "
        "{deciders} but within each of them",
    ),
}
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
    leaks = [
        Note(
            f"'{words.label(column)}' may give the decision away.",
            f"{capital(why)}. If it is known only after the decision, {words.deciders} look "
            "more consistent than they are, and the true figure is higher.",
            "alarm",
        )
        for column, why in decision.check.leaks.items()
    ]
    steps: list[Block] = [Bullets(next_steps(decision, words), numbered=True)]
    if decision.unrecorded is not None:
        steps.append(Paragraph(decision.unrecorded.words))
    cards = [] if decision.verdict == NOTHING else _cards(decision, words)
    cards.append(Section("What to do next", steps, "wide"))
    return [verdict_note(decision, words), *leaks, blocks.SideBySide(cards)]


def _cards(decision: Decision, words: Words) -> list[Section]:
    """Return the figure, whether deciders differ, and where the disagreement lies."""
    title, sure = headline(decision, words)
    lines = caveats(decision, words)
    lines += [f"{capital(line)}." for line in decision.verdict_reasons[1:3] if lines]
    standing, named = _standing(decision, words)
    differ = _differ(decision, words)
    where = [Paragraph(line) for line in location_lines(decision.location, words)[:2]]
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
        "Where the disagreement lies": [*noise_blocks(decision, words), *where]
        or [Paragraph("The data do not tell where it lies.")],
    }
    return [
        Section(title, [block for block in listed if block], "wide" if at == 1 else "card")
        for at, (title, listed) in enumerate(parts.items())
    ]


def verdict_note(decision: Decision, words: Words) -> Note:
    """Return the verdict, what may be read, and its first reason."""
    reason = f" {capital(decision.verdict_reasons[0])}." if decision.verdict_reasons else ""
    text = (
        f"{words.said(sentences.MAY_BE_READ[decision.verdict])}{reason} {eligible(decision, words)}"
    )
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
        claim, figure = decision.claim, group.discordance
        low, high = hundred(figure.low), hundred(figure.high, claim)
        level = f"{claim} {hundred(figure.value, claim)}"
        level = f"between {low} and {high}" if decision.ranged else level
        sentence = f"Of 100 {decision.compared}, {level} get different decisions"
        sure = f"Both {words.cases} of a pair are of the same {words.decider}."
        if decision.ranged:
            sure = f"Every level in this range fits the data equally well. {sure}"
        elif figure.high is not None:
            limit = f"An upper limit: with 95 % confidence at most {high}."
            ends = f"95 % interval {low} to {high}."
            sure = f"{ends if claim == 'about' else limit} {sure}"
    if decision.review is None:
        return sentence, sure
    reviewed = review_sentence(decision.review, words).rstrip(".")
    return reviewed, f"{sentence}. {sure}" if sure else ""


def summary_lines(decision: Decision, words: Words) -> list[str]:
    """Return what the first screen says of all together, line by line: for a terminal."""
    if decision.group is None:
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
    differences = differences_line(group, decision.claim)
    rates = sentences.rates_in_words(group.with_rate, group.with_half)
    return [words.said(line) for line in (differences, rates) if line]


def caveats(decision: Decision, words: Words) -> list[str]:
    """Return what limits the group's figure, what changes the conclusion first."""
    group = decision.group
    if group is None or group.discordance.value is None:
        return []
    explained = _explained(decision)
    lines = [
        _NOT_EXPLAINED if explained is None else words.said(sentences.explained_sentence(explained))
    ]
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


def _explained(decision: Decision) -> float | None:
    group = decision.group
    return None if group is None or group.explained is None else group.explained.value


def new_warnings(decision: Decision) -> list[str]:
    """Return the warnings that are not among the reasons of the verdict."""
    return [line for line in decision.warnings if line not in decision.verdict_reasons]


def counted_figures(decision: Decision) -> str:
    """Return how many have a figure, in a few words."""
    return f"{decision.n_reportable:,} with a {'range' if decision.ranged else 'figure'}"


def with_figure(decision: Decision, words: Words) -> str:
    """Tell apart those in the table and those with a figure."""
    shown, ranges = decision.n_reportable, decision.n_banded
    what = f"{agree(shown, 'has', 'have')} a {'range of levels' if decision.ranged else 'figure'}"
    some = f"{shown:,} of {words.counted(decision.n_physicians)} in the table {what}"
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
    return f"{some}."


def _standing(decision: Decision, words: Words) -> tuple[str, list[str]]:
    """Say who stands out and by how much, or that nobody does."""
    funnel, listed = deciders.funnel_of(decision), deciders.named_ones(decision)
    ends = "The most and the least consistent by rank:"
    if decision.verdict in UNRANKED:
        return "None is singled out: the data do not support a ranking.", []
    if funnel is None and len(listed) > 1:
        return f"Whether any stands out cannot be said: the level is not determined. {ends}", [
            each.hint for each in listed
        ]
    if funnel is None or (not funnel.outside and len(listed) < 2):
        return f"None stands out; too few {words.deciders} can be ranked.", []
    n, by = len(funnel.outside), "by more than chance and the usual spread allow."
    sentence = f"No single {words.decider} stands out {by}"
    if n:
        of = words.counted(len(funnel.sizes))
        sentence = f"{n:,} of {of} with a figure {agree(n, 'stands', 'stand')} out {by}"
        ends = f"The {len(listed)} farthest:" if n > len(listed) else ""
    named = []
    for each in listed:  # in numbers that add up as they are shown
        own, middle = (
            hundredths(level, each.claim) for level in (each.level, funnel.limits.middle)
        )
        apart = f"{abs(own - middle)} {'more' if own > middle else 'fewer'} than "
        average = f"the average of single {words.deciders} ({middle})"
        named.append(f"{each.hint}, {apart if own != middle else ''}{average}")
    return f"{sentence} {ends}".strip(), named


def next_steps(decision: Decision, words: Words) -> list[str]:
    """Return what to do next, the most pressing first, in words that need no software."""
    funnel, explained = deciders.funnel_of(decision), _explained(decision)
    steps = [
        f"Find out when '{words.label(column)}' was known. If only after the decision, have "
        "the figures measured again without it."
        for column in list(decision.check.leaks)[:1]
    ]
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
    if parts := noise_parts(decision):
        largest = max(parts, key=parts.__getitem__)
        steps.append(f"{words.fill(NOISE[largest][1])} ({_in_whole(parts[largest])} of 100).")
    weights = list(decision.rule.importance.items())[:3]
    named = [words.label(name) for name, weight in weights if weight >= TELLS]
    if named and decision.rule.auc is not None and (explained is None or explained >= SOME_RULE):
        listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        steps.append(f"Start with the factors that weigh most in the decision: {listed}.")
    if decision.claim != "about":
        steps.append(
            "To learn how far below the limit the truth lies, let colleagues judge pairs of "
            f"{words.cases} without knowing how they were decided."
        )
    return steps


def noise_parts(decision: Decision) -> dict[str, float]:
    """Return how many of a hundred cases each part of noise makes; none where it is not known."""
    noise = None if decision.group is None else decision.group.noise
    values = {} if noise is None else {name: getattr(noise, name).value for name in NOISE}
    if noise is None or None in values.values():
        return {}
    parts = {name: 200 * value for name, value in values.items()}
    # This part is the figure of all: where that is a limit, it is rounded up as well.
    parts["occasion"] = hundredths(2 * values["occasion"], decision.claim)
    return parts if sum(parts.values()) >= 1 else {}


def _in_whole(of_hundred: float) -> str:
    return "fewer than 1" if round(of_hundred) == 0 else f"{round(of_hundred)}"


def noise_blocks(decision: Decision, words: Words) -> list[Paragraph | Figure]:
    """Return how many cases two deciders would decide differently, and why, as a bar in parts."""
    parts = noise_parts(decision)
    if not parts:
        return []
    # The figure above may be that of eligible cases alone.
    every = ", eligible or not," if "eligible" in decision.compared else ""
    sentence = (
        f"Of 100 {words.cases}{every} seen by two {words.deciders}, {decision.claim} "
        f"{sum(map(round, parts.values()))} would be decided differently:"
    )
    picture, at, key, reasons = Drawing(*BAR), 0.0, [], []
    for name, of_hundred in parts.items():
        kind, shown = NOISE[name][0], _in_whole(of_hundred)
        why = words.fill(sentences.WHY_DIFFERENT[name])
        across = BAR[0] * of_hundred / sum(parts.values())
        picture.box((at, 0), (max(across - 2, 1), BAR[1]), f"{shown} of 100: {why}", kind)
        if across > 24:
            picture.write(shown, (at + across / 2 - 1, BAR[1] / 2), f"on-{kind}")
        at += across
        key.append((kind, f"{shown}: {why}"))
        reasons.append(f"{shown} because {why}")
    text = f"{sentence} {'; '.join(reasons)}."
    title = f"Why two {words.deciders} would decide differently about the same {words.case}"
    return [Paragraph(sentence), Figure("noise", "", text, "", [picture.svg(title, text)], key)]


def hundred_pairs(decision: Decision, words: Words) -> Figure | None:
    """Return a hundred pairs of cases; those decided differently have two kinds of dots."""
    value = None if decision.group is None else decision.group.discordance.value
    if value is None or decision.ranged:
        return None
    return pairs_picture(value, decision.claim, words)


def pairs_picture(share: float, claim: str, words: Words, where: str = "") -> Figure:
    """Draw a hundred pairs of which a share differs; `where` it does may be said."""
    differ = hundredths(share, claim)
    picture = Drawing(ACROSS * PAIR_WIDTH, 100 // ACROSS * PAIR_HEIGHT)
    for pair in range(100):
        a = pair % ACROSS * PAIR_WIDTH + 8
        b = pair // ACROSS * PAIR_HEIGHT + 9.5
        kinds = ("one-way", "other-way") if pair < differ else ("alike", "alike")
        for n, kind in enumerate(kinds):
            picture.mark((a + 13 * n, b), "", kind, radius=5)
    number = f"{most(claim)}{differ}"
    pairs = f"A hundred pairs of {words.cases}"
    text = (
        f"A hundred pairs of dots; in {number} of them the two {words.cases} got different "
        f"decisions{where}."
    )
    different = f"{number} decided differently{where}"
    key = (("one-way other-way", different), ("alike", "decided alike"))
    return Figure("hundred-pairs", "", text, "", [picture.svg(pairs, text)], key)
