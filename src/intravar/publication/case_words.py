"""The cases behind a physician's score, put side by side and in words. Patient-level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from intravar.wording import Words

NO_CASES = "No such decision: none goes against what comparable cases got."
NOBODY_ALIKE = "Nobody alike was decided the other way."


@dataclass(frozen=True)
class CaseShown:
    """A patient beside those alike who were decided the other way.

    Attributes
    ----------
    heading
        Which case it is, and why it is shown.
    heads
        Names of the columns: the covariate, the patient, the others.
    rows
        Covariates in which somebody differs.
    same
        Covariates in which nobody does, with their values.
    alone
        Whether nobody alike was decided the other way.
    """

    heading: str
    heads: list[str]
    rows: list[list[str]]
    same: list[str]
    alone: bool


def cases_shown(table: pl.DataFrame, decision: str, words: Words, most: int) -> list[CaseShown]:
    """Put the cases of :func:`intravar.explain` side by side.

    Parameters
    ----------
    table
        What `explain` returned.
    decision, words
        Column of the decision, and what things are called.
    most
        Others to set beside a patient.
    """
    found = []
    for _, rows in table.group_by("case", maintain_order=True):
        pairs = [pair.to_dicts() for _, pair in rows.group_by("pair", maintain_order=True)]
        found.append(_case(pairs[:most], words.decision or decision, words))
    return found


def _case(pairs: list[list[dict[str, Any]]], decision: str, words: Words) -> CaseShown:
    first = pairs[0][0]
    own, other = ("for", "against") if first["row"] == first["row_for"] else ("against", "for")
    alone = first[f"row_{other}"] is None
    said = {"for": "yes", "against": "no"}
    heads = ["", f"row {first['row']:,}: {said[own]}"]
    heads += [f"row {pair[0][f'row_{other}']:,}: {said[other]}" for pair in pairs if not alone]
    same, shown = [], []
    for lines in zip(*pairs, strict=True):
        label, value = words.label(lines[0]["covariate"]), lines[0][f"decided_{own}"]
        if all(line["difference"] == "same" for line in lines):
            same.append(f"{label} {value}")
        else:
            beside = [_beside(line, other) for line in lines if not alone]
            shown.append([label, str(value), *beside])
    heading = _heading(first, decision, words, yes=own == "for")
    return CaseShown(heading, heads, shown, same, alone)


def _heading(case: dict[str, Any], decision: str, words: Words, *, yes: bool) -> str:
    said = f"{decision}: {'yes' if yes else 'no'}"
    if case["kind"] == "pair":
        return f"pair {case['case']}: two {words.cases} alike, distance {case['distance']:.3g}"
    if case["kind"] == "surprise":
        likely = round(100 * (1 - case["predicted"] if yes else case["predicted"]))
        otherwise = "no" if yes else "yes"
        return (
            f"{case['case']}. Data row {case['row']:,}, {said}; predicted was {otherwise}, with "
            f"{likely} of 100."
        )
    rule = "surely not eligible" if yes else "surely eligible"
    return f"{case['case']}. Data row {case['row']:,}, {said}, though {rule} by the rule."


def _beside(line: dict[str, Any], side: str) -> str:
    """Return the value of the other patient, and by how much it lies above the first one's."""
    value, apart = str(line[f"decided_{side}"]), line["difference"]
    if apart[0] not in "+-":
        return value
    if side == "against":
        apart = ("-" if apart[0] == "+" else "+") + apart[1:]
    return f"{value} ({apart})"
