"""Several decisions as a document: together, each of them, which go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intravar.documents.caveats import NOT_MEANT
from intravar.documents.files.measurement_document import drawn_parts, in_words_of
from intravar.documents.files.parts import (
    Bullets,
    DocumentPart,
    Passage,
    PlainTable,
    SectionHeading,
    WholeDocument,
)
from intravar.documents.measurement.joint_register import JOINT_PICTURES
from intravar.documents.measurement.picture_register import pictures_of
from intravar.errors import theirs
from intravar.publication.several_outputs import NOT_SHOWN, SeveralOutputs, joint_lines

_TITLE = "How consistently do they decide?"


def several_document(outputs: SeveralOutputs) -> WholeDocument:
    """Return several decisions as a document, in the words of whoever asked.

    Parameters
    ----------
    outputs
        What may be handed on; the document holds nothing else.
    """
    summary, words = outputs.summary, outputs.words
    pictures = pictures_of(outputs, JOINT_PICTURES)
    decisions = ", ".join(words.label(name) for name in summary["decisions"])
    verdicts = "; ".join(
        f"{words.label(name)}: {verdict}" for name, verdict in summary["verdicts"].items()
    )
    parts: list[DocumentPart] = [
        SectionHeading("What was found"),
        Bullets(
            [
                *(theirs(f"{line[0].upper()}{line[1:]}.") for line in joint_lines(summary, words)),
                f"What the data bear of each decision by itself: {theirs(verdicts)}.",
            ]
        ),
        SectionHeading("What the number does not mean"),
        Bullets(NOT_MEANT),
        SectionHeading("The decisions together"),
        *drawn_parts(pictures, ("together",)),
        _together(outputs),
        SectionHeading("Each decision"),
        *drawn_parts(pictures, ("each",), half=True),
        *drawn_parts(pictures, ("order",)),
        _each(outputs),
        SectionHeading("Which decisions go together"),
        *drawn_parts(pictures, ("pairs",)),
        _pairs(outputs),
        SectionHeading("How it was made"),
        Passage(
            f"Source: {theirs(summary['source'])}. Each decision by itself is in a folder of its "
            f"own: {theirs(', '.join(summary['folders'].values()))}. Made by intravar "
            f"{summary['version']}."
        ),
    ]
    about = (
        f"{summary['n_physicians']:,} physicians, decisions {theirs(decisions)}, intravar "
        f"{summary['version']}"
    )
    return WholeDocument(
        words.title or _TITLE, words.said(about), [in_words_of(part, words) for part in parts]
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _interval(row: Mapping[str, Any], low: str, high: str) -> str:
    return "–" if row[low] is None else f"{row[low]:.2f}–{row[high]:.2f}"


def _together(outputs: SeveralOutputs) -> PlainTable:
    caption = (
        "Differ: two comparable patients get different decisions in at least one. Apart: as if "
        "decisions did not look at each other. Differences: their expected number. Upper limits. "
        f"Without numbers: {NOT_SHOWN}; a band then follows from each decision by itself."
    )
    rows = [
        [
            str(row["physician"]),
            row["band"] or _number(row["differ"]),
            _interval(row, "differ_low", "differ_high"),
            _number(row["differ_apart"]),
            _number(row["n_differences"]),
            _interval(row, "n_differences_low", "n_differences_high"),
        ]
        for row in outputs.joint.iter_rows(named=True)
    ]
    heads = ["physician", "differ", "95 % interval", "apart", "differences", "95 % interval"]
    return PlainTable(caption, heads, rows, (1.5, 1.3, 1.2, 1, 1.1, 1.2))


def _each(outputs: SeveralOutputs) -> PlainTable:
    caption = (
        "Discordance: by itself, an upper limit. Across: an estimate that knows the other "
        "decisions. Given: among patients also alike in the decisions before it."
    )
    rows = [
        [
            str(row["physician"]),
            outputs.words.label(row["decision"]),
            row["band"] or _number(row["discordance"]),
            _interval(row, "low", "high"),
            _number(row["across"]),
            _number(row["given"]),
        ]
        for row in outputs.decisions.iter_rows(named=True)
    ]
    heads = ["physician", "decision", "discordance", "95 % interval", "across", "given"]
    return PlainTable(caption, heads, rows, (1.5, 1.5, 1.3, 1.2, 1, 1), (0, 1))


def _pairs(outputs: SeveralOutputs) -> PlainTable:
    caption = (
        "Together: share of patients who got both; expected: the share that covariates explain. "
        "Correlation of what they leave unexplained. Steadiness: correlation over physicians of "
        "how closely they go with what colleagues would do."
    )
    label = outputs.words.label
    rows = [
        [
            f"{label(row['first'])}, {label(row['second'])}",
            *(_number(row[name]) for name in ("together", "expected", "correlation")),
            f"{_number(row['low'])} to {_number(row['high'])}",
            _number(row["steadiness"]),
        ]
        for row in outputs.summary["pairs"]
    ]
    heads = ["decisions", "together", "expected", "correlation", "95 % interval", "steadiness"]
    return PlainTable(caption, heads, rows, (2.5, 1, 1, 1.1, 1.4, 1.1))
