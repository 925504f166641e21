"""The sheet of one physician for several decisions: all together, and each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from markupsafe import Markup

from intravar.documents.caveats import NOT_MEANT
from intravar.documents.sheet.sheet_content import NOT_COMPARED, TITLE, Sheet, among_peers
from intravar.documents.sheet.sheet_pictures import Own, SheetRow
from intravar.documents.sheet.sheet_rows import SheetPart, drawn_rows
from intravar.errors import theirs
from intravar.measurement.verdict import UNRANKED
from intravar.publication.several_outputs import SeveralOutputs


def several_sheet(
    outputs: SeveralOutputs,
    physician: str,
    *,
    called: str | None = None,
    private: str | None = None,
) -> Sheet:
    """Return the sheet of a physician, in the words of whoever asked for the measurement.

    Parameters
    ----------
    outputs
        What may be handed on; but for the name the sheet holds nothing else.
    physician
        As called in what was handed on.
    called
        What to call the physician instead.
    private
        Why the sheet must not be handed on.
    """
    summary, words = outputs.summary, outputs.words
    (row,) = outputs.joint.filter(pl.col("physician") == physician).to_dicts()
    figure, sentence = _headline(row, len(summary["decisions"]))
    picture, line = _strip(row, outputs)
    decisions = ", ".join(words.label(name) for name in summary["decisions"])
    about = f"Decisions: {theirs(decisions)}, {summary['n_physicians']:,} physicians measured"
    return Sheet(
        title=words.title or TITLE,
        about=words.said(about),
        called=called or physician,
        private=private,
        figure=words.said(figure),
        sentence=words.said(sentence),
        bears="",
        strip=picture,
        strip_line=words.said(line),
        facts=[(words.said(name), value) for name, value in _facts(row, summary) if value],
        parts=[_each(outputs, physician)],
        noise=(),
        noise_key=(),
        own_rule=(),
        cases=(),
        not_meant=[words.said(line) for line in NOT_MEANT],
        made=f"intravar {summary['version']}",
    )


def _headline(row: Mapping[str, Any], n_decisions: int) -> tuple[str, str]:
    """Return the joint figure in large letters, and the sentence that goes with it."""
    differ = f"get different decisions in at least one of {n_decisions}"
    if row["differ"] is not None:
        value, low, high = (
            round(100 * row[name]) for name in ("differ", "differ_low", "differ_high")
        )
        return (
            f"at most about {value} of 100",
            f"Among your patients: of 100 pairs of comparable patients, at most about {value} "
            f"{differ}; the 95 % interval goes from {low} to {high}.",
        )
    if row["band"]:
        return (
            theirs(row["band"]),
            f"The probability that two comparable patients {differ} is told as a band, because a "
            "number would give small counts of patients away, or too little is known of you.",
        )
    return "not reported", f"There is no figure for all decisions together: {row['reason']}."


def _strip(row: Mapping[str, Any], outputs: SeveralOutputs) -> tuple[list[Markup], str]:
    """Draw a joint figure among those of the others, or say why it is not drawn."""
    if row["differ"] is None:
        return [], ""
    if set(outputs.summary["verdicts"].values()) & set(UNRANKED):
        return [], NOT_COMPARED
    others = outputs.joint.filter(pl.col("physician") != row["physician"])["differ"]
    own = Own(*(100 * row[name] for name in ("differ", "differ_low", "differ_high")))
    axis = "of 100 pairs of patients, decided differently in at least one decision"
    return among_peers(own, others, axis, outputs.words)


def _facts(row: Mapping[str, Any], summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("the figure of all together", _hundred(summary["differ"])),
        (
            "your figure, as if decisions did not look at each other",
            _hundred(row["differ_apart"]),
        ),
        ("decisions in which two comparable patients differ, expected", _number(row)),
    ]


def _hundred(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} of 100"


def _number(row: Mapping[str, Any]) -> str:
    if row["n_differences"] is None:
        return ""
    low, high = row["n_differences_low"], row["n_differences_high"]
    return f"{row['n_differences']:.2f} [{low:.2f}, {high:.2f}]"


def _each(outputs: SeveralOutputs, physician: str) -> SheetPart:
    """Return every decision of a physician, in the order in which they are taken."""
    mine = {
        row["decision"]: row
        for row in outputs.decisions.filter(pl.col("physician") == physician).to_dicts()
    }
    group = {row["decision"]: row["discordance"] for row in outputs.summary["by_decision"]}
    rows = []
    for name in outputs.summary["decisions"]:
        row, all_together = mine.get(name, {}), group.get(name)
        known = row.get("discordance") is not None and row.get("low") is not None
        rows.append(
            SheetRow(
                outputs.words.label(name),
                Own(*(100 * row[end] for end in ("discordance", "low", "high"))) if known else None,
                None if all_together is None else 100 * all_together,
                row.get("band") or "not shown",
            )
        )
    line = "Each decision by itself; upper limits, as if the others were not known."
    return drawn_rows(rows, "Each of your decisions", line, outputs.words)
