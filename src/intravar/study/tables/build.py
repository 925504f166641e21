"""Which tables a study has, made from its scores alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl

from intravar.estimators import METHODS
from intravar.study.benchmark.units import COMPARABLE, OTHER_SCALE
from intravar.study.simulation.conditions import conditions_of, main_conditions, window_of
from intravar.study.tables.cells import (
    GROUP_TABLES,
    ROUNDING,
    BootstrapInterval,
    Column,
    Statistic,
    cell,
    cells_of,
    cells_table,
    row_mean,
    row_median,
    row_spearman,
    spearman,
)
from intravar.study.tables.grids import TITLES

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


#: Columns of the cross-experiment table: a statistic of the deltas of all conditions, and half a
#: unit of the last printed decimal.
_ACROSS: dict[str, tuple[Statistic, float]] = {
    "mean_delta": (row_mean, ROUNDING),
    "mean_abs_delta": (lambda values: np.abs(values).mean(axis=1), ROUNDING),
    "median_delta": (row_median, ROUNDING),
    "percent_positive": (lambda values: 100 * (values > 0).mean(axis=1), 0.05),
}
_WINDOWS = {"w1": (1, 1), "w2_3": (2, 3), "w4_6": (4, 6), "w7_9": (7, 9)}
#: Half a unit of the last decimal of rank correlations and overdispersions in the paper.
_TWO_DECIMALS = 0.005
#: Measures of recovery, and the columns under which tables show them; the last three are for
#: methods that aim at the comparable discordance of a panel.
_RECOVERED = {
    "spearman": "spearman_d_star",
    "delta": "mean_delta",
    "error": "mean_error",
    "coverage": "coverage",
    "comparable_spearman": "spearman_comparable",
    "comparable_excess": "mean_excess",
    "comparable_held": "upper_end_holds",
}
#: What a method must reach in a condition to be trusted there.
LARGEST_GAP = 0.10
LARGEST_DELTA = 0.02
LEAST_COVERAGE = 0.90
MOST_UNDEFINED = 0.10
#: Slack for a D* that lies on the end of an interval up to rounding.
SLACK = 1e-9


def build_tables(scores: pl.DataFrame, runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the tables for which the study has results, by name."""
    scores = _in_order(scores)
    rates = frozenset(scores["method"]) - OTHER_SCALE
    draws = _by_draw(scores)
    deltas = draws.filter(pl.col("method").is_in(rates - {"oracle"}))
    tables = _recovery(draws.filter(pl.col("condition").is_in(_RECOVERY)))
    for name, table in GROUP_TABLES.items():
        here = scores.filter(pl.col("condition") == name)
        tables[table] = cells_of(table, here, list(_group_columns(here, rates)), name)
        tables[correlations_of(name)] = _correlation_table(here, name)
    glmm = [tables[table] for table in GROUP_TABLES.values()]
    tables["glmm_groups"] = pl.concat(glmm).filter(pl.col("method").is_in(OTHER_SCALE))
    if any(map(window_of, set(scores["condition"]))):
        tables |= _across(deltas)
    ranks = [Column(f"spearman_{of}", ("score", of), row_spearman) for of in ("d_star", "oracle")]
    here = scores.filter(pl.col("condition") == "continuous")
    tables["continuum"] = cells_of("continuum", here, ranks, "continuous")
    sizes = [deltas.filter(pl.col("condition") == name) for name in conditions_of("grid")]
    for table, rows, column in (
        ("grid", pl.concat(sizes), Column("mean_delta", "delta", pooled=True)),
        ("condition_deltas", deltas, Column("mean_delta", "delta")),
        ("condition_errors", deltas, Column("mean_physician_error", "abs_delta")),
    ):
        tables[table] = cells_of(table, rows, [column])
    tables["seconds"] = _seconds(runs)
    return {name: tables[name] for name in TITLES if name in tables and tables[name].height}


def _in_order(scores: pl.DataFrame) -> pl.DataFrame:
    """Sort rows as tables show them: oracle, methods in the paper's order, others, constant."""
    order = ["oracle", *METHODS]
    known = {name: at for at, name in enumerate(order)} | {"constant": len(order) + 1}
    place = pl.col("method").replace_strict(known, default=len(order), return_dtype=pl.Int32)
    return scores.sort("condition", "replicate", place, "method", "physician", maintain_order=True)


def _by_draw(scores: pl.DataFrame) -> pl.DataFrame:
    """Return how every method does in every draw of a condition.

    `delta` (mean of score minus the oracle's estimate), `abs_delta`, `spearman` with D*, `error`
    (mean distance to D*), `coverage` (share of intervals that hold D*), `n_undefined` and
    `undefined`, their share; against the comparable discordance of the panel:
    `comparable_spearman`, `comparable_excess` (mean of score minus it) and `comparable_held` (share
    of upper ends not below it).
    """

    def ranks(of: str) -> pl.Expr:
        return pl.map_groups(
            ["score", of],
            lambda pair: spearman(pair[0].to_numpy(), pair[1].to_numpy()),
            return_dtype=pl.Float64,
            returns_scalar=True,
        )

    score, delta, comparable = pl.col("score"), pl.col("delta"), pl.col("comparable")
    held = pl.col("d_star").is_between(pl.col("low") - SLACK, pl.col("high") + SLACK)
    above = (pl.col("high") + SLACK >= comparable).fill_null(False)
    return scores.group_by("condition", "replicate", "method", maintain_order=True).agg(
        delta.mean(),
        delta.abs().mean().alias("abs_delta"),
        ranks("d_star").alias("spearman"),
        (score - pl.col("d_star")).abs().mean().alias("error"),
        held.mean().alias("coverage"),
        score.is_null().sum().alias("n_undefined"),
        score.is_null().mean().alias("undefined"),
        ranks("comparable").alias("comparable_spearman"),
        (score - comparable).mean().alias("comparable_excess"),
        above.filter((score - comparable).is_not_null()).mean().alias("comparable_held"),
    )


# --- how far scores lie from the oracle's ---


def _group_columns(here: pl.DataFrame, rates: frozenset[str]) -> Iterator[Column]:
    """Mean score per physician group, mean delta and rank correlation; ranks have no delta."""
    methods = frozenset(here["method"].unique().to_list())
    for number in range(1, 6):
        for chosen, rounding in ((rates, ROUNDING), (methods - rates, _TWO_DECIMALS)):
            own = pl.col("group") == number
            yield Column(f"group{number}", "score", rounding=rounding, rows=own, methods=chosen)
    yield Column("mean_delta", "delta", methods=rates - {"oracle"})
    others = methods - {"oracle"}
    pairs = ("score", "oracle")
    yield Column("spearman_oracle", pairs, row_spearman, _TWO_DECIMALS, methods=others)


def _across(deltas: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return deltas across SCORE2 and the window rules: all, by window size, and by pass.

    The paper's caption says 90 experiments; its shares (93.4 % = 85/91, 54.9 % = 50/91) say 91.
    """

    def only(names: list[str]) -> pl.Expr:
        return pl.col("condition").is_in(names)

    main = deltas.filter(only(main_conditions()))
    whole = [Column(name, "delta", *how) for name, how in _ACROSS.items()]
    covered = main.filter(pl.col("coverage").is_not_null().any().over("method"))["method"].unique()
    whole.append(Column("coverage", "coverage", methods=covered.to_list()))
    windows = {name: window for name in main_conditions() if (window := window_of(name))}
    sizes = {"score2": ["score2"]} | {
        name: [n for n, (_, width, _) in windows.items() if low <= width <= high]
        for name, (low, high) in _WINDOWS.items()
    }
    passes = {f"pass{k}": [n for n, window in windows.items() if window[0] == k] for k in (1, 2)}
    tables = {"cross_experiment": cells_of("cross_experiment", main, whole, "main")}
    for table, parts in (("window_size", sizes), ("passes", passes)):
        columns = [Column(name, "delta", rows=only(names)) for name, names in parts.items()]
        tables[table] = cells_of(table, deltas, columns, table)
    return tables


def _correlation_table(here: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the rank correlation of every pair of methods, the oracle among them."""
    here = here.filter(pl.col("method") != "constant")  # a constant has no order to compare
    methods = here["method"].unique(maintain_order=True).to_list()
    wide = here.pivot("method", index=["replicate", "physician"], values="score")
    draws = wide.partition_by("replicate", maintain_order=True)
    cells = []
    for first, second in product(methods, repeat=2):
        pairs = [(draw[first].to_numpy(), draw[second].to_numpy()) for draw in draws]
        values = [BootstrapInterval(spearman(*pair)) for pair in pairs]
        cells.append(cell(condition, first, second, values))
    return cells_table(cells)


# --- how well methods recover the physicians' true discordance: order, level, intervals ---


def _recovery(draws: pl.DataFrame) -> dict[str, pl.DataFrame]:
    tables = {"recovery_trust": _trust_table(draws)}
    rates = draws.filter(~pl.col("method").is_in(OTHER_SCALE))
    aimed = draws.filter(pl.col("method").is_in(COMPARABLE)).drop_nulls("comparable_excess")
    for measure, column in _RECOVERED.items():
        # Methods on another scale than a discordance have ranks only.
        rows = draws if measure == "spearman" else rates
        rows = aimed if measure.startswith("comparable") else rows
        table = f"recovery_{measure}"
        tables[table] = cells_of(table, rows, [Column(column, measure)])
    return tables


def _trust_table(draws: pl.DataFrame) -> pl.DataFrame:
    """Say for every condition and method what can be trusted: all, the ranks, or nothing.

    "all": the rank correlation with D* is at most 0.10 below the oracle's, the mean delta at most
    0.02 from zero, and at least 90 % of the intervals hold D*. "ranks": the first alone. A method
    that leaves more than a tenth of the physicians undefined is not trusted.
    """
    means = draws.group_by("condition", "method", maintain_order=True).agg(
        pl.col("spearman").fill_nan(None).mean(),
        pl.col("delta", "coverage", "undefined").mean(),
    )
    spearman, other_scale = pl.col("spearman"), pl.col("method").is_in(OTHER_SCALE)
    best = spearman.filter(pl.col("method") == "oracle").first().over("condition")
    ranks = (pl.col("undefined") <= MOST_UNDEFINED) & (best - spearman <= LARGEST_GAP)
    level = pl.col("delta").abs() <= LARGEST_DELTA
    covers = pl.col("coverage") >= LEAST_COVERAGE
    trusted = pl.when(ranks).then(pl.lit("ranks")).otherwise(pl.lit("no"))
    everything = ranks & level & covers & ~other_scale
    trusted = pl.when(everything).then(pl.lit("all")).otherwise(trusted)
    trust = means.with_columns(trusted.alias("trusted"))
    table = trust.pivot("method", index="condition", values="trusted")
    return table.drop("oracle", "constant", strict=False)


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
