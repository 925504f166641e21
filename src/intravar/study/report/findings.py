"""What a study found, in plain words that follow from its numbers and from nothing else."""

from __future__ import annotations

import polars as pl

from intravar.study.grids import number_text
from intravar.study.results import Study
from intravar.study.units import CONSTANT

#: Mean deltas within this distance of zero count as neither over nor under.
_NEARLY_ZERO = 0.005


def findings(results: Study) -> list[str]:
    """Return one sentence or two per thing found, the most important first."""
    writers = (closeness, order_kept, across, against_constant, against_paper, left_out)
    sentences = [say(results) for say in writers]
    return [sentence for sentence in sentences if sentence]


def closeness(results: Study) -> str | None:
    """Say which method comes closest on SCORE2, and which way the methods err."""
    cells = results.cells("score2_groups", ["mean_delta"], results.methods)
    if cells.is_empty():
        return None
    ranked = cells.sort(pl.col("value").abs(), "method").to_dicts()
    best, worst, n = ranked[0], ranked[-1], len(ranked)
    begin = f"On SCORE2, {best['label']} misses the true discordance by {_signed(best)} on average"
    if n == 1:
        return f"{begin}."
    over = sum(row["value"] > _NEARLY_ZERO for row in ranked)
    under = sum(row["value"] < -_NEARLY_ZERO for row in ranked)
    return (
        f"{begin}, the least of {n} methods; {worst['label']} misses it by {_signed(worst)}, the "
        f"most. Of {n} methods, {over} see more inconsistency than there is, {under} see less, "
        f"{n - over - under} lie within {_NEARLY_ZERO:.3f} of the oracle."
    )


def order_kept(results: Study) -> str | None:
    """Say how well the order of physicians is kept on SCORE2, and on the continuum."""
    parts = []
    for table, column, where in (
        ("score2_groups", "spearman_oracle", "With five groups of physicians"),
        ("continuum", "spearman_d_star", "When physicians lie on a continuum"),
    ):
        cells = results.cells(table, [column], results.methods).sort("value", "method")
        if not cells.is_empty():
            ends = cells.select("value", "label")
            low, high = ("{:.2f} ({})".format(*ends.row(place)) for place in (0, -1))
            parts.append(f"{where}, rank correlations go from {low} to {high}.")
    return "How well is the order of the physicians kept? " + " ".join(parts) if parts else None


def across(results: Study) -> str | None:
    """Say which method errs least across conditions."""
    cells = results.cells("cross_experiment", ["mean_abs_delta"], results.methods)
    number = len(results.main_conditions)
    if cells.height < 2 or number < 2:
        return None
    ranked = cells.sort("value", "method")
    best, worst = ranked.row(0, named=True), ranked.row(-1, named=True)
    return (
        f"Across {number} rules, {best['label']} errs least (mean |delta| {best['value']:.3f}) and "
        f"{worst['label']} most ({worst['value']:.3f})."
    )


def against_constant(results: Study) -> str | None:
    """Say whether methods do better than one guess for all physicians."""
    condition = "score2" if results.has("score2") else results.conditions[0]
    errors = results.cells(
        "condition_errors", ["mean_physician_error"], [*results.rate_methods, CONSTANT]
    ).filter(pl.col("condition") == condition)
    constant = errors.filter(pl.col("method") == CONSTANT)["value"]
    others = errors.filter(pl.col("method") != CONSTANT)
    if constant.is_empty() or others.is_empty():
        return None
    better = others.filter(pl.col("value") < constant[0]).height
    which = "SCORE2" if condition == "score2" else f"the condition “{condition}”"
    return (
        f"Guessing one figure for all physicians of {which} would be off by {constant[0]:.3f} per "
        f"physician; {better} of {others.height} methods do better."
    )


def against_paper(results: Study) -> str | None:
    """Say how many of the paper's figures agree with ours."""
    tables = [
        table
        for name, table in results.tables.items()
        if "inside" in table.columns and name != "glmm_groups"
    ]
    inside = [value for table in tables for value in table["inside"].drop_nulls().to_list()]
    if not inside:
        return None
    several = any(results.draws(name) > 1 for name in results.conditions)
    where = "where 95 % of single draws of ours fall" if several else "in the 95 % interval of ours"
    return (
        f"Of {len(inside)} published figures that can be compared, {sum(inside)} lie {where} and "
        f"{len(inside) - sum(inside)} do not; the tables mark those with an asterisk."
    )


def left_out(results: Study) -> str | None:
    """Say what is undefined and what failed."""
    undefined, failed = results.undefined.height, results.failures.height
    parts = [f"{undefined:,} of {results.scores.height:,} scores are undefined"] * (undefined > 0)
    parts += [f"{failed:,} of {results.runs.height:,} runs failed"] * (failed > 0)
    if not parts:
        return None
    return f"Left out of all means: {' and '.join(parts)}; “Provenance” lists why."


def _signed(cell: dict[str, float | None]) -> str:
    value, low, high = cell["value"], cell["low"], cell["high"]
    assert value is not None  # undefined cells were left out
    text = number_text(value, signed=True)
    if (cell["draws"] or 1) > 1:
        return f"{text} (mean of {cell['draws']} draws)"
    if low is None or high is None:
        return text
    ends = number_text(low, signed=True), number_text(high, signed=True)
    return f"{text} (95\N{NO-BREAK SPACE}% interval {ends[0]} to {ends[1]})"
