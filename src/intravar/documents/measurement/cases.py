"""Single cases behind a figure, side by side, for whoever may see them. Patient-level."""

from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from intravar.documents.blocks import Block, Heading, Paragraph
from intravar.publication import explain
from intravar.publication.results import Published
from intravar.tables import table_of
from intravar.wording import Words

NO_CASES = "No such decision: none goes against what comparable cases got."
NOBODY_ALIKE = "Nobody alike was decided the other way."
_SAID = {"for": "yes", "against": "no"}


def case_blocks(
    table: pl.DataFrame, decision: str, words: Words, *, beside: int = 1, name: str = "Case"
) -> list[Block]:
    """Return cases of :func:`intravar.explain`, each beside so many that were decided otherwise.

    A table holds what somebody differs in; a sentence tells what is the same. `name` is that of the
    tables.
    """
    parts: list[Block] = []
    for _, rows_of_case in table.group_by("case", maintain_order=True):
        groups = rows_of_case.group_by("pair", maintain_order=True)
        pairs = [pair.to_dicts() for _, pair in groups][:beside]
        first = pairs[0][0]
        yes = first["row"] == first["row_for"]
        own, other = ("for", "against") if yes else ("against", "for")
        alone = first[f"row_{other}"] is None
        heads = ["what differs", f"row {first['row']:,}: {_SAID[own]}"]
        heads += [f"row {pair[0][f'row_{other}']:,}: {_SAID[other]}" for pair in pairs if not alone]
        same, rows = [], []
        for lines in zip(*pairs, strict=True):
            label, value = words.label(lines[0]["covariate"]), lines[0][f"decided_{own}"]
            if all(line["difference"] == "same" for line in lines):
                same.append(f"{label} {value}")
            else:
                others = [] if alone else [_beside(line, other) for line in lines]
                rows.append([label, str(value), *others])
        columns = [(head, 1, itemgetter(at)) for at, head in enumerate(heads)]
        heading = _case_heading(first, words.decision or decision, words, yes=yes)
        title, every = f"{name} {first['case']}", range(len(columns))
        parts.append(table_of(title, heading, rows, columns, words=every))
        remarks = [NOBODY_ALIKE] * alone + [f"The same: {', '.join(same)}."] * bool(same)
        parts += [Paragraph(" ".join(remarks), quiet=True)] if remarks else []
    return parts


def _beside(line: Mapping[str, Any], other: str) -> str:
    """Write the value of one decided otherwise, and by how much it differs."""
    sign, far = line["difference"][0], line["difference"][1:]
    if other == "against":  # the difference is that of "for" from "against"
        sign = {"+": "-", "-": "+"}.get(sign, sign)
    return f"{line[f'decided_{other}']}{f' ({sign}{far})' if sign in '+-' else ''}"


def _case_heading(first: Mapping[str, Any], decision: str, words: Words, *, yes: bool) -> str:
    own, other = ("yes", "no") if yes else ("no", "yes")
    if first["kind"] == "pair":
        return f"pair {first['case']}: two {words.cases} alike, distance {first['distance']:.3g}"
    row = f"{first['case']}. Data row {first['row']:,}, {decision}: {own}"
    if first["kind"] == "surprise":
        likely = round(100 * (1 - first["predicted"] if yes else first["predicted"]))
        return f"{row}; predicted was {other}, with {likely} of 100."
    return f"{row}, though surely {'not ' * yes}eligible by the rule."


def cases_of_each(
    folder: Path, physician: str, published: Published, *, most: int = 5, beside: int = 1
) -> list[Block]:
    """Return the cases behind a decider in every decision; nothing where there are none."""
    parts: list[Block] = []
    for each in published.decisions:
        if physician in {row.physician for row in each.physicians}:
            label = published.words.label(each.decision)
            table = explain.explain(folder, physician, most=most, decision=each.decision)
            name = "Case" if published.joint is None else f"{label} case"
            own = case_blocks(table, label, published.words, beside=beside, name=name)
            parts += [Heading(label, 2)] if own and published.joint is not None else []
            parts += own
    return parts
