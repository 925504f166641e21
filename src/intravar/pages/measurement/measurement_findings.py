"""What a measurement found, in plain words that follow from what is published."""

from __future__ import annotations

import polars as pl

from intravar.publication.group_words import group_lines
from intravar.publication.outputs import Outputs


def findings(outputs: Outputs) -> list[str]:
    """Say in plain words what was found; every number comes from the results."""
    table = outputs.physicians
    reportable = table.filter(pl.col("reportable"))
    n, total = reportable.height, table.height
    summary = outputs.summary
    words = outputs.words
    told = [
        f"{summary['verdict'].capitalize()}: {'; '.join(summary['verdict_reasons'])}.",
        *group_lines(summary["group"], total, summary["claim"], words, summary["compared"]),
    ]
    if not n:
        return [*told, f"None of {words.counted(total)} can be reported one by one."]
    others = "" if n == total else "; for the others the table gives the reason"
    middle = float(outputs.summary["median_discordance"])
    lines = [
        *told,
        f"{n:,} of {words.counted(total)} can be reported{others}.",
        f"For the {words.decider} in the middle, of 100 {summary['compared']}, "
        f"{summary['claim']} {100 * middle:.0f} get different decisions.",
    ]
    ranked = reportable["rank"].null_count() < n
    if n >= 2 and ranked:
        lines += _differences(reportable, middle)
    if not ranked:
        alone = f"The single values are not for comparing {words.deciders} with each other."
        return [*lines, alone]
    important = [words.label(row["covariate"]) for row in outputs.summary["rule"]["importance"][:3]]
    if important:
        lines.append(f"Decisions depend most on {', '.join(important)}.")
    return lines


def _differences(reportable: pl.DataFrame, middle: float) -> list[str]:
    n, discordance = reportable.height, reportable["discordance"]
    low, high = float(discordance.min()), float(discordance.max())  # type: ignore[arg-type]
    outside = reportable.filter((pl.col("low") > middle) | (pl.col("high") < middle)).height
    return [
        f"From the most to the least consistent: {100 * low:.0f} to {100 * high:.0f} of 100.",
        f"For {outside:,} of {n:,}, the 95 % interval leaves out the one in the middle; by "
        f"chance alone {'fewer than 1' if n < 20 else f'about {0.05 * n:.0f}'} would.",
    ]
