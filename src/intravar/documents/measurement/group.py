"""All deciders together: a hundred pairs, why two decide differently, subgroups and periods."""

from __future__ import annotations

from typing import NamedTuple

from intravar.documents.blocks import Block, Bullets, Figure, Heading, Paragraph, row_figure
from intravar.documents.charts.plot import Dot, Drawing
from intravar.documents.charts.rows import Labelled
from intravar.documents.measurement.deciders import axis_of
from intravar.measurement.sentences import WHY_DIFFERENT
from intravar.measurement.verdict import NOTHING
from intravar.publication.results import Decision, Published, Strata
from intravar.tables import Table, hundred, hundreds, hundredths, most, of_pairs, table_of
from intravar.wording import Words

#: Pairs side by side, and the pixels of a pair.
ACROSS, PAIR_WIDTH, PAIR_HEIGHT = 20, 30, 19
#: Pixels of the bar of noise.
BAR = 360, 28
#: By part of the noise: class of the style sheet, what it is, and what lowers it.
NOISE = {
    "level": (
        "fill",
        WHY_DIFFERENT["level"],
        "Agree on the threshold: most of what can be agreed on is how readily to decide for it",
    ),
    "pattern": (
        "second",
        WHY_DIFFERENT["pattern"],
        "Agree on what counts: {deciders} weigh the same findings differently",
    ),
    "occasion": (
        "third",
        WHY_DIFFERENT["occasion"],
        "Record the reasons and use a checklist: most of the disagreement is not between "
        "{deciders} but within each of them",
    ),
}


class NoiseShare(NamedTuple):
    """A part of the noise: how many of a hundred cases, why, and what lowers it."""

    of_hundred: float
    kind: str
    why: str
    remedy: str

    @property
    def shown(self) -> str:
        """The part in whole cases of a hundred."""
        return "fewer than 1" if round(self.of_hundred) == 0 else f"{round(self.of_hundred)}"


def noise_parts(decision: Decision, words: Words) -> list[NoiseShare]:
    """Return the parts of noise; none where it was not taken apart."""
    noise = None if decision.group is None else decision.group.noise
    if noise is None or decision.verdict == NOTHING:
        return []
    values = {name: getattr(noise, name).value for name in NOISE}
    if None in values.values():
        return []
    # This part is the figure of all: where that is a limit, it is rounded up as well.
    values["occasion"] = hundredths(2 * values["occasion"], decision.claim) / 200
    parts = [
        NoiseShare(200 * values[name], kind, words.fill(why), words.fill(remedy))
        for name, (kind, why, remedy) in NOISE.items()
    ]
    return parts if sum(part.of_hundred for part in parts) >= 1 else []


def noise_blocks(decision: Decision, words: Words) -> list[Paragraph | Figure]:
    """Return how many cases two deciders would decide differently, and why, as a bar in parts."""
    parts = noise_parts(decision, words)
    if not parts:
        return []
    whole, at = sum(part.of_hundred for part in parts), 0.0
    # The figure above may be that of eligible cases alone.
    every = ", eligible or not," if "eligible" in decision.compared else ""
    sentence = (
        f"Of 100 {words.cases}{every} seen by two {words.deciders}, {decision.claim} "
        f"{sum(round(part.of_hundred) for part in parts)} would be decided differently:"
    )
    picture = Drawing(*BAR)
    for part in parts:
        across = BAR[0] * part.of_hundred / whole
        hint = f"{part.shown} of 100: {part.why}"
        picture.box((at, 0), (max(across - 2, 1), BAR[1]), hint, part.kind)
        if across > 24:
            picture.write(part.shown, (at + across / 2 - 1, BAR[1] / 2), f"on-{part.kind}")
        at += across
    key = tuple((part.kind, f"{part.shown}: {part.why}") for part in parts)
    text = f"{sentence} {'; '.join(f'{part.shown} because {part.why}' for part in parts)}."
    title = f"Why two {words.deciders} would decide differently about the same {words.case}"
    return [
        Paragraph(sentence),
        Figure("noise", "", text, "", [picture.svg(title, text)], key),
    ]


def hundred_pairs(decision: Decision, words: Words) -> Figure | None:
    """Return a hundred pairs of cases; those decided differently have two kinds of dots."""
    group = decision.group
    value = None if group is None else group.discordance.value
    if value is None or decision.verdict == NOTHING or decision.ranged:
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
    text = (
        f"A hundred pairs of dots; in {number} of them the two {words.cases} got different "
        f"decisions{where}."
    )
    svg = picture.svg(f"A hundred pairs of {words.cases}", text)
    key = (
        ("one-way other-way", f"{number} decided differently{where}"),
        ("alike", "decided alike"),
    )
    return Figure("hundred-pairs", "", text, "", [svg], key)


def strata_section(published: Published, decision: Decision) -> list[Block]:
    """Return the section of subgroups and periods; nothing where none were asked for."""
    words, request = published.words, published.request
    blocks: list[Block] = []
    for part, column, sheet, title in (
        (decision.by, request.by, "Subgroups", f"Do subgroups of {words.cases} differ?"),
        (decision.course, request.date, "Periods", "Did it change over time?"),
    ):
        if part is None:
            continue
        blocks.append(Bullets(part.lines))
        if part.strata:
            blocks.append(_strata_figure(part, sheet.lower(), title, words, decision.claim))
            label = words.label(str(column))
            blocks.append(_strata_table(part, sheet, label, words, decision.claim))
    heading = Heading(f"Which {words.cases}, and when", 1, "strata", "Subgroups")
    return [heading, *blocks] if blocks else []


def _strata_figure(part: Strata, name: str, title: str, words: Words, claim: str) -> Figure:
    """Draw a row per stratum: hollow as it is, filled on similar cases, with intervals."""
    similar = f"on similar {words.cases}"
    rows = [
        Labelled(
            row.stratum,
            [
                Dot(100 * value, f"{most(claim)}{hundred(value, claim)} {what}", kind)
                for value, what, kind in (
                    (row.discordance.value, "as it is", "hollow"),
                    (row.alike.value, similar, "point"),
                )
                if value is not None
            ],
            [("interval", 100 * row.alike.low, 100 * row.alike.high)]
            if row.alike.low is not None and row.alike.high is not None
            else [],
        )
        for row in part.strata
    ]
    reading = (
        f"On similar {words.cases}: as if the same share of {words.cases} were likely to be "
        f"{words.decided_for} everywhere; each {words.decider} is compared with itself only."
    )
    key = [("hollow", "as it is"), ("point", f"{similar}, with the figure's 95 % interval")]
    if all(row.alike.value is None for row in part.strata):
        reading, key = "", key[:1]
    return row_figure(f"strata-{name}", title, rows, axis_of(claim), reading=reading, key=key)


def _strata_table(part: Strata, sheet: str, column: str, words: Words, claim: str) -> Table:
    caption = f"{sheet}: decided differently as it is, and on similar {words.cases}."
    return table_of(
        sheet,
        caption,
        part.strata,
        [
            (column, 2, lambda row: row.stratum),
            (words.decided_for, 1, lambda row: hundred(row.rate) + " %" * (row.rate is not None)),
            (of_pairs(claim), 1, lambda row: hundred(row.discordance.value, claim)),
            (
                "95 % interval",
                1.2,
                lambda row: hundreds(row.discordance.low, row.discordance.high, claim),
            ),
            (
                f"{most(claim)}on similar {words.cases}",
                1.2,
                lambda row: hundred(row.alike.value, claim),
            ),
            ("95 % interval", 1.2, lambda row: hundreds(row.alike.low, row.alike.high, claim)),
        ],
    )
