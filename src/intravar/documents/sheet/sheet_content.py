"""From what is published to the sheet of one physician."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from intravar.documents.caveats import NOT_MEANT
from intravar.documents.sheet.sheet_pictures import (
    FEWEST_PEERS,
    NOISE,
    WIDTHS,
    NoiseSlice,
    Own,
    noise_bar,
    noise_shares,
    strip,
)
from intravar.documents.sheet.sheet_rows import SheetPart, strata_parts
from intravar.documents.sheet.sheet_words import facts, headline, own_rule
from intravar.errors import theirs
from intravar.measurement.sentences import SUPPORTS
from intravar.measurement.verdict import UNRANKED
from intravar.publication.outputs import Outputs
from intravar.wording import Words

TITLE = "How consistently do you decide?"
NOT_COMPARED = "The others' figures are not shown: they cannot be compared with yours."
PATIENT_LEVEL = "This sheet shows single patients. Keep it where the data are."


@dataclass(frozen=True)
class CaseTable:
    """A decision that surprised, beside patients like it: a line, heads and rows."""

    line: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Sheet:
    """All that stands on the sheet of one physician.

    Attributes
    ----------
    title, about, called
        Of the sheet; what was decided; what the physician is called on it.
    private
        Why the sheet must not be handed on, where it must not.
    figure, sentence, bears
        The figure in large letters, in a sentence, and what these data bear.
    strip, strip_line
        The figure among unnamed peers, wide and narrow, and how to read it or why it is missing.
    facts
        Numbers beside it.
    parts
        The same in subgroups, over time, or decision by decision.
    noise, noise_key
        Why two of the physicians decide differently; what the parts of the bar are.
    own_rule
        In what way this one's rule differs.
    cases
        Surprising decisions, where they were asked for.
    not_meant
        What the number does not mean.
    """

    title: str
    about: str
    called: str
    private: str | None
    figure: str
    sentence: str
    bears: str
    strip: Sequence[Markup]
    strip_line: str
    facts: Sequence[tuple[str, str]]
    parts: Sequence[SheetPart]
    noise: Sequence[Markup]
    noise_key: Sequence[tuple[str, str]]
    own_rule: Sequence[str]
    cases: Sequence[CaseTable]
    not_meant: Sequence[str]
    made: str


def sheet_of(
    outputs: Outputs,
    physician: str,
    *,
    called: str | None = None,
    cases: Sequence[CaseTable] = (),
    private: str | None = None,
) -> Sheet:
    """Return the sheet of a physician, in the words of whoever asked for the measurement.

    Parameters
    ----------
    outputs
        What may be handed on; but for name and cases the sheet holds nothing else.
    physician
        As called in what was handed on.
    called
        What to call the physician instead.
    cases
        Surprising decisions of the physician.
    private
        Why the sheet must not be handed on.
    """
    summary, checks = outputs.summary, outputs.checks
    words = outputs.words
    rows = outputs.physicians.to_dicts()
    (row,) = [each for each in rows if each["physician"] == physician]
    figure, sentence = headline(row, summary["claim"], summary["compared"])
    picture, line = _strip(row, outputs.physicians, summary, words)
    decision = words.decision or words.label(str(checks["decision"]["column"]))
    about = f"Decision: {theirs(decision)}, {summary['n_physicians']:,} physicians measured"
    why = {name: words.said(told) for name, told in NOISE.items()}
    parts = noise_shares((summary["group"] or {}).get("noise"), why)
    differences = [
        each for each in summary.get("own_rules") or () if each["physician"] == physician
    ]
    return Sheet(
        words.title or TITLE,
        words.said(about),
        called or physician,
        private,
        words.said(figure),
        words.said(sentence),
        words.said(SUPPORTS.get(summary["verdict"], "")),
        picture,
        words.said(line),
        [(words.said(name), value) for name, value in facts(row, summary, checks)],
        strata_parts(outputs, physician),
        _noise(parts, words),
        [(part.kind, part.words) for part in parts],
        own_rule(row, differences, words),
        cases,
        [words.said(line) for line in NOT_MEANT],
        f"intravar {summary['version']}",
    )


def _strip(
    row: Mapping[str, Any], table: pl.DataFrame, summary: Mapping[str, Any], words: Words
) -> tuple[list[Markup], str]:
    """Draw a figure among those of the others, or say why it is not drawn."""
    if row["discordance"] is None:
        return [], ""
    if summary["verdict"] in UNRANKED:
        return [], NOT_COMPARED
    if row["rank"] is None:
        return [], "The others' figures are not shown: too little is known of you to compare."
    others = table.filter((pl.col("physician") != row["physician"]) & pl.col("rank").is_not_null())
    own = Own(*(100 * row[name] for name in ("discordance", "low", "high")))
    axis = "of 100 pairs of patients, decided differently"
    return among_peers(own, others["discordance"], axis, words)


def among_peers(own: Own, others: pl.Series, axis: str, words: Words) -> tuple[list[Markup], str]:
    """Draw a figure among those of the others, or say why these are too few.

    Parameters
    ----------
    own
        The physician's figure, of 100.
    others
        Those of the others, as shares; what is missing is left out.
    axis
        What the figures are.
    words
        What things are called.
    """
    peers = [100 * value for value in others.drop_nulls().to_list()]
    if len(peers) < FEWEST_PEERS:
        few = f"with fewer than {FEWEST_PEERS} of them, each could be told"
        return [], f"The others' figures are not shown: {few}."
    lower = sum(round(value) < round(own.value) for value in peers)
    line = (
        f"Your figure with its 95 % interval, above a dot for each of {len(peers):,} other "
        f"physicians, rounded and without names. {lower:,} of them have a lower figure."
    )
    drawn = [strip(own, peers, words.said(axis), words.said(line), kind) for kind in WIDTHS]
    return [svg for svg in drawn if svg is not None], line


def _noise(parts: Sequence[NoiseSlice], words: Words) -> list[Markup]:
    axis = words.said("of 100 patients, decided differently by two")
    drawn = [noise_bar(parts, axis, kind) for kind in WIDTHS]
    return [svg for svg in drawn if svg is not None]
