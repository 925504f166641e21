"""Which tables a study has, made from its scores alone."""

from __future__ import annotations

import polars as pl

from intravar.estimators import METHODS
from intravar.study.benchmark.published import GROUP_TABLES
from intravar.study.benchmark.score_table import COMPARABLE, OTHER_SCALE
from intravar.study.simulation.conditions import conditions_of
from intravar.study.tables.deltas import (
    condition_table,
    cross_table,
    grid_table,
    group_table,
    mean_deltas,
    pass_table,
    window_table,
)
from intravar.study.tables.recovery import (
    COMPARABLE_MEASURES,
    MEASURES,
    comparable_table,
    continuum_table,
    correlation_table,
    per_draw,
    recovery_table,
    trust_table,
)

TITLES = {
    "score2_groups": "SCORE2: mean discordance by physician group, mean delta, rank correlation",
    "copula_groups": "SCORE2 with non-HDL and LDL correlated: by physician group",
    "lognormal_groups": "SCORE2 with lognormal HbA1c: by physician group",
    "glmm_groups": "GLMM: mean overdispersion by physician group",
    "cross_experiment": "Delta across SCORE2 and the 90 window rules",
    "window_size": "Mean delta by window size",
    "passes": "Mean delta by pass",
    "continuum": "Continuum of physicians: rank correlation with the true discordance",
    "rank_correlations": "SCORE2: rank correlation between methods",
    "copula_correlations": "SCORE2, non-HDL and LDL correlated: rank correlation between methods",
    "lognormal_correlations": "SCORE2 with lognormal HbA1c: rank correlation between methods",
    "recovery_spearman": "Rank correlation with D*, by condition and method",
    "recovery_delta": "Mean delta, by condition and method",
    "recovery_error": "Mean distance to D*, by condition and method",
    "recovery_coverage": "Share of 95 % intervals that hold D*, by condition and method",
    "recovery_comparable_spearman": "Rank correlation with the comparable discordance of the panel",
    "recovery_comparable_excess": "Mean of score minus the comparable discordance of the panel",
    "recovery_comparable_held": "Share of upper ends that hold the comparable discordance",
    "recovery_trust": "What can be trusted: all, the ranks, or no",
    "grid": "Mean delta by cohort size and number of physicians",
    "condition_deltas": "Mean delta of every method on every condition",
    "condition_errors": "Mean |delta| of the physicians, for every method on every condition",
    "seconds": "Seconds per method",
}
#: Tables that figures and findings rest on; too long to print in a terminal.
FIGURE_TABLES = (
    "copula_correlations",
    "lognormal_correlations",
    "condition_deltas",
    "condition_errors",
)

#: Conditions for which recovery of D* is tabulated: the paper's four, and the families after it.
_RECOVERY = (
    *("score2", "copula", "lognormal", "continuous"),
    *conditions_of("stress"),
    *conditions_of("multi"),
)


def correlations_of(condition: str) -> str:
    """Return the name of the table that holds a condition's rank correlations."""
    return "rank_correlations" if condition == "score2" else f"{condition}_correlations"


def build_tables(scores: pl.DataFrame, runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the tables for which the study has results, by name."""
    scores = _in_order(scores)
    rates = frozenset(scores["method"].unique().to_list()) - OTHER_SCALE
    conditions = dict(conditions_of("paper"))
    deltas = mean_deltas(scores, rates)
    present = set(scores["condition"].unique().to_list())
    tables: dict[str, pl.DataFrame] = {}
    for condition in GROUP_TABLES:
        if condition in present:
            tables[f"{condition}_groups"] = group_table(scores, condition, rates)
            tables[correlations_of(condition)] = correlation_table(scores, condition)
    if any(name.startswith("pass") for name in present & conditions.keys()):
        tables["cross_experiment"] = cross_table(deltas, conditions)
        tables["window_size"] = window_table(deltas, conditions)
        tables["passes"] = pass_table(deltas, conditions)
    if "continuous" in present:
        tables["continuum"] = continuum_table(scores)
    chosen = [name for name in _RECOVERY if name in present]
    if chosen:
        tables |= _recovery(scores.filter(pl.col("condition").is_in(chosen)))
    if present & conditions_of("grid").keys():
        tables["grid"] = grid_table(deltas)
    tables["condition_deltas"] = condition_table(deltas, "delta")
    tables["condition_errors"] = condition_table(deltas, "error")
    tables["seconds"] = _seconds(runs)
    glmm = [
        table.filter(pl.col("method").is_in(OTHER_SCALE))
        for name, table in tables.items()
        if name.endswith("_groups")
    ]
    if glmm and pl.concat(glmm).height:
        tables["glmm_groups"] = pl.concat(glmm)
    return {name: tables[name] for name in TITLES if name in tables and tables[name].height}


def _recovery(scores: pl.DataFrame) -> dict[str, pl.DataFrame]:
    found = per_draw(scores)
    tables = {
        f"recovery_{measure}": recovery_table(found, measure, OTHER_SCALE) for measure in MEASURES
    }
    tables |= {
        f"recovery_{measure}": comparable_table(found, measure, COMPARABLE)
        for measure in COMPARABLE_MEASURES
    }
    return tables | {"recovery_trust": trust_table(found, OTHER_SCALE)}


def _in_order(scores: pl.DataFrame) -> pl.DataFrame:
    """Sort rows as tables show them: oracle, methods in the paper's order, others, constant."""
    order = ["oracle", *METHODS]
    known = {name: position for position, name in enumerate(order)}
    position = pl.col("method").replace_strict(known, default=len(order)).cast(pl.Int32)
    last = pl.when(pl.col("method") == "constant").then(len(order) + 1).otherwise(position)
    return scores.sort("condition", "replicate", last, "method", "physician", maintain_order=True)


def _seconds(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the time of each method; a shared forest counts where it was used first."""
    return (
        runs.filter(pl.col("error").is_null() & (pl.col("seconds") > 0))
        .group_by("method")
        .agg(
            pl.len().alias("runs"),
            pl.col("seconds").median().alias("median"),
            pl.col("seconds").max().alias("longest"),
            pl.col("seconds").sum().alias("total"),
            pl.col("memory_mb").max().alias("peak_memory_mb"),
        )
        .sort("median", "method")
    )
