"""Which tables a study has, made from its scores alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from intravar.estimators import METHODS
from intravar.study.benchmark.published import (
    GROUP_TABLES,
    Printed,
    printed_cell,
    printed_grid,
    printed_spearman,
)
from intravar.study.benchmark.units import COMPARABLE, OTHER_SCALE
from intravar.study.simulation.conditions import conditions_of
from intravar.study.tables.cells import (
    ROUNDING,
    BootstrapInterval,
    Column,
    Statistic,
    cell,
    cells_of,
    cells_table,
    column_cell,
    column_of,
    row_mean,
    row_median,
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
_DELTA = Column("mean_delta", "delta")
_WINDOWS = {"w1": (1, 1), "w2_3": (2, 3), "w4_6": (4, 6), "w7_9": (7, 9)}
#: Measures of `_recovered`, and the columns under which tables show them.
_RECOVERED = {
    "spearman": "spearman_d_star",
    "delta": "mean_delta",
    "error": "mean_error",
    "coverage": "coverage",
}
#: The same for methods that aim at the comparable discordance of a panel.
_COMPARABLE = {
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
    rates = frozenset(scores["method"].unique().to_list()) - OTHER_SCALE
    deltas = _mean_deltas(scores, rates)
    present = set(scores["condition"].unique().to_list())
    tables: dict[str, pl.DataFrame] = {}
    for name in present & GROUP_TABLES.keys():
        here = scores.filter(pl.col("condition") == name)
        tables[f"{name}_groups"] = cells_of(here, list(_group_columns(name, rates)), name)
        tables[correlations_of(name)] = _correlation_table(here, name)
    if any(name.startswith("pass") for name in present & conditions_of("paper").keys()):
        tables |= _across(deltas)
    ranks = [
        Column(
            "spearman_d_star", "d_star", lambda m: printed_spearman("continuous", m), ranks=True
        ),
        Column("spearman_oracle", "oracle", ranks=True),
    ]
    here = scores.filter(pl.col("condition") == "continuous")
    tables["continuum"] = cells_of(here, ranks, "continuous")
    chosen = scores.filter(pl.col("condition").is_in(_RECOVERY))
    if not chosen.is_empty():
        tables |= _recovery(chosen)
    tables["grid"] = _grid_table(deltas)
    tables["condition_deltas"] = cells_of(deltas, [_DELTA])
    tables["condition_errors"] = cells_of(deltas, [Column("mean_physician_error", "error")])
    tables["seconds"] = _seconds(runs)
    glmm = [
        tables[f"{name}_groups"].filter(pl.col("method").is_in(OTHER_SCALE))
        for name in GROUP_TABLES
        if name in present
    ]
    if glmm:
        tables["glmm_groups"] = pl.concat(glmm)
    return {name: tables[name] for name in TITLES if name in tables and tables[name].height}


# --- how far scores lie from the oracle's ---


def _group_columns(condition: str, rates: frozenset[str]) -> Iterator[Column]:
    """Mean score per physician group, mean delta and rank correlation; ranks have no delta."""
    paper = GROUP_TABLES[condition]
    for number in range(1, 6):
        name, own = f"group{number}", pl.col("group") == number
        column = partial(Column, name, "score", _printed(paper, name), rows=own)
        yield column(methods=lambda method: method in rates)
        yield column(methods=lambda method: method not in rates, rounding=0.005)
    yield Column(
        "mean_delta",
        "delta",
        _printed(paper, "mean_delta"),
        methods=lambda method: method in rates and method != "oracle",
    )
    yield Column(
        "spearman_oracle",
        "oracle",
        lambda method: printed_spearman(condition, method),
        rounding=0.005,
        methods=lambda method: method != "oracle",
        ranks=True,
    )


def _printed(table: str, column: str) -> Callable[[str], Printed | None]:
    return lambda method: printed_cell(table, method, column)


def _mean_deltas(scores: pl.DataFrame, rates: frozenset[str]) -> pl.DataFrame:
    """Return the mean delta per condition, replicate and method that estimates a rate.

    Beside it `error`, the mean of |delta|, and `coverage`, the share of the physicians' intervals
    that hold D*.
    """
    held = pl.col("d_star").is_between(pl.col("low") - SLACK, pl.col("high") + SLACK)
    return (
        scores.filter(pl.col("method").is_in(rates) & (pl.col("method") != "oracle"))
        .group_by("condition", "replicate", "method", maintain_order=True)
        .agg(
            pl.col("delta").mean(),
            pl.col("delta").abs().mean().alias("error"),
            pl.col("delta").is_null().sum().alias("n_undefined"),
            held.mean().alias("coverage"),
        )
    )


def _across(deltas: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return deltas across SCORE2 and the window rules: all, by window size, and by pass.

    The paper's caption says 90 experiments; its shares (93.4 % = 85/91, 54.9 % = 50/91) say 91.
    """

    def only(names: list[str]) -> pl.Expr:
        return pl.col("condition").is_in(names)

    known = conditions_of("paper")
    main = deltas.filter(only([n for n, c in known.items() if c.family in ("score2", "window")]))
    whole = [
        Column(name, "delta", _printed("cross_experiment", name), *how)
        for name, how in _ACROSS.items()
    ]
    covered = main.filter(pl.col("coverage").is_not_null().any().over("method"))["method"].unique()
    whole.append(Column("coverage", "coverage", methods=lambda method: method in covered))
    windows = {"score2": ["score2"]} | {
        name: [n for n, c in known.items() if c.width and low <= c.width <= high]
        for name, (low, high) in _WINDOWS.items()
    }
    passes = {f"pass{k}": [n for n, c in known.items() if c.pass_number == k] for k in (1, 2)}
    tables = {"cross_experiment": cells_of(main, whole, "main")}
    for table, parts in (("window_size", windows), ("passes", passes)):
        columns = [
            Column(name, "delta", _printed(table, name), rows=only(names))
            for name, names in parts.items()
        ]
        tables[table] = cells_of(deltas, columns, table)
    return tables


def _grid_table(deltas: pl.DataFrame) -> pl.DataFrame:
    """Return the mean delta per size of cohort and method; replicates are resampled.

    The condition of a cell is `grid-n5000-j20` for 5,000 patients and 20 physicians. The paper
    prints the two extremes alone.
    """
    extremes = {}
    for name in ("most_negative", "most_positive"):
        printed = printed_grid()[name]
        condition = f"grid-n{printed['patients']}-j{printed['physicians']}"
        extremes[condition, printed["method"].replace("_", "-")] = Printed(printed["value"])
    cells = []
    for condition in conditions_of("grid"):
        here = deltas.filter(pl.col("condition") == condition)
        for (method,), rows in here.group_by("method", maintain_order=True):
            whole = rows.sort("replicate").with_columns(pl.lit(0).alias("replicate"))
            printed = extremes.get((condition, str(method)))
            made = column_cell(condition, str(method), _DELTA, whole, printed)
            cells.append(made | {"draws": rows["delta"].fill_nan(None).count()})
    return cells_table(cells)


def _correlation_table(here: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the rank correlation of every pair of methods, the oracle among them."""
    here = here.filter(pl.col("method") != "constant")  # a constant has no order to compare
    methods = here["method"].unique(maintain_order=True).to_list()
    tables = [
        draw.pivot("method", index="physician", values="score", aggregate_function="first")
        for _, draw in here.group_by("replicate", maintain_order=True)
    ]
    draws = [{name: column_of(table, name) for name in table.columns[1:]} for table in tables]
    cells = []
    for first, second in product(methods, repeat=2):
        values = [
            BootstrapInterval(spearman(draw[first], draw[second]), np.nan, np.nan)
            for draw in draws
            if {first, second} <= draw.keys()
        ]
        if values:
            cells.append(cell(condition, first, second, values))
    return cells_table(cells)


# --- how well methods recover the physicians' true discordance: order, level, intervals ---


def _recovery(scores: pl.DataFrame) -> dict[str, pl.DataFrame]:
    found = pl.DataFrame(
        [
            {"condition": key[0], "replicate": key[1], "method": key[2], **_recovered(draw)}
            for key, draw in scores.group_by(
                "condition", "replicate", "method", maintain_order=True
            )
        ],
        infer_schema_length=None,
    )
    rates = found.filter(~pl.col("method").is_in(OTHER_SCALE))
    aimed = found.filter(pl.col("method").is_in(COMPARABLE))
    tables = {}
    for measure, column in {**_RECOVERED, **_COMPARABLE}.items():
        # Methods on another scale than a discordance have ranks only.
        rows = found if measure == "spearman" else rates
        rows = aimed.drop_nulls(measure) if measure in _COMPARABLE else rows
        tables[f"recovery_{measure}"] = cells_of(rows, [Column(column, measure)])
    return tables | {"recovery_trust": _trust_table(found)}


def _recovered(draw: pl.DataFrame) -> dict[str, Any]:
    """Return how one method recovers D* in one draw.

    `spearman` with D*, `delta` (mean of score minus the oracle's estimate), `error` (mean distance
    to D*), `coverage` (share of intervals that hold D*), `n_undefined`; against the comparable
    discordance of the panel: `comparable_spearman`, `comparable_excess` (mean of score minus it)
    and `comparable_held` (share of upper ends not below it).
    """
    score, high = column_of(draw, "score"), column_of(draw, "high")
    d_star, comparable = draw["d_star"].to_numpy(), column_of(draw, "comparable")
    held = (draw["low"] - SLACK <= draw["d_star"]) & (draw["d_star"] <= draw["high"] + SLACK)
    known = np.isfinite(score) & np.isfinite(comparable)
    against: dict[str, float | None] = dict.fromkeys(_COMPARABLE)
    if known.any():
        against = {
            "comparable_spearman": spearman(score, comparable),
            "comparable_excess": float((score - comparable)[known].mean()),
            "comparable_held": float((high + SLACK >= comparable)[known].mean()),
        }
    return {
        "spearman": spearman(score, d_star),
        "delta": draw["delta"].mean(),
        "error": float(np.nanmean(np.abs(score - d_star))),
        "coverage": held.mean(),
        "n_undefined": int(np.isnan(score).sum()),
        "undefined": float(np.isnan(score).mean()),
        **against,
    }


def _trust_table(found: pl.DataFrame) -> pl.DataFrame:
    """Say for every condition and method what can be trusted: all, the ranks, or nothing.

    "all": the rank correlation with D* is at most 0.10 below the oracle's, the mean delta at most
    0.02 from zero, and at least 90 % of the intervals hold D*. "ranks": the first alone. A method
    that leaves more than a tenth of the physicians undefined is not trusted.
    """
    means = found.group_by("condition", "method", maintain_order=True).agg(
        pl.col("spearman").fill_nan(None).mean(),
        pl.col("delta", "coverage", "undefined").mean(),
    )
    rows: dict[str, dict[str, Any]] = {}
    best = dict(means.filter(pl.col("method") == "oracle").select("condition", "spearman").rows())
    for each in means.iter_rows(named=True):
        row = rows.setdefault(each["condition"], {"condition": each["condition"]})
        if each["method"] not in ("oracle", "constant"):
            row[each["method"]] = _verdict(each, best[each["condition"]])
    return pl.DataFrame(list(rows.values()))


def _verdict(values: dict[str, Any], best: float) -> str:
    if values["spearman"] is None or values["undefined"] > MOST_UNDEFINED:
        return "no"
    if best - values["spearman"] > LARGEST_GAP:
        return "no"
    level = values["delta"] is not None and abs(values["delta"]) <= LARGEST_DELTA
    covers = values["coverage"] is not None and values["coverage"] >= LEAST_COVERAGE
    return "all" if level and covers and values["method"] not in OTHER_SCALE else "ranks"


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
