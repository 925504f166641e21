"""Several decisions as a workbook: together, each of them, which go together, and the request."""

from __future__ import annotations

import io

import polars as pl

from intravar.documents.caveats import NOT_MEANT
from intravar.documents.files.workbook import Heads, new_workbook, request_rows, write_lines
from intravar.publication.several_outputs import SeveralOutputs, joint_lines
from intravar.wording import Words

#: By column what stands over it and what it means.
MEANINGS = {
    "physician": ("physician", "who decided; a pseudonym in what is handed on"),
    "decision": ("decision", "a column of the table"),
    "differ": ("differ", "two comparable patients differ in at least one decision; upper limit"),
    "differ_low": ("differ low (95 %)", "of differ"),
    "differ_high": ("differ high (95 %)", "of differ"),
    "differ_apart": ("apart", "differ as if decisions did not look at each other"),
    "n_differences": ("differences", "expected number of decisions in which they differ"),
    "n_differences_low": ("differences low (95 %)", "of the expected number"),
    "n_differences_high": ("differences high (95 %)", "of the expected number"),
    "band": ("band", "where it lies, in place of a number that small counts stand behind"),
    "reportable": ("reportable", "whether there is a number"),
    "reason": ("reason", "why there is none"),
    "n_patients": ("patients", "of whom the decision is known"),
    "discordance": ("discordance", "of the decision by itself; upper limit"),
    "low": ("low (95 %)", "of the figure to the left"),
    "high": ("high (95 %)", "of the figure to the left"),
    "across": ("across", "discordance by an estimate that knows the other decisions"),
    "given": ("given", "among patients also alike in the decisions before it; upper limit"),
    "first": ("first", "one decision"),
    "second": ("second", "the other decision"),
    "together": ("together", "share of patients who got both"),
    "expected": ("expected", "the share that covariates explain"),
    "correlation": ("correlation", "of what covariates leave unexplained"),
    "steadiness": ("steadiness", "correlation over physicians of going with colleagues"),
}


def several_workbook(outputs: SeveralOutputs) -> bytes:
    """Return several decisions as the content of an xlsx file.

    Parameters
    ----------
    outputs
        What may be handed on; the workbook holds nothing else.
    """
    summary, words = outputs.summary, outputs.words
    buffer = io.BytesIO()
    writer = new_workbook(buffer, words)
    write_lines(
        writer,
        "Summary",
        [
            *(("all decisions together", line) for line in joint_lines(summary, words)),
            *((f"verdict: {name}", told) for name, told in summary["verdicts"].items()),
            (words.said("physicians"), summary["n_physicians"]),
            (words.said("physicians with numbers"), summary["n_reportable"]),
            (words.said("physicians with a band"), summary["n_banded"]),
            *(("not meant", words.said(line)) for line in NOT_MEANT),
            ("made by", f"intravar {summary['version']}"),
        ],
    )
    pairs = pl.DataFrame(summary["pairs"], infer_schema_length=None)
    for title, table in (
        ("Together", outputs.joint),
        ("Decisions", outputs.decisions),
        ("Which go together", pairs),
        ("Pairs", outputs.pairs),
    ):
        writer.table(title, table, _heads(table, words))
    told = [(words.said(head), name, words.said(text)) for name, (head, text) in MEANINGS.items()]
    notes = pl.DataFrame(told, schema=["column", "in the files", "what it means"], orient="row")
    writer.table("Notes", notes, {})
    writer.table("Request", *request_rows(summary))
    writer.book.close()
    return buffer.getvalue()


def _heads(table: pl.DataFrame, words: Words) -> Heads:
    return {
        name: (words.said(MEANINGS[name][0]), words.said(MEANINGS[name][1]), 3)
        for name in table.columns
        if name in MEANINGS
    }
