"""The sheet of one decider, for one decision or several: the report's blocks in another outline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from intravar.documents.blocks import Block, Bullets, Document, Heading, KeyFigures, Note, Paragraph
from intravar.documents.measurement.deciders import axis_of
from intravar.documents.measurement.first import (
    SOME_RULE,
    counted_figures,
    eligible,
    not_meant,
)
from intravar.documents.measurement.group import noise_blocks
from intravar.documents.sheet.figures import Own, among_peers, own_figure, own_row
from intravar.measurement.scores import NO_RANK
from intravar.measurement.sentences import about
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.results import (
    Decision,
    DecisionRow,
    Joint,
    JointRow,
    PhysicianRow,
    Published,
    StratumRow,
)
from intravar.request import MATTERS
from intravar.tables import hundred, hundreds, most, number
from intravar.wording import Words

TITLE = "How consistently do you decide?"
COMMENT = "Is there a reason that is not in the record? What would you change?"
JOINT_AXIS = "decided differently in at least one decision, at most, of 100 pairs"
#: Nats a case from which on an own rule is worth a word.
WORTH = 0.005
HOW = {
    "more": "You weigh {item} more than the others.",
    "less": "You weigh {item} less than the others.",
    "the other way": "You weigh {item} the other way round than the others.",
    "up": "A higher value of {item} speaks for a yes with you; to the others it says little.",
    "down": "A higher value of {item} speaks against a yes with you; to the others it says little.",
}
CHANGED = (
    "From the first period to the last, on similar {cases}: {change:+d} [{low:+d}, {high:+d}] of "
    "100. Pulled towards the change of all it is {shrunken:+d}; with a probability of "
    "{probability} % it is more than {matters}."
)
#: Rows of a chart; of more periods the last ones.
MOST_ROWS = 8
#: A figure with the ends of its interval, and what all decisions together go by.
Ends: TypeAlias = tuple[float | None, float | None, float | None]
TOGETHER = ""


def sheet(
    published: Published,
    physician: str,
    *,
    called: str | None = None,
    cases: Sequence[Block] = (),
    private: str | None = None,
    exact: Mapping[str, Ends] | None = None,
) -> Document:
    """Return the sheet of a decider, in the words of whoever asked for the measurement.

    It holds what may be handed on but for what is given: what to call the decider, surprising
    decisions, exact figures by decision (and :data:`TOGETHER`). `private` says why such a sheet
    must not be handed on.
    """
    words, joint, first = published.words, published.joint, published.first
    everybody = words.counted(first.n_physicians)
    if joint is None:
        content = _of_one(published, physician, exact or {})
        what = f"decision: {words.decision or words.label(first.decision)}"
        everybody += f", {counted_figures(first)}" if first.verdict != NOTHING else ""
    else:
        content = _of_several(published, joint, physician, exact or {})
        what = f"decisions: {', '.join(words.label(each.decision) for each in published.decisions)}"
    about = f"For {called or physician} alone · {what} · {everybody} · intravar {published.version}"
    blocks: list[Block] = [
        *([Note("Private.", private, "alarm")] if private else []),
        Heading("Your figure", 1, "figure", "Your figure"),
        *content,
        Heading("What the figure does not mean", 1, "meaning", "Not meant"),
        Bullets(not_meant(words)),
        Heading("Your comment", 1, "comment", "Comment"),
        Note("", COMMENT, "comment"),
        *cases,
    ]
    return Document(words.title or TITLE, about, blocks)


def with_figure(published: Published) -> list[str]:
    """Return those who have a figure or a range, and so a sheet."""
    if published.joint is not None:
        joint = published.joint
        return [
            row.physician for row in joint.physicians if row.reportable or row.band_low is not None
        ]
    return [
        row.physician
        for row in published.first.physicians
        if (row.discordance, row.band_low, row.identified_low, row.shrunken) != (None,) * 4
    ]


def _of_one(published: Published, physician: str, exact: Mapping[str, Ends]) -> list[Block]:
    """Return what is said of a decider in one decision."""
    words, decision = published.words, published.first
    (row,) = [each for each in decision.physicians if each.physician == physician]
    if decision.decision in exact and decision.verdict != NOTHING:
        row = replace(_exactly(row, exact[decision.decision]), reason=None)
    peers = [
        each.discordance
        for each in decision.physicians
        if each.physician != physician and each.rank is not None
    ]
    unknown = "" if row.rank is not None else "too little is known of you to compare"
    own = _own((row.discordance, row.low, row.high), decision.claim)
    sections: list[Block] = []
    if decision.verdict != NOTHING:
        sections += _strata(published, decision, physician)
        sections += _own_rule(row, decision, words)
        if why := noise_blocks(decision, words):
            sections += [Heading("Why two of you decide differently"), *why]
    return [
        Note(*_figure(row, decision, words), "figure"),
        *_peers(own, peers, published, axis_of(decision.claim), unknown),
        KeyFigures(facts(row, decision, words)),
        *sections,
    ]


Shown = TypeVar("Shown", PhysicianRow, DecisionRow)


def _exactly(row: Shown, exact: Ends) -> Shown:
    """Return a row with exact figures in the place of those that are published."""
    value, low, high = exact
    return replace(row, discordance=value, low=low, high=high, band_low=None, band_high=None)


def _of_several(
    published: Published, joint: Joint, physician: str, exact: Mapping[str, Ends]
) -> list[Block]:
    """Return what is said of a decider in several decisions together."""
    words = published.words
    unread = {each.decision for each in published.decisions if each.verdict == NOTHING}
    beyond = "you were not among those that a large table is learned from"
    row = JointRow(physician, *(None,) * 9, False, beyond)
    row = next((each for each in joint.physicians if each.physician == physician), row)
    if TOGETHER in exact and not unread:
        value, low, high = exact[TOGETHER]
        row = replace(row, differ=value, differ_low=low, differ_high=high)
    together = _own((row.differ, row.differ_low, row.differ_high), "at most")
    peers = [each.differ for each in joint.physicians if each.physician != physician]
    differences = row.n_differences
    apart = "your figure if the decisions were independent of each other"
    known = [
        ("the figure of all together", _hundred(joint.differ, "at most")),
        (apart, _hundred(row.differ_apart, "at most")),
        (
            f"decisions in which two of your {words.cases} differ, on average",
            "" if differences is None else f"at most {number(differences, 'at most')}",
        ),
    ]
    title = "Each of your decisions"
    line = "Each decision by itself, measured without the other decisions."
    mine = {each.decision: each for each in joint.by_physician if each.physician == physician}
    claims = {each.decision: each.claim for each in published.decisions}
    own, ranges = [], []
    for whole in joint.decisions:  # in the order in which they are taken
        each = mine.get(whole.decision)
        if each is not None and each.decision in {*exact} - unread:
            each = _exactly(each, exact[each.decision])
        claim = claims.get(whole.decision, "at most")
        figure = None if each is None else _own((each.discordance, each.low, each.high), claim)
        band = each.band.of_hundred(claim) if each is not None and each.band is not None else ""
        label = words.label(whole.decision)
        own.append(own_row(label, figure, whole.discordance, claim, band))
        ranges += [f"{label} {band} of 100"] if figure is None and band else []
    line += f" You, as a range: {'; '.join(ranges)}." if ranges else ""
    return [
        Note(*_joint_figure(row, joint, words), "figure"),
        *_peers(together, peers, published, JOINT_AXIS),
        KeyFigures([(name, value) for name, value in known if value]),
        Heading(title),
        own_figure(own, "own-decisions", title, line, "at most"),
    ]


def _peers(
    own: Own | None,
    others: Sequence[float | None],
    published: Published,
    axis: str,
    unknown: str = "",
) -> list[Block]:
    """Return the figure among those of the others, or why it is not shown."""
    if own is None:
        return []
    if any(each.verdict in UNRANKED for each in published.decisions):
        unknown = "they cannot be compared with yours"
    if unknown:
        return [Paragraph(f"The others' figures are not shown: {unknown}.", quiet=True)]
    peers = [each for each in others if each is not None]
    return [among_peers(own, peers, published.words, axis)]


def _own(ends: Ends, claim: str) -> Own | None:
    """Return a figure and the ends of its interval; None where one is not known."""
    known = [each for each in ends if each is not None]
    return Own(known[0], known[1], known[2], claim) if len(known) == 3 else None


def _figure(row: PhysicianRow, decision: Decision, words: Words) -> tuple[str, str]:
    """Return a decider's figure in large letters, and the sentence that goes with it."""
    claim = decision.claim
    if decision.verdict == NOTHING:
        return "no figure", "The data do not support one: there is a problem to fix first."
    if (own := _own((row.discordance, row.low, row.high), claim)) is not None:
        figure = f"{claim} {hundred(own.value, claim)}"
        sure = f"; the 95 % interval goes from {hundreds(own.low, own.high)}"
        told = (
            f"Of 100 {decision.compared}, all among your {words.cases}, "
            f"{own.told if claim == 'at most' else figure} get different decisions"
            f"{sure if claim == 'about' else ''}."
        )
        unranked = (row.reason or "").removeprefix(NO_RANK)
        why = f"You have no rank: {unranked}." if unranked else ""
        return f"{figure} of 100", " ".join(filter(None, (told, eligible(decision, words), why)))
    if row.identified_low is not None and row.identified_high is not None:
        ends = hundreds(row.identified_low, row.identified_high)
        return f"{ends} of 100", "Every value in this range fits the data equally well."
    if row.band is not None:
        figure = "upper limit" if claim == "at most" else "figure"
        return f"{row.band.of_hundred(claim)} of 100", (
            f"Your {figure} is shown as a range, because an exact value could reveal small numbers "
            f"of {words.cases}."
        )
    if row.shrunken is not None:
        return f"{claim} {hundred(row.shrunken, claim)} of 100", (
            "Too little is known of you alone: this is your figure pulled towards the average, and "
            "it is not for comparing."
        )
    return "no figure", f"There is no figure for you: {row.reason}."


def _joint_figure(row: JointRow, joint: Joint, words: Words) -> tuple[str, str]:
    """Return the joint figure in large letters, and the sentence that goes with it."""
    pairs = f"Of 100 pairs of comparable {words.cases} of yours"
    differ = f"get different decisions in at least one of {len(joint.decisions)}"
    if row.differ is not None:
        told = about(row.differ, row.differ_low, row.differ_high, "at most")
        return f"at most {hundred(row.differ, 'at most')} of 100", f"{pairs}, {told} {differ}."
    if (band := joint.band_of(row)) is not None:
        return f"{band.of_hundred('at most')} of 100", (
            f"{pairs}, at most so many {differ}. The upper limit is shown as a range, because an "
            f"exact value could reveal small numbers of {words.cases}, or too little is known."
        )
    return "no figure", f"There is no figure for all decisions together: {row.reason}."


def facts(row: PhysicianRow, decision: Decision, words: Words) -> list[tuple[str, str]]:
    """Return the numbers that stand beside the figure, each with what it is."""
    group, share = decision.group, decision.check.decision_share
    claim = decision.claim
    rate = _percent(row.rate)
    ranked = row.rank is not None and decision.verdict not in UNRANKED
    review = decision.review
    own = None if review is None else review.physicians.get(row.physician)
    reviewed = own if own is not None else review
    whose = "yours" if own is not None else "all together"
    known = [
        (f"your {words.cases}", "" if row.n_patients is None else f"{row.n_patients:,}"),
        (
            f"your {words.rate_of_yes}",
            f"{rate} (all: {_percent(share)})" if rate and share is not None else rate,
        ),
        (
            f"the figure of all together, over all {words.cases}",
            _hundred(None if group is None else group.discordance, claim),
        ),
        (
            f"{whose}, among pairs that reviewers found comparable",
            _hundred(None if reviewed is None else reviewed.discordance),
        ),
        (
            "share of the variation in your decisions that the record explains",
            _percent(row.explained),
        ),
        ("share of your figure in close calls", _percent(row.in_close_calls)),
        (
            f"what the average colleague would have on your {words.cases}",
            _hundred(row.expected, claim),
        ),
        ("your figure, pulled towards the average", _hundred(row.shrunken, claim)),
        (f"{words.cases} seen twice that you decided differently", _hundred(row.contradiction)),
        (
            "your rank (1 is the most consistent; chance is allowed for)",
            f"{row.rank:.0f}, from {row.rank_low} to {row.rank_high}" if ranked else "",
        ),
        (
            "reliability of your figure (1 is the best)",
            "" if row.reliability is None else f"{row.reliability:.3f}",
        ),
    ]
    return [(name, value) for name, value in known if value]


def _hundred(value: float | None, claim: str = "about") -> str:
    return "" if value is None else f"{most(claim)}{hundred(value, claim)} of 100"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _strata(published: Published, decision: Decision, physician: str) -> list[Block]:
    """Return a decider in subgroups and over time, as far as these were asked for."""
    words = published.words
    blocks: list[Block] = []

    def own_of(row: StratumRow) -> Own | None:
        return _own((row.discordance, row.low, row.high), decision.claim)

    for part, dealt, heading in (
        (decision.by, "by", f"You by {words.label(str(published.request.by))}"),
        (decision.course, "period", "You over time"),
    ):
        if part is None:
            continue
        mine = [
            each
            for each in decision.strata
            if (each.dealt_by, each.physician) == (dealt, physician) and own_of(each)
        ]
        changes = [
            each
            for each in decision.changes
            if (each.dealt_by, each.physician) == (dealt, physician)
        ]
        blocks.append(Heading(heading))
        if not mine:
            told = (
                f"Your figures are not shown: few of your {words.cases} were decided one way in "
                "one of them, or too little is known of you."
            )
            blocks.append(Paragraph(told, quiet=True))
            continue
        line = ""
        if changes and dealt == "period":
            numbers = {
                name: round(100 * getattr(changes[0], name))
                for name in ("change", "low", "high", "shrunken", "probability")
            }
            line = words.fill(CHANGED, **numbers, matters=round(100 * MATTERS))
        if len(mine) > MOST_ROWS:
            line = f"The last {MOST_ROWS} of {len(mine)}. {line}".strip()
        group = {row.stratum: row.discordance for row in part.strata}
        rows = [
            own_row(each.stratum, own_of(each), group.get(each.stratum), decision.claim)
            for each in mine[-MOST_ROWS:]
        ]
        blocks.append(own_figure(rows, f"own-{dealt}", heading, line, decision.claim))
    return blocks


def _own_rule(row: PhysicianRow, decision: Decision, words: Words) -> list[Block]:
    """Say in what way a decider's rule differs from that of the others."""
    if row.gain is None:
        return []
    explained = row.explained
    if explained is None and decision.group is not None and decision.group.explained is not None:
        explained = decision.group.explained.value
    if explained is not None and explained < SOME_RULE:
        than = f"your {words.rate_of_yes} alone does"
        better = "no" if explained <= 0 else "hardly"
        told = f"What is recorded predicts your decisions {better} better than {than}."
        return [Heading("How your rule differs"), Bullets([told])]
    mine = [each for each in decision.own_rules if each.physician == row.physician]
    if row.gain < WORTH and not mine:
        lines = ["The rule of all predicts your decisions as well as a rule of your own."]
    else:
        better = "A rule of your own predicts your decisions better than that of all."
        lines = [better] if row.gain >= WORTH else []
        lines += [
            HOW[each.how].format(item=words.label(each.covariate))
            for each in mine
            if each.how in HOW
        ]
        lines += [] if mine else ["No single item stands out in it."]
    return [Heading("How your rule differs"), Bullets(lines)]
