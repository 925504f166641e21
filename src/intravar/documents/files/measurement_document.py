"""A measurement as a document: what was found, every physician, the rule, whether to believe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intravar.documents.caveats import NOT_MEANT
from intravar.documents.files.paper import words_in
from intravar.documents.files.parts import (
    Bullets,
    DocumentPart,
    FramedPicture,
    NewPage,
    Passage,
    PlainTable,
    SectionHeading,
    WholeDocument,
)
from intravar.documents.measurement.binned_pictures import MOST_SINGLE
from intravar.documents.measurement.picture_register import ShownPicture, pictures_of
from intravar.errors import theirs
from intravar.estimators.registry import described
from intravar.measurement.columns import COLUMNS, ResultColumn
from intravar.measurement.sentences import SUPPORTS
from intravar.publication.group_words import group_lines
from intravar.publication.outputs import Outputs
from intravar.publication.review_words import review_lines, review_sentence
from intravar.publication.shown_location import location_lines
from intravar.wording import Words

#: Physicians up to whom the table stands among the text; more are an annex.
MOST_IN_TEXT = 30
#: Physicians up to whom the document holds them all; more are in the workbook.
MOST_IN_ANNEX = MOST_SINGLE
#: Columns of the table beside name and interval, as far as they are filled.
TOLD = ("n_patients", "rate", "discordance", "shrunken", "reliability", "rank", "band")
_TITLE = "How consistently do they decide?"


def measurement_document(outputs: Outputs) -> WholeDocument:
    """Return a measurement as a document, in the words of whoever asked for it.

    Parameters
    ----------
    outputs
        What may be handed on; the document holds nothing else.
    """
    summary = outputs.summary
    words = outputs.words
    pictures = pictures_of(outputs)
    n = outputs.physicians.height
    table = _physicians(outputs) if n <= MOST_IN_ANNEX else [_elsewhere(n)]
    annex = MOST_IN_TEXT < n <= MOST_IN_ANNEX
    parts: list[DocumentPart] = [
        *_findings(outputs),
        *drawn_parts(pictures, ("group", "noise"), half=True),
        SectionHeading("What the number does not mean"),
        Bullets(NOT_MEANT),
        SectionHeading("The physicians"),
        *drawn_parts(pictures, ("physicians", "chance")),
        *([Passage("The table of all physicians is the annex.")] if annex else table),
        *_strata(outputs, pictures),
        *_rule(summary, words),
        *drawn_parts(pictures, ("rule",)),
        *drawn_parts(pictures, ("dependence",), half=True),
        SectionHeading("Whether to believe it"),
        *drawn_parts(pictures, ("believe",), half=True),
        *_data(outputs, words),
        *_made(summary),
        *([NewPage(), SectionHeading("Annex: every physician"), *table] if annex else ()),
    ]
    about = (
        f"{summary['n_physicians']:,} physicians, decision {theirs(_decision(outputs, words))}, "
        f"intravar {summary['version']}"
    )
    return WholeDocument(
        words.title or _TITLE, words.said(about), [in_words_of(part, words) for part in parts]
    )


def _decision(outputs: Outputs, words: Words) -> str:
    return words.decision or words.label(str(outputs.checks["decision"]["column"]))


def in_words_of(part: DocumentPart, words: Words) -> DocumentPart:
    """Say a part in the words of whoever asked."""
    if isinstance(part, SectionHeading):
        return SectionHeading(words.said(part.text), part.level)
    if isinstance(part, Passage):
        return Passage(words.said(part.text), part.quiet)
    if isinstance(part, Bullets):
        return Bullets([words.said(item) for item in part.items])
    if isinstance(part, PlainTable):
        heads = [words.said(head) for head in part.heads]
        return PlainTable(words.said(part.caption), heads, part.rows, part.shares, part.words)
    return part


def _findings(outputs: Outputs) -> list[DocumentPart]:
    summary = outputs.summary
    verdict = str(summary["verdict"])
    lines = [
        f"{verdict.capitalize()}: {theirs('; '.join(summary['verdict_reasons']))}.",
        SUPPORTS.get(verdict, ""),
        *(theirs(line) for line in told_of_all(outputs)),
        f"{summary['n_reportable']:,} of {summary['n_physicians']:,} physicians can be reported.",
        theirs(summary["banded"]) if summary["banded"] else "",
        *(
            f"{theirs(leak['column'])} may give the decision away: {theirs(leak['why'])}."
            for leak in summary["leaks"]
        ),
    ]
    return [SectionHeading("What was found"), Bullets([line for line in lines if line])]


def told_of_all(outputs: Outputs) -> list[str]:
    """Say what can be said of all physicians together, in the words of whoever asked."""
    summary = outputs.summary
    n, claim = summary["n_physicians"], summary["claim"]
    review = outputs.decision.review if outputs.decision else None
    reviewed = (
        []
        if review is None
        else [review_sentence(review, outputs.words), *review_lines(review, outputs.words)]
    )
    told = group_lines(
        outputs.decision.group if outputs.decision else None,
        n,
        claim,
        outputs.words,
        summary["compared"],
    )
    location = outputs.decision.location if outputs.decision else None
    return [*reviewed, *told, *location_lines(location, outputs.words)]


def drawn_parts(
    pictures: Mapping[str, Sequence[ShownPicture]], sections: Sequence[str], *, half: bool = False
) -> list[DocumentPart]:
    """Return the pictures of some sections: wide ones, or narrow ones two in a row."""
    found: list[DocumentPart] = []
    for shown in (each for section in sections for each in pictures.get(section, ())):
        svg = shown.svgs[-1 if half else 0]
        name = words_in(svg, "title")
        title = name if name.endswith((".", "?")) else f"{name}."
        found.append(FramedPicture(svg, title, words_in(svg), shown.reading, shown.key, half))
    return found


def _elsewhere(n: int) -> Passage:
    return Passage(
        f"The table of all {n:,} physicians is too long for a document. physicians.csv holds it, "
        "and so does the workbook that intravar report makes with --format xlsx."
    )


def _physicians(outputs: Outputs) -> list[DocumentPart]:
    """Return the table of all physicians, the most consistent first where there is an order."""
    table = outputs.physicians
    filled = {name for name in table.columns if table[name].null_count() < table.height}
    told = [column for column in COLUMNS if column.name in TOLD and column.name in filled]
    told.sort(key=lambda column: TOLD.index(column.name))
    heads = ["physician"]
    for column in told:
        heads += (
            [column.heading, "95 % interval"] if column.name == "discordance" else [column.heading]
        )
    last = ["reason"] if "reason" in filled else []
    rows = [
        [str(row["physician"]), *_cells(row, told), *(row[name] or "" for name in last)]
        for row in table.sort(
            "reportable", "rank", "physician", descending=[True, False, False]
        ).iter_rows(named=True)
    ]
    wide = {"rank": 1.5}
    shares = [
        1.5,
        *(wide.get(head, max(1.0, len(head) / 9)) for head in heads[1:]),
        *[1.7] * len(last),
    ]
    ends = (0, len(heads)) if last else (0,)
    caption = (
        "One row per physician; rank 1 is the most consistent. A dash: not reported, or hidden "
        "because small counts could be worked out from it."
    )
    return [PlainTable(caption, [*heads, *last], rows, shares, ends)]


def _cells(row: Mapping[str, Any], told: Sequence[ResultColumn]) -> list[str]:
    cells = []
    for column in told:
        text = column.text(row[column.name])
        if column.name == "rank" and row["rank"] is not None:
            text = f"{text} ({row['rank_low']}–{row['rank_high']})"
        cells.append(text)
        if column.name == "discordance":
            known = row["low"] is not None
            cells.append(f"{row['low']:.3f}–{row['high']:.3f}" if known else "–")
    return cells


def _strata(outputs: Outputs, pictures: Mapping[str, Sequence[ShownPicture]]) -> list[DocumentPart]:
    """Return subgroups and periods: in words, as a picture and as a table."""
    found: list[DocumentPart] = []
    asked = {
        name: value
        for section in outputs.summary["request"].values()
        for name, value in section.items()
    }
    for part, column, caption in (
        ("by", asked.get("by"), "Subgroups of patients."),
        ("course", asked.get("date"), "Periods."),
    ):
        told = outputs.summary.get(part)
        if not told:
            continue
        found.append(Bullets([theirs(line) for line in told["lines"]]))
        found += drawn_parts(pictures, (f"strata-{part}",))
        if told["strata"]:
            found.append(_strata_table(told["strata"], outputs.words.label(str(column)), caption))
    return [SectionHeading("Which patients, and when"), *found] if found else []


def _strata_table(rows: Sequence[Mapping[str, Any]], column: str, caption: str) -> PlainTable:
    heads = ["decided for", "discordance", "95 % interval", "patients alike", "95 % interval"]
    shares = f"{caption} Discordance as it is, and as if as many were indicated everywhere."
    return PlainTable(
        shares,
        [column, *heads],
        [
            [
                str(row["stratum"]),
                "–" if row["rate"] is None else f"{100 * row['rate']:.0f} %",
                *_with_interval(row, "discordance", ""),
                *_with_interval(row, "alike", "alike_"),
            ]
            for row in rows
        ],
        (2, 1, 1, 1.2, 1.2, 1.2),
    )


def _with_interval(row: Mapping[str, Any], name: str, prefix: str) -> list[str]:
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    if row[name] is None or low is None or high is None:
        return ["–", "–"]
    return [f"{row[name]:.2f}", f"{low:.2f}–{high:.2f}"]


def _rule(summary: Mapping[str, Any], words: Words) -> list[DocumentPart]:
    rule = summary["rule"]
    found: list[DocumentPart] = [SectionHeading("The rule that the data suggest")]
    if rule["auc"] is not None:
        found.append(
            Passage(
                "What the physicians did on the whole, learned from all decisions together (AUC "
                f"{rule['auc']:.2f} in patients held out). It describes; it does not prescribe."
            )
        )
    if rule["tree"]:
        leaves = [
            [leaf["when"], leaf["words"], f"{leaf['about_n_patients']:,}"] for leaf in rule["tree"]
        ]
        heads = ["patients with", "decided for", "patients, about"]
        caption = "A short tree: kinds of patients and the share decided for."
        found.append(PlainTable(caption, heads, leaves, (4, 1, 1)))
    return found


def _data(outputs: Outputs, words: Words) -> list[DocumentPart]:
    checks, summary = outputs.checks, outputs.summary
    lines = [
        f"Missing values: {theirs(checks['missing'])}.",
        *(f"Dropped: {theirs(line)}." for line in checks["dropped"]),
        *(f"Warning: {theirs(line)}" for line in summary["warnings"]),
    ]
    if checks["smallest_cell"] > 1:
        lines.append(
            f"Counts of 1 to {checks['smallest_cell'] - 1} patients or events are hidden, and so "
            "is whatever would give them away. Totals cover only what is shown."
        )
    told = ("kind", "missing", "note")
    rows = [
        [
            words.label(row["column"]),
            words.said(row["use"]),
            *(str(row[name] or "") for name in told),
        ]
        for row in checks["columns"]
    ]
    caption = "Every column of the table and what became of it."
    return [
        SectionHeading("What was done to the data"),
        Bullets(lines),
        PlainTable(caption, ["column", "use", *told], rows, (2, 1.2, 1.2, 1, 3), (0, 1, 2, 4)),
    ]


def _made(summary: Mapping[str, Any]) -> list[DocumentPart]:
    method, limits = described(summary["method"]), summary["request"]["limits"]
    return [
        SectionHeading("How it was made"),
        Passage(f"Method: {method.label} ({method.name}): {method.idea}."),
        Passage(
            f"Source: {theirs(summary['source'])}. Seed {summary['request']['methods']['seed']}; a "
            f"physician needs {limits['min_panel']} patients and a reliability of "
            f"{limits['min_reliability']} to be reported; the smallest count shown is "
            f"{limits['smallest_cell']}. Made by intravar {summary['version']}."
        ),
    ]
