"""The first screen: the verdict, the figure, every decider as a dot, where it lies, what next."""

import math
from dataclasses import replace
from statistics import median

from intravar.documents import blocks
from intravar.documents.blocks import Block, Bullets, Figure, Note, Paragraph, Section, told
from intravar.documents.charts import Drawing
from intravar.documents.measurement import deciders
from intravar.estimators.assumptions import LITTLE_EXPLAINED
from intravar.estimators.noise import WHY_UNIDENTIFIED
from intravar.measurement import sentences
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.hiding import coarse_step
from intravar.publication.policy import DOMINATED_STEP, FINE, GROUP_DIGITS
from intravar.publication.results import Decision, Group, Noise
from intravar.publication.results import Figure as Share
from intravar.publication.sentences import (
    component_in_words,
    differences_line,
    location_lines,
    review_sentence,
)
from intravar.tables import hundred, hundredths, is_upper_limit
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
NOISE: dict[str, dict[str, str]] = blocks.TOLD["noise"]


def first_screen(decision: Decision, words: Words) -> list[Block]:
    """Return the blocks of the first screen; every number comes from what is published."""
    leaks = [
        Note(
            f"'{words.label(column)}' may give the decision away.",
            told("leak", words, why=capital(why)),
            "alarm",
        )
        for column, why in decision.check.leaks.items()
    ]
    unrecorded = None if decision.unrecorded is None else decision.unrecorded.words
    steps = blocks.block_list(Bullets(next_steps(decision, words), numbered=True), unrecorded)
    cards = [] if decision.verdict == NOTHING else _cards(decision, words)
    cards.append(Section("What to do next", steps, "wide"))
    return [verdict_note(decision, words), *leaks, blocks.SideBySide(cards)]


def _cards(decision: Decision, words: Words) -> list[Section]:
    """Return the figure, whether deciders differ, and where the disagreement lies."""
    title, sure = headline(decision, words)
    lines, differ = caveats(decision, words), _differ(decision, words)
    lines += [f"{capital(line)}." for line in decision.verdict_reasons[1:3] if lines]
    standing, named = _standing(decision, words)
    apart = blocks.block_list(
        deciders.dots(decision, words),
        " ".join([*differ[:1], standing]),
        Bullets(named) if named else None,
        *differ[1:],
        Paragraph(with_figure(decision, words), quiet=True),
    )
    where = [*noise_blocks(decision, words), *location_lines(decision.location, words)[:2]]
    where = where or ["The data do not tell where it lies."]
    return [
        Section(title, blocks.block_list(sure, hundred_pairs(decision, words), *lines)),
        Section(f"Do the {words.deciders} differ?", apart, "wide"),
        Section("Where the disagreement lies", blocks.block_list(*where)),
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
    return told("eligible", words) if "eligible" in decision.compared else ""


def not_meant(words: Words) -> list[str]:
    """Return what the figure does not mean."""
    return [words.fill(line) for line in blocks.TOLD["sentences"]["not_meant"]]


def headline(decision: Decision, words: Words) -> tuple[str, str]:
    """Return the group's figure in a sentence, and how sure it is; a review comes first."""
    sentence, sure, group = "No figure can be given.", "", _group(decision)
    if group is not None:
        figure, differ = group.discordance, " get different decisions"
        low, high = hundred(figure.low), hundred(figure.high)
        ends = f"95 % interval {low} to {high}. " if figure.high is not None else ""
        if decision.ranged:
            level = f"between {low} and {high}{differ}"
            ends = f"{told('levels', words)} "
        elif is_upper_limit(decision.claim):
            level = _limit_in_words(figure, then=differ)
            ends = f"{told('upper_end', words)} " if figure.high is not None else ""
        else:
            level = f"{decision.claim} {hundred(figure.value)}{differ}"
        sentence = f"Of 100 {decision.compared}, {level}"
        sure = ends + told("same_decider", words)
    if decision.review is None:
        return sentence, sure
    reviewed = review_sentence(decision.review, words).rstrip(".")
    return reviewed, f"{sentence}. {sure}" if sure else ""


def _limit_in_words(figure: Share, then: str = "") -> str:
    """Return an upper limit in words: its upper end, and its estimate."""
    value = figure.value if figure.value is not None else math.nan
    return sentences.about(value, figure.low, figure.high, "at most", then=then)


def _group(decision: Decision) -> Group | None:
    """Return all deciders together, where they have a figure."""
    group = decision.group
    return None if group is None or group.discordance.value is None else group


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
    if (group := _group(decision)) is None:
        return []
    known = [row.reliability for row in decision.physicians if row.reliability is not None]
    differences = differences_line(group, decision.claim, max(known, default=None))
    rates = sentences.rates_in_words(group.with_rate, group.with_half)
    return [words.said(line) for line in (differences, rates) if line]


def caveats(decision: Decision, words: Words) -> list[str]:
    """Return what limits the group's figure, what changes the conclusion first."""
    if (group := _group(decision)) is None:
        return []
    lines = [told("not_explained", words)]
    if (explained := _explained(decision)) is not None:
        lines = [words.said(sentences.explained_sentence(explained))]
    if decision.claim != "about":
        lines.append(told("limit", words))
    if (rounding := _rounding_note(decision, words)) is not None:
        lines.append(rounding)
    if group.contradiction is not None:
        lines.append(told("seen_twice", words, share=hundred(group.contradiction)))
        if (rest := group.share_not_inconsistency) is not None:
            lines.append(told("not_inconsistency", words, share=hundred(rest)))
    return lines


def _rounding_note(decision: Decision, words: Words) -> str | None:
    """Return why the group's figure may differ from the average of the table; None if it cannot.

    Where the figures of all are shown, the group's figure is their average. Otherwise it includes
    those that are hidden, and is rounded from a secret point, upper ends by up to two steps.
    """
    smallest = decision.check.smallest_cell
    shown = (
        row.discordance is not None and row.n_patients is not None for row in decision.physicians
    )
    if smallest <= 1 or all(shown) or decision.ranged:
        return None
    step = max(coarse_step(decision.n_patients_shown, smallest), 10.0**-GROUP_DIGITS)
    dominated = decision.group is not None and decision.group.dominated
    step = DOMINATED_STEP if dominated else step
    by = f" by up to {hundred(2 * step)} of 100" if step <= FINE or dominated else ""
    return told("rounding", words, by=by)


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
        some += told("ranges", words, n=ranges, have=agree(ranges, "has", "have"))
    known = [row.discordance for row in decision.physicians if row.discordance is not None]
    bands = [row.band.middle for row in decision.physicians if row.band is not None]
    if known and len(bands) > 1 and decision.verdict not in UNRANKED:
        lower = median(bands) < median(known)
        some += "; most of those with a range are more consistent than most of the others" * lower
    return f"{some}."


def _standing(decision: Decision, words: Words) -> tuple[str, list[str]]:
    """Say who stands out and by how much, or that nobody does."""
    funnel, listed = deciders.funnel_of(decision), deciders.named_ones(decision)
    if decision.verdict in UNRANKED:
        return told("unranked", words), []
    if funnel is None and len(listed) > 1:
        return told("undetermined", words), [each.hint for each in listed]
    if funnel is None or (not funnel.outside and len(listed) < 2):
        return told("too_few", words), []
    sentence = told("none_outside", words)
    if n := len(funnel.outside):
        of = f"{n:,} of {words.counted(len(funnel.sizes))}"
        sentence = told("some_outside", words, n=of, stand=agree(n, "stands", "stand"))
        sentence += f" The {len(listed)} farthest:" * (n > len(listed))
    named = []
    for each in listed:  # in numbers that add up as they are shown
        own, middle = hundredths(each.level), hundredths(funnel.limits.middle)
        average = f"the average of single {words.deciders} ({middle})"
        if own != middle:
            average = f"{abs(own - middle)} {'more' if own > middle else 'fewer'} than {average}"
        estimate = "; by the estimate, " if is_upper_limit(each.claim) else ", "
        named.append(f"{each.hint}{estimate}{average}")
    return sentence, named


def next_steps(decision: Decision, words: Words) -> list[str]:
    """Return what to do next, the most pressing first, in words that need no software."""
    funnel, explained = deciders.funnel_of(decision), _explained(decision)
    leaks = list(decision.check.leaks)[:1]
    steps = [told("step_leak", words, column=words.label(column)) for column in leaks]
    if decision.verdict == NOTHING:
        return [*steps, told("step_fix", words)]
    if decision.verdict == "group only":
        little = explained is not None and explained < LITTLE_EXPLAINED
        steps.append(told("step_record" if little else "step_group", words))
    elif funnel is None or not funnel.outside:
        steps.append(told("step_all", words))
    else:
        above = [each for each in funnel.outside if each.level > funnel.limits.middle]
        who = (above or funnel.outside)[0].row.physician
        steps.append(told("step_above" if above else "step_below", words, who=who))
    if (component := largest_component(decision)) is not None:
        name, figure = component
        remedy = words.fill(NOISE[name]["remedy"])
        steps.append(f"{remedy} ({component_in_words(figure)} of 100).")
    weights = list(decision.rule.importance.items())[:3]
    named = [words.label(name) for name, weight in weights if weight >= TELLS]
    if named and decision.rule.auc is not None and (explained is None or explained >= SOME_RULE):
        listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        steps.append(told("step_factors", words, listed=listed))
    if decision.claim != "about":
        steps.append(told("step_review", words))
    return steps


def noise_of_all(decision: Decision) -> Noise | None:
    """Return the noise of all together; None where there is hardly any, or it is not known."""
    noise = None if decision.group is None else decision.group.noise
    if noise is None or None in [figure.value for figure in noise.parts.values()]:
        return None
    return noise if 200 * (noise.system.value or 0.0) >= 1 else None


def largest_component(decision: Decision) -> tuple[str, Share] | None:
    """Return the component that is larger than each of the others, and its name.

    The least that the data allow of it must exceed the most that they allow of the others. None
    where the data do not tell which is the largest.
    """
    noise = noise_of_all(decision)
    if noise is None:
        return None
    figures = {name: getattr(noise, name) for name in ("level", "pattern", "occasion")}
    for name, figure in figures.items():
        others = [other for key, other in figures.items() if key != name]
        ends = [figure.low, *(other.high for other in others)]
        if figure.value is None or None in ends:
            continue
        if figure.low > max(other.high for other in others):
            return name, figure
    return None


def noise_blocks(decision: Decision, words: Words) -> list[Paragraph | Figure]:
    """Return how many cases two deciders would decide differently, and why, as a bar in parts."""
    noise = noise_of_all(decision)
    if noise is None:
        return []
    # The figure above may be that of eligible cases alone.
    every = ", eligible or not," if "eligible" in decision.compared else ""
    parts = {name: 200 * (figure.value or 0.0) for name, figure in noise.parts.items()}
    total = replace(noise.system, value=sum(map(round, parts.values())) / 200)
    sentence = told("noise", words, every=every, n=component_in_words(total))
    picture = Drawing(*BAR)
    at = 0.0
    key = []
    reasons = []
    for name, of_hundred in parts.items():
        look = NOISE[name]["look"]
        shown = component_in_words(getattr(noise, name))
        why = words.fill(sentences.WHY_DIFFERENT[name])
        across = BAR[0] * of_hundred / sum(parts.values())
        picture.box((at, 0), (max(across - 2, 1), BAR[1]), f"{shown} of 100: {why}", look)
        if across > 24:
            number = f"{round(of_hundred)}" if round(of_hundred) else "fewer than 1"
            picture.write(number, (at + across / 2 - 1, BAR[1] / 2), f"on-{look}")
        at += across
        key.append((look, f"{shown}: {why}"))
        reasons.append(f"{shown} because {why}")
    text = f"{sentence} {'; '.join(reasons)}."
    apart = _unsplit(noise, words)
    text += f" {apart}" if apart else ""
    chart = blocks.charted("noise", words, picture, key=key, text=text)
    return [Paragraph(sentence), chart, *([Paragraph(apart)] if apart else [])]


def _unsplit(noise: Noise, words: Words) -> str:
    """Return why pattern and occasion are not told apart; empty where they are."""
    if noise.reason is None:
        return ""
    least = math.floor(200 * (noise.pattern.low or 0.0) + 1e-6)
    most = math.ceil(200 * (noise.occasion.high or 0.0) - 1e-6)
    return told(
        "unsplit",
        words,
        n=round(200 * (noise.pattern_and_occasion.value or 0.0)),
        why=words.fill(WHY_UNIDENTIFIED[noise.reason], needed=f"{noise.patients_needed:,}"),
        least=least,
        most=most,
    )


def hundred_pairs(decision: Decision, words: Words) -> Figure | None:
    """Return a hundred pairs of cases; those decided differently have two kinds of dots."""
    figure = None if decision.group is None else decision.group.discordance
    if figure is None or figure.value is None or decision.ranged:
        return None
    return pairs_picture(figure, decision.claim, words)


def pairs_picture(figure: Share, claim: str, words: Words, where: str = "") -> Figure:
    """Draw a hundred pairs and those that differ: of a limit, as many as its upper end.

    `where` they differ may be added.
    """
    if is_upper_limit(claim) and figure.high is not None:
        differ = hundredths(figure.high, claim)
        shown = f"at most {differ}"
    else:
        differ = hundredths(figure.value or 0.0)
        shown = f"about {differ}" if is_upper_limit(claim) else f"{differ}"
    picture = Drawing(ACROSS * PAIR_WIDTH, 100 // ACROSS * PAIR_HEIGHT)
    for pair in range(100):
        a = pair % ACROSS * PAIR_WIDTH + 8
        b = pair // ACROSS * PAIR_HEIGHT + 9.5
        kinds = ("one-way", "other-way") if pair < differ else ("alike", "alike")
        for n, kind in enumerate(kinds):
            picture.mark((a + 13 * n, b), "", kind, radius=5)
    return blocks.charted("hundred-pairs", words, picture, n=shown, where=where)
