"""What is said of what is published, in words; sentences.toml has the sentences."""

import math
from collections.abc import Callable, Sequence

from intravar.inference.group import RANKABLE
from intravar.measurement.sentences import (
    SEEN_BY_TWO,
    WHY_DIFFERENT,
    about,
    differences_sentence,
)
from intravar.measurement.verdict import SAID
from intravar.publication.results import (
    Figure,
    Group,
    Joint,
    LeftOut,
    Location,
    Noise,
    Review,
    Strata,
)
from intravar.request import MATTERS
from intravar.tables import hundred, hundredths, is_upper_limit, number
from intravar.wording import USUAL, Sentence, Words, declared_in

_SENTENCES: dict[str, dict[str, str]] = declared_in(__package__, "sentences")
#: Probability from which on a change is called one.
SURE = 0.95
#: Covariates that are named in words, the strongest first.
MOST_NAMED = 3
#: Why several decisions have no figure together.
NOT_SHOWN = "few decisions, few of one combination, or low reliability"
NO_RANGE = f"{NOT_SHOWN}; and a range of limits would say nothing"
UNREAD = "one of the decisions is not interpretable"


def saying(of: str, words: Words) -> Callable[..., str]:
    """Return what says a sentence by its name, with what is given in its places."""

    def say(sentence: str, /, **given: object) -> str:
        return words.fill(_SENTENCES[of][sentence], **given)

    return say


def differences_line(
    group: Group, claim: str = "about", reliability: float | None = None
) -> str | None:
    """Return whether physicians differ, in words; None if there is no answer.

    Parameters
    ----------
    group
        All physicians together.
    claim
        How their figures are read.
    reliability
        Highest reliability of a single physician's figure, if known. If physicians differ and no
        single figure is reliable, the sentence says so: both are then shown on one page.
    """
    if group.differences is None:
        return None
    sentence = differences_sentence(
        group.differences,
        *(group.spread.value, group.spread.low or 0.0, group.spread.high or 0.0),
        needed=group.needed,
        matters=group.matters,
        claim=claim,
    )
    if group.differences == "differ" and reliability is not None and reliability < RANKABLE:
        upper = math.ceil(100 * reliability - 1e-6) / 100
        unreliable = Sentence(SAID["differences"]["unreliable"], reliability=upper)
        sentence = Sentence("{} {}", sentence, unreliable)
    return sentence


def location_lines(location: Location | None, words: Words = USUAL) -> list[str]:
    """Say where the discordance lies."""
    if location is None or location.close_patients is None:
        return []
    say, close = saying("location", words), location.close_discordance or 0.0
    lines = [say("close", discordance=hundred(close), patients=hundred(location.close_patients))]
    for at, kind in enumerate(location.kinds):
        part = "Most" if (kind.discordance or 0.0) > 0.5 else "The largest part"
        shares = {"patients": hundred(kind.patients), "discordance": hundred(kind.discordance)}
        lines.append(say("kind", part="Another part" if at else part, when=kind.when, **shares))
    return lines


def unrecorded_line(
    discordance: float, reasons: Sequence[LeftOut], n_tried: int, words: Words = USUAL
) -> str:
    """Say how far an unrecorded reason could go, measured by the recorded ones."""
    say = saying("unrecorded", words)
    if not reasons:
        tried = f"any one of {n_tried} covariates" if n_tried > 1 else "the covariate"
        return say("not_known", tried=tried)
    now = hundredths(discordance)
    left = [(words.label(each.covariate), hundredths(each.lowered or 0)) for each in reasons]
    (strongest, least), *others = left[:MOST_NAMED]
    if least >= now:
        return say("hardly", name=strongest, now=now)
    rest = (
        say("other" if lowered < now else "other_hardly", name=name, least=lowered)
        for name, lowered in dict(others).items()
    )
    return say("lower", name=strongest, now=now, least=least, others="".join(rest))


def review_sentence(review: Review, words: Words = USUAL) -> str:
    """Say the reviewed discordance beside what the record alone tells of the same pairs."""
    say, figure = saying("review", words), review.discordance
    alone = say("record", record=hundred(review.record))
    ends = {name: hundred(each) for name, each in vars(figure).items()}
    return say("figure", alone=alone, **ends)


def review_lines(review: Review, words: Words = USUAL) -> list[str]:
    """Say what else a review found, one sentence each."""
    say = saying("review", words)
    left = say("left", n=review.n_left) if review.n_left else ""
    lines = [say("judged", n=review.n_pairs, left=left), say("strict")]
    if review.step > 0.01:  # finer rounding needs no word
        lines.append(say("rounded", step=hundred(review.step)))
    if review.explained is not None:
        lines.append(say("explained", share=hundred(review.explained)))
    if review.reasons:
        shares = (f"{why} ({hundred(share)} %)" for why, share in review.reasons.items())
        lines.append(say("reasons", reasons=", ".join(shares)))
    if (unsure := review.unsure) is not None:
        lines.append(say("unsure", low=hundred(unsure.low), high=hundred(unsure.high)))
    if review.agreement is not None and review.agreement.value is not None:
        lines.append(say("agreement", kappa=review.agreement.value))
    return lines


def strata_lines(
    published: Strata, column: str, words: Words = USUAL, claim: str = "about"
) -> list[str]:
    r"""Say in words how subgroups compare, by figures or upper limits as the `claim` says.

    Examples
    --------
    >>> from intravar.publication.results import Figure, Stratum
    >>> levels = [Stratum("F", 0.5, Figure(0.2), Figure(0.21))]
    >>> levels += [Stratum("M", 0.5, Figure(0.3), Figure(0.27))]
    >>> print("\n".join(strata_lines(Strata(tuple(levels), 0, 0.001), "sex")))
    By sex, of 100 pairs of comparable patients so many get different decisions: F 20, M 30.
    On similar patients: F 21, M 27. They differ (p = 0.001).
    """
    rows, say = published.strata, saying("strata", words)
    if not rows:
        return [say("nothing", column=column)]
    crude, alike = (
        ", ".join(f"{row.stratum} {_level(getattr(row, figure), claim)}" for row in rows)
        for figure in ("discordance", "alike")
    )
    crude_sentence = "crude_limit" if is_upper_limit(claim) else "crude"
    lines = [say(crude_sentence, column=column, levels=crude)]
    if published.n_left_out:
        lines.append(say("left_out", n=published.n_left_out))
    if published.p_value is not None:
        differ = "They differ" if published.p_value < 1 - SURE else "That they differ is not shown"
        lines.append(say("alike", levels=alike, differ=differ, p=published.p_value))
    elif len(rows) > 1:
        lines.append(say("not_compared"))
    return lines


def _level(figure: Figure, claim: str) -> str:
    """Return the figure of a subgroup; of a limit its upper end, and its estimate in brackets."""
    if is_upper_limit(claim):
        return f"{hundred(figure.high, claim)} ({hundred(figure.value)})"
    return hundred(figure.value)


def course_lines(published: Strata, words: Words = USUAL, claim: str = "about") -> list[str]:
    """Say in words what became of the physicians over time."""
    change, say = published.change, saying("course", words)
    if change.value is None:
        return []
    lines = [say("rule")] if published.rule_changed else []
    sure = (published.probability or 0) >= SURE
    how = ("less" if change.value > 0 else "more") if sure else "no_change"
    ends = {name: f"{round(100 * (each or 0.0)):+d}" for name, each in vars(change).items()}
    lines.append(say("change", how=say(how), **ends))
    if published.n_changed is not None:
        bars = {"matters": hundred(MATTERS), "sure": hundred(SURE)}
        lines.append(say("single", n=published.n_changed, **bars))
    first, last = published.strata[0], published.strata[-1]
    if first.noise is None or last.noise is None:
        return lines
    parts = []
    for name in comparable_parts([first.noise, last.noise]):
        both = [getattr(period.noise, name) for period in (first, last)]
        shares = ", then ".join(component_in_words(figure) for figure in both)
        parts.append(f"{shares}, because {words.fill(WHY_DIFFERENT[name])}")
    when = {"first": first.stratum, "last": last.stratum, "seen": words.fill(SEEN_BY_TWO)}
    return [*lines, say("noise", parts="; ".join(parts), **when)]


def comparable_parts(noises: Sequence[Noise]) -> tuple[str, ...]:
    """Return the names of the parts of noise that add up to the whole in each of several."""
    unsplit = [noise for noise in noises if noise.reason is not None]
    return tuple((*unsplit, *noises)[0].parts)


def component_in_words(figure: Figure) -> str:
    """Return a component of noise with its interval, of 100 patients seen by two deciders.

    Examples
    --------
    >>> component_in_words(Figure(0.151, 0.14, 0.16)), component_in_words(Figure(0.001, 0.0, 0.01))
    ('30 [28, 32]', 'fewer than 1 [0, 2]')
    """
    shown = round(200 * (figure.value or 0.0))
    number = f"{shown}" if shown else "fewer than 1"
    if figure.low is None or figure.high is None:
        return number
    return f"{number} [{200 * figure.low:.0f}, {200 * figure.high:.0f}]"


def joint_lines(joint: Joint, words: Words = USUAL) -> list[str]:
    """Say what the decisions tell together, a line each, in the words of whoever asked."""
    differ, say = joint.differ, saying("joint", words)
    if any(row.reason == UNREAD for row in joint.physicians):
        lines = [say("unread", why=UNREAD)]
    elif differ.value is None:
        lines = [say("few")]
    else:
        n = len(joint.decisions)
        then = f" differ in at least one of {n} decisions"
        told = about(differ.value, differ.low, differ.high, "at most", then=then)
        average = joint.n_differences
        lines = [
            say("differ", told=told),
            say("number", high=number(average.high, "at most"), value=number(average.value)),
            say("apart", apart=hundred(joint.differ_apart)),
        ]
        if not (joint.n_reportable or joint.n_banded):
            lines.append(say("nobody", why=NO_RANGE))
    for pair in joint.pairs:
        low, high = pair.correlation.low or 0.0, pair.correlation.high or 0.0
        if low <= 0 <= high:
            continue
        shares = ""
        if pair.together is not None and pair.expected is not None:
            shares = say("shares", together=100 * pair.together, expected=100 * pair.expected)
        both = {"first": words.label(pair.first), "second": words.label(pair.second)}
        lines.append(say("pair", often="more" if low > 0 else "less", shares=shares, **both))
    return lines
