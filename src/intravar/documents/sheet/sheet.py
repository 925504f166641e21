"""The sheet of one decider: the same blocks as the report, in another outline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from intravar.documents.blocks import Block, Bullets, Document, Heading, KeyFigures, Note, Paragraph
from intravar.documents.caveats import not_meant
from intravar.documents.measurement.group import noise_bar, noise_parts, noise_sentence
from intravar.documents.sheet.figures import Own, SheetRow, among_peers, rows_figure
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.results import Decision, PhysicianRow, Published, Strata
from intravar.publication.scores import Band
from intravar.request import MATTERS
from intravar.wording import Words

TITLE = "How consistently do you decide?"
COMMENT = "Is there a reason that is not in the record? What would you change?"
NOT_COMPARED = "The others' figures are not shown: they cannot be compared with yours."
#: Nats a case from which on an own rule is worth a word.
WORTH = 0.005
HOW = {
    "more": "You weigh {item} more than the others.",
    "less": "You weigh {item} less than the others.",
    "the other way": "You weigh {item} the other way round than the others.",
    "up": "A higher value of {item} speaks for a yes with you; to the others it says little.",
    "down": "A higher value of {item} speaks against a yes with you; to the others it says little.",
}
#: Rows of a chart; of more periods the last ones.
MOST_ROWS = 8


def sheet(
    published: Published,
    physician: str,
    *,
    called: str | None = None,
    cases: Sequence[Block] = (),
    private: str | None = None,
    exact: Mapping[str, Any] | None = None,
) -> Document:
    """Return the sheet of a decider, in the words of whoever asked for the measurement.

    Parameters
    ----------
    published
        What may be handed on; but for name, cases and exact figures the sheet holds nothing else.
    physician
        As called in what was handed on.
    called
        What to call the decider instead.
    cases
        Surprising decisions, as blocks.
    private
        Why the sheet must not be handed on.
    exact
        The exact figures of this decider, which are not published.
    """
    words, decision = published.words, published.first
    (row,) = [each for each in decision.rows if each.physician == physician]
    if exact is not None:
        row = replace(row, **exact, band=None, reason=None)
    figure, sentence = own_figure(row, decision, words)
    told = words.decision or words.label(decision.decision)
    about = words.fill(
        "For {who} alone · decision: {told} · {n} measured · intravar {version}",
        who=called or physician,
        told=told,
        n=words.counted(decision.n_physicians),
        version=published.version,
    )
    blocks: list[Block] = [
        *([Note("Private.", private, "alarm")] if private else []),
        Heading("Your figure", 1, "figure", "Your figure"),
        Note(figure, sentence, "figure"),
        *_peers(row, decision, words),
        KeyFigures(facts(row, decision, words)),
        *_strata(published, decision, physician),
        *_own_rule(row, decision, words),
        *_noise(decision, words),
        Heading("What the figure does not mean", 1, "meaning", "Not meant"),
        Bullets(not_meant(words)),
        Heading("Your comment", 1, "comment", "Comment"),
        Note("", COMMENT, "comment"),
        *cases,
    ]
    return Document(words.title or TITLE, about, blocks)


def own_figure(row: PhysicianRow, decision: Decision, words: Words) -> tuple[str, str]:
    """Return a decider's figure in large letters, and the sentence that goes with it."""
    claim = decision.claim
    if decision.verdict == NOTHING:
        return "no figure", "The data do not support one: there is a problem to fix first."
    if row.discordance is not None and row.low is not None and row.high is not None:
        value, low, high = (round(100 * each) for each in (row.discordance, row.low, row.high))
        sure = (
            f"the 95 % interval goes from {low} to {high}"
            if claim == "about"
            else f"an upper limit, with 95 % confidence at most {high}"
        )
        why = f" You have no rank: {row.reason}." if row.reason else ""
        return f"{claim} {value} of 100", words.fill(
            "Of 100 {compared}, all among your {cases}, {claim} {value} get different decisions; "
            "{sure}.{why}",
            compared=decision.compared,
            claim=claim,
            value=value,
            sure=sure,
            why=why,
        )
    if row.identified_low is not None and row.identified_high is not None:
        low, high = round(100 * row.identified_low), round(100 * row.identified_high)
        return f"{low} to {high} of 100", "Every value in this range fits the data equally well."
    if row.band:
        return f"{Band.of_text(row.band).of_hundred} of 100", words.fill(
            "Your figure is shown as a range, because an exact value could reveal small numbers of "
            "{cases}."
        )
    if row.shrunken is not None:
        return f"{claim} {100 * row.shrunken:.0f} of 100", (
            "Too little is known of you alone: this is your figure pulled towards the average, and "
            "it is not for comparing."
        )
    return "no figure", f"There is no figure for you: {row.reason}."


def has_figure(row: PhysicianRow) -> bool:
    """Tell whether a decider has a figure or a range, and so a sheet."""
    known = (row.discordance, row.band, row.identified_low, row.shrunken)
    return any(each is not None for each in known)


def _peers(row: PhysicianRow, decision: Decision, words: Words) -> list[Block]:
    """Return the figure among those of the others, or why it is not shown."""
    if row.discordance is None or row.low is None or row.high is None:
        return []
    if decision.verdict in UNRANKED:
        return [Paragraph(NOT_COMPARED, quiet=True)]
    if row.rank is None:
        told = "The others' figures are not shown: too little is known of you to compare."
        return [Paragraph(told, quiet=True)]
    others = decision.physicians.filter(
        (pl.col("physician") != row.physician) & pl.col("rank").is_not_null()
    )
    peers = [100 * value for value in others["discordance"].drop_nulls().to_list()]
    own = Own(100 * row.discordance, 100 * row.low, 100 * row.high)
    return [among_peers(own, peers, words)]


def facts(row: PhysicianRow, decision: Decision, words: Words) -> list[tuple[str, str]]:
    """Return the numbers that stand beside the figure, each with what it is."""
    group, share = decision.group, decision.check.decision_share
    rate = "" if row.rate is None else f"{100 * row.rate:.0f} %"
    ranked = row.rank is not None and decision.verdict not in UNRANKED
    review = decision.review
    own = None if review is None else review.physicians.get(row.physician)
    reviewed = own if own is not None else review
    whose = "yours" if own is not None else "all together"
    found = [
        ("your {cases}", "" if row.n_patients is None else f"{row.n_patients:,}"),
        (
            "your {rate_of_yes}",
            rate if share is None or not rate else f"{rate} (all: {100 * share:.0f} %)",
        ),
        ("the figure of all together", _hundred(None if group is None else group.discordance)),
        (
            f"{whose}, among pairs that reviewers found comparable",
            _hundred(None if reviewed is None else reviewed.discordance),
        ),
        ("share of how your decisions vary that the record explains", _percent(row.explained)),
        ("share of your figure in close calls", _percent(row.in_close_calls)),
        ("what the average colleague would have on your {cases}", _hundred(row.expected)),
        ("your figure, pulled towards the average", _hundred(row.shrunken)),
        ("{cases} seen twice that you decided differently", _hundred(row.contradiction)),
        (
            "your rank (1 is the most consistent)",
            f"{row.rank:.0f}, from {row.rank_low} to {row.rank_high}" if ranked else "",
        ),
        (
            "reliability of your figure (1 is the best)",
            "" if row.reliability is None else f"{row.reliability:.2f}",
        ),
    ]
    return [(words.fill(name), value) for name, value in found if value]


def _hundred(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} of 100"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _strata(published: Published, decision: Decision, physician: str) -> list[Block]:
    """Return a decider in subgroups and over time, as far as these were asked for."""
    words = published.words
    found: list[Block] = []
    for part, dealt, heading in (
        (decision.by, "by", f"You by {words.label(str(published.request.by))}"),
        (decision.course, "period", "You over time"),
    ):
        if part is None:
            continue
        mine = _of(decision.strata, dealt, physician)
        found.append(Heading(heading))
        if not mine:
            told = (
                "Your figures are not shown: few of your {cases} were decided one way in one of "
                "them, or too little is known of you."
            )
            found.append(Paragraph(words.fill(told), quiet=True))
            continue
        line = _changed(_of(decision.changes, dealt, physician), words) if dealt == "period" else ""
        if len(mine) > MOST_ROWS:
            line = f"The last {MOST_ROWS} of {len(mine)}. {line}".strip()
        found.append(rows_figure(_rows(mine, part), f"own-{dealt}", heading, line, words))
    return found


def _of(table: pl.DataFrame | None, dealt: str, physician: str) -> list[dict[str, Any]]:
    if table is None:
        return []
    mine = (pl.col("dealt_by") == dealt) & (pl.col("physician") == physician)
    return table.filter(mine & pl.all_horizontal(pl.all().is_not_null())).to_dicts()


def _rows(mine: Sequence[Mapping[str, Any]], part: Strata) -> list[SheetRow]:
    group = {row.stratum: row.discordance for row in part.strata}
    return [
        SheetRow(
            str(row["stratum"]),
            Own(*(100 * row[name] for name in ("discordance", "low", "high"))),
            None if (whole := group.get(row["stratum"])) is None else 100 * whole,
        )
        for row in mine[-MOST_ROWS:]
    ]


def _changed(rows: Sequence[Mapping[str, Any]], words: Words) -> str:
    """Say by how much a decider changed, and how sure that is."""
    if not rows:
        return ""
    change, low, high, pulled = (
        round(100 * rows[0][name]) for name in ("change", "low", "high", "shrunken")
    )
    sure = round(100 * rows[0]["probability"])
    return words.fill(
        "From the first period to the last, on similar {cases}: {change:+d} [{low:+d}, {high:+d}] "
        "of 100. Pulled towards the change of all it is {pulled:+d}; that it is more than "
        "{matters:.0f} is then {sure} % probable.",
        change=change,
        low=low,
        high=high,
        pulled=pulled,
        matters=100 * MATTERS,
        sure=sure,
    )


def _own_rule(row: PhysicianRow, decision: Decision, words: Words) -> list[Block]:
    """Say in what way a decider's rule differs from that of the others."""
    if row.gain is None:
        return []
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


def _noise(decision: Decision, words: Words) -> list[Block]:
    picture = noise_bar(decision, words)
    if picture is None:
        return []
    told = noise_sentence(noise_parts(decision, words), words)
    return [Heading("Why two of you decide differently"), Paragraph(told), picture]
