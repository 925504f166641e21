"""The sheet of one decider, for one decision or several: the report's blocks in another outline."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from intravar.documents import blocks
from intravar.documents.blocks import TOLD, Block, Bullets, Heading, Note, Paragraph, told
from intravar.documents.charts import Dot, Labelled, Plot, dot_plot, known_dot
from intravar.documents.measurement import first
from intravar.documents.measurement.deciders import axis_of
from intravar.measurement.scores import NO_RANK
from intravar.measurement.sentences import ESTIMATE_OF_LIMIT, about
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.results import (
    Decision,
    Figure,
    Joint,
    JointRow,
    PhysicianRow,
    Published,
)
from intravar.request import MATTERS
from intravar.tables import hundred, hundreds, hundredths, is_upper_limit, number
from intravar.wording import Words, agree, capital

JOINT_AXIS = "decided differently in at least one decision, of 100 pairs (estimates)"
#: With fewer peers than this a dot without a name is as good as one with it.
FEWEST_PEERS = 5
#: Nats a case from which on an own rule is worth a word.
WORTH = 0.005
#: Rows of a chart; of more periods the last ones.
MOST_ROWS = 8
#: A figure with the ends of its interval, and what all decisions together go by.
Ends: TypeAlias = tuple[float | None, float | None, float | None]
TOGETHER = ""


class Own(NamedTuple):
    """One's own figure, with its interval, if they are known; some methods have no interval."""

    value: float | None
    low: float | None
    high: float | None
    claim: str = "about"

    @property
    def in_words(self) -> str:
        """The figure in a few words."""
        return self.followed_by("")

    def followed_by(self, then: str) -> str:
        """Return the figure in a few words, with `then` behind the number."""
        if self.value is None:
            return ""
        return about(self.value, self.low, self.high, self.claim, then=then)

    @property
    def large(self) -> str:
        """The figure of 100 as it stands in large letters: of a limit its upper end."""
        if is_upper_limit(self.claim) and self.high is not None:
            return f"at most {hundred(self.high, self.claim)} of 100"
        return f"about {hundred(self.value)} of 100"

    def row(self, label: str, whole: float | None, instead: str = "") -> Labelled:
        """Return a row with it and the figure of all, or with what is said `instead` of it.

        The interval of an upper limit begins with the estimate.

        Examples
        --------
        >>> Own(0.2, 0.1, 0.3).row("2023", 0.25).in_words
        '2023: you 20 [10, 30], all 25'
        >>> Own(0.2, 0.1, 0.3, "at most").row("2023", 0.25).in_words
        '2023: you at most 30 (estimate of the limit: 20), all 25 (estimate)'
        """
        shown = f"all {hundred(whole)}{' (estimate)' if is_upper_limit(self.claim) else ''}"
        ring = known_dot(whole, shown, "all", radius=6)
        if self.value is None:
            return Labelled(label, ring, instead=f"you {instead or 'not shown'}")
        hint = f"you {self.in_words.removeprefix('about ')}"
        low = self.value if is_upper_limit(self.claim) else self.low
        return Labelled(label, [Dot(self.value, hint, "own", radius=5), *ring], low, self.high)


def sheet(
    published: Published,
    physician: str,
    *,
    called: str | None = None,
    cases: Sequence[Block] = (),
    private: str | None = None,
    exact: Mapping[str, Ends] | None = None,
) -> blocks.Document:
    """Return the sheet of a decider, in the words of whoever asked for the measurement.

    It holds what may be handed on but for what is given: what to call the decider, surprising
    decisions, exact figures by decision (and :data:`TOGETHER`). `private` says why such a sheet
    must not be handed on.
    """
    words, joint, decision = published.words, published.joint, published.first
    everybody = words.counted(decision.n_physicians)
    unranked = any(each.verdict in UNRANKED for each in published.decisions)
    alone = "they cannot be compared with yours" if unranked else ""
    if joint is None:
        content = _of_one(published, physician, exact or {}, alone)
        what = f"decision: {words.decision or words.label(decision.decision)}"
        everybody += f", {first.counted_figures(decision)}" if decision.verdict != NOTHING else ""
    else:
        content = _of_several(published, joint, physician, exact or {}, alone)
        what = f"decisions: {', '.join(words.label(each.decision) for each in published.decisions)}"
    line = f"For {called or physician} alone · {what} · {everybody} · intravar {published.version}"
    parts: list[Block] = [
        *([Note("Private.", private, "alarm")] if private else []),
        Heading("Your figure", 1, "figure", "Your figure"),
        *content,
        Heading("What the figure does not mean", 1, "meaning", "Not meant"),
        Bullets(first.not_meant(words)),
        Heading("Your comment", 1, "comment", "Comment"),
        Note("", told("comment", words), "comment"),
        *cases,
    ]
    return blocks.Document(words.title or told("sheet", words), line, parts)


def with_figure(published: Published) -> list[str]:
    """Return those who have a figure or a range, and so a sheet."""
    if published.joint is not None:
        rows = published.joint.physicians
        return [row.physician for row in rows if row.reportable or row.band_low is not None]
    return [
        row.physician
        for row in published.first.physicians
        if (row.discordance, row.band_low, row.identified_low, row.shrunken) != (None,) * 4
    ]


def _of_one(
    published: Published, physician: str, exact: Mapping[str, Ends], alone: str
) -> list[Block]:
    """Return what is said of a decider in one decision, without peers where `alone` says why."""
    words, decision = published.words, published.first
    (row,) = [each for each in decision.physicians if each.physician == physician]
    if decision.decision in exact and decision.verdict != NOTHING:
        value, low, high = exact[decision.decision]
        row = replace(row, discordance=value, low=low, high=high, band_low=None, reason=None)
    own = Own(row.discordance, row.low, row.high, decision.claim)
    others = [each for each in decision.physicians if each.physician != physician]
    peers = [each.discordance for each in others if each.rank is not None]
    if row.rank is None:
        alone = alone or "too little is known of you to compare"
    parts: list[Block] = [
        Note(*_figure(row, own, decision, words), "figure"),
        *among_peers(own, peers, words, axis_of(decision.claim), alone),
        Bullets([f"{capital(name)}: {value}" for name, value in facts(row, decision, words)]),
        *_strata(published, decision, physician),
        *_own_rule(row, decision, words),
    ]
    if why := first.noise_blocks(decision, words):
        parts += [Heading("Why two of you decide differently"), *why]
    return parts


def _of_several(
    published: Published, joint: Joint, physician: str, exact: Mapping[str, Ends], alone: str
) -> list[Block]:
    """Return what is said of a decider in several decisions together."""
    words = published.words
    claims = {each.decision: each.claim for each in published.decisions}
    unread = {each.decision for each in published.decisions if each.verdict == NOTHING}
    beyond = "you were not among those that a large table is learned from"
    row = JointRow(physician, *(None,) * 9, False, beyond)
    row = next((each for each in joint.physicians if each.physician == physician), row)
    if TOGETHER in exact and not unread:
        value, low, high = exact[TOGETHER]
        row = replace(row, differ=value, differ_low=low, differ_high=high)
    peers = [each.differ for each in joint.physicians if each.physician != physician]
    apart = "your figure if the decisions were independent of each other"
    known = {
        "the figure of all together": _figure_of_hundred(joint.differ, "at most"),
        apart: _figure_of_hundred(Figure(row.differ_apart), "at most"),
    }
    if row.n_differences is not None:
        average = f"decisions in which two of your {words.cases} differ, on average"
        known[average] = f"about {number(row.n_differences)} ({ESTIMATE_OF_LIMIT})"
        if row.n_differences_high is not None:
            upper_end = number(row.n_differences_high, "at most")
            known[average] = (
                f"at most {upper_end} ({ESTIMATE_OF_LIMIT}: {number(row.n_differences)})"
            )
    mine = {each.decision: each for each in joint.by_physician if each.physician == physician}
    rows, ranges = [], []
    for whole in joint.decisions:  # in the order in which they are taken
        each, claim = mine.get(whole.decision), claims.get(whole.decision, "at most")
        ends: Ends = (None,) * 3 if each is None else (each.discordance, each.low, each.high)
        if each is not None and whole.decision not in unread:
            ends = exact.get(whole.decision, ends)
        own, label = Own(*ends, claim), words.label(whole.decision)
        band = "" if each is None or each.band is None else each.band.of_hundred(claim)
        rows.append(own.row(label, whole.discordance, band))
        ranges += [f"{label} {band} of 100"] if own.value is None and band else []
    line = "Each decision by itself, measured without the other decisions."
    line += f" You, as a range: {'; '.join(ranges)}." if ranges else ""
    together = Own(row.differ, row.differ_low, row.differ_high, "at most")
    return [
        Note(*_joint_figure(row, together, len(joint.decisions), words), "figure"),
        *among_peers(together, peers, words, JOINT_AXIS, alone),
        Bullets([f"{capital(name)}: {value}" for name, value in known.items() if value]),
        *_own_rows(rows, "own-decisions", "Each of your decisions", line, words, "at most"),
    ]


def among_peers(
    own: Own, others: Sequence[float | None], words: Words, axis: str = "", why: str = ""
) -> list[Block]:
    """Return a figure among those of others, rounded; or say `why` not, or that they are few."""
    peers = [each for each in others if each is not None]
    if own.value is None:
        return []
    if not why and len(peers) < FEWEST_PEERS:
        why = f"with fewer than {FEWEST_PEERS} of them, each could be recognised"
    if why:
        return [Paragraph(f"The others' figures are not shown: {why}.", quiet=True)]
    figure, *rounded = (hundredths(value) for value in (own.value, *peers))
    lower = sum(value < figure for value in rounded)
    shown = own.in_words.removeprefix("about ")
    if is_upper_limit(own.claim):  # the dot is the estimate
        shown = (
            f"{figure}" if own.high is None else f"{figure}, {own.large.removesuffix(' of 100')}"
        )
    lines = [(100 * low, 100 * high) for low, high in own.row("", None).lines]
    end = max(50.0, *rounded, *(high + 1 for _, high in lines))
    dots = [Dot(float(value), kind="peer") for value in rounded]
    dots.append(Dot(float(figure), kind="own", label=f"you: {shown}"))

    def plot(width: int) -> Plot:
        drawn = dot_plot(dots, width, axis, end=end, step=max(1.0, end / 100))
        for low, high in lines:
            drawn.line([(low, 0.98), (high, 0.98)], "interval")
        return drawn

    n, fewer = f"{len(peers):,}", f"{lower:,} of them {agree(lower, 'has', 'have')}"
    what = TOLD["claims"][own.claim]["figure"]
    made = blocks.charted("strip", words, plot, figure=what, n=n, lower=fewer)
    if not is_upper_limit(own.claim):
        return [made]
    return [replace(made, reading=f"{made.reading} {told('strip_limit', words)}")]


def _own_rows(
    rows: Sequence[Labelled], name: str, heading: str, line: str, words: Words, claim: str
) -> list[Block]:
    """Return a row for each decision, level or period: one's own figure, and a ring for all."""
    values = [100 * dot.value for row in rows for dot in row.dots]
    end = max(50.0, *values, *(100 * high for row in rows for _, high in row.lines))
    figure = blocks.row_figure(
        "own-rows",
        words,
        rows,
        axis_of(claim),
        most=end,
        heading=heading,
        reading=line,
        **TOLD["claims"][claim],
    )
    return [Heading(heading), replace(figure, name=name)]


def _figure(row: PhysicianRow, own: Own, decision: Decision, words: Words) -> tuple[str, str]:
    """Return a decider's figure in large letters, and the sentence that goes with it."""
    claim = decision.claim
    if own.value is not None:
        unranked = (row.reason or "").removeprefix(NO_RANK)
        sentences = (
            told(
                "own_figure",
                words,
                compared=decision.compared,
                figure=own.followed_by(" get different decisions"),
            ),
            first.eligible(decision, words),
            f"You have no rank: {unranked}." if unranked else "",
        )
        return own.large, " ".join(filter(None, sentences))
    if row.identified_low is not None and row.identified_high is not None:
        levels = hundreds(row.identified_low, row.identified_high)
        return f"{levels} of 100", told("own_levels", words)
    if row.band is not None:
        sentence = told("own_range", words, **TOLD["claims"][claim])
        return f"{row.band.of_hundred(claim)} of 100", sentence
    if row.shrunken is not None:
        return f"about {hundred(row.shrunken)} of 100", told("own_shrunken", words)
    if decision.verdict == NOTHING:
        return "no figure", told("own_problem", words)
    return "no figure", f"There is no figure for you: {row.reason}."


def _joint_figure(row: JointRow, own: Own, n: int, words: Words) -> tuple[str, str]:
    """Return the joint figure in large letters, and the sentence that goes with it."""
    if own.value is not None:
        figure = own.followed_by(f" get different decisions in at least one of {n}")
        return own.large, told("own_joint", words, figure=figure)
    if (band := row.band) is not None:
        differ = f"so many get different decisions in at least one of {n}"
        sentence = told("own_joint", words, figure=differ)
        large = f"{band.of_hundred('at most')} of 100"
        return large, f"{sentence} {told('own_joint_range', words)}"
    return "no figure", f"There is no figure for all decisions together: {row.reason}."


def facts(row: PhysicianRow, decision: Decision, words: Words) -> list[tuple[str, str]]:
    """Return the numbers that stand beside the figure, each with what it is."""
    group, share, review = decision.group, decision.check.decision_share, decision.review
    claims = {"figure": decision.claim, "of 100": "about"}
    known = {}
    for name, what, form in TOLD["sheet"]["facts"]:
        if (value := getattr(row, name)) is not None:
            text = form.format(value)
            if form in claims:
                text = _figure_of_hundred(Figure(value), claims[form])
            known[words.fill(what)] = text.replace("%", " %")
    if row.rate is not None and share is not None:
        known[words.fill("your {rate_of_yes}")] += f" (all: {100 * share:.0f} %)"
    if group is not None:
        every = f"the figure of all together, over all {words.cases}"
        known[every] = _figure_of_hundred(group.discordance, decision.claim)
    if review is not None:
        own = review.physicians.get(row.physician)
        whose, reviewed = ("all together", review.discordance) if own is None else ("yours", own)
        reviewed_figure = _figure_of_hundred(reviewed, "about")
        known[f"{whose}, among pairs that reviewers found comparable"] = reviewed_figure
    if row.rank is not None and decision.verdict not in UNRANKED:
        ends = f"{row.rank:.0f}, from {row.rank_low} to {row.rank_high}"
        known["your rank (1 is the most consistent; chance is allowed for)"] = ends
    return [(name, value) for name, value in known.items() if value]


def _figure_of_hundred(figure: Figure, claim: str) -> str:
    """Return a figure of 100; of a limit its upper end, if known, and its estimate."""
    if figure.value is None:
        return ""
    if is_upper_limit(claim):
        return about(figure.value, figure.low, figure.high, claim, then=" of 100")
    return f"{hundred(figure.value)} of 100"


def _strata(published: Published, decision: Decision, physician: str) -> list[Block]:
    """Return a decider in subgroups and over time, as far as these were asked for."""
    words, claim = published.words, decision.claim
    parts: list[Block] = []
    for part, way, heading in (
        (decision.by, "by", f"You by {words.label(str(published.request.by))}"),
        (decision.course, "period", "You over time"),
    ):
        if part is None:
            continue
        group = {row.stratum: row.discordance.value for row in part.strata}
        whose = way, physician
        rows = [
            own.row(each.stratum, group.get(each.stratum))
            for each in decision.strata
            for own in [Own(each.discordance, each.low, each.high, claim)]
            if (each.stratified_by, each.physician) == whose and own.value is not None
        ]
        if not rows:
            parts += [Heading(heading), Paragraph(told("own_strata", words), quiet=True)]
            continue
        lines = [f"The last {MOST_ROWS} of {len(rows)}."] if len(rows) > MOST_ROWS else []
        for change in decision.changes:
            if (change.stratified_by, change.physician) == whose == ("period", physician):
                names = ("change", "low", "high", "shrunken", "probability")
                numbers = {name: round(100 * getattr(change, name)) for name in names}
                lines.append(told("changed", words, **numbers, matters=round(100 * MATTERS)))
        line = " ".join(lines)
        parts += _own_rows(rows[-MOST_ROWS:], f"own-{way}", heading, line, words, claim)
    return parts


def _own_rule(row: PhysicianRow, decision: Decision, words: Words) -> list[Block]:
    """Say in what way a decider's rule differs from that of the others."""
    if row.gain is None:
        return []
    explained, group = row.explained, decision.group
    if explained is None and group is not None and group.explained is not None:
        explained = group.explained.value
    items = [
        words.fill(TOLD["weighs"][each.how], item=words.label(each.covariate))
        for each in decision.own_rules
        if each.physician == row.physician and each.how in TOLD["weighs"]
    ]
    lines = [told("own_rule", words)] * (row.gain >= WORTH) + (items or [told("no_item", words)])
    if explained is not None and explained < first.SOME_RULE:
        lines = [told("no_rule", words, much="no" if explained <= 0 else "hardly")]
    elif row.gain < WORTH and not items:
        lines = [told("rule_of_all", words)]
    return [Heading("How your rule differs"), Bullets(lines)]
