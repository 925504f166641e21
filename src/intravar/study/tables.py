"""The tables of a study, made from its scores alone, each beside the paper's.

All are made of cells: our figure, how sure it is, and the paper's. Intervals are the paper's:
percentile bootstrap, 2,000 resamples, seed 42.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import rankdata
from scipy.stats import t as student

from intravar.arrays import FloatArray
from intravar.estimators import METHODS
from intravar.study.simulation.conditions import conditions_of, main_conditions, window_of
from intravar.study.units import COMPARABLE, OTHER_SCALE
from intravar.wording import declared_in

#: From resampled values, one resample per row, to one statistic per row.
Statistic = Callable[[FloatArray], FloatArray]

RESAMPLES = 2_000
SEED = 42
#: One row per cell. `value` is the mean over draws; `first` is the figure of the first draw, which
#: figures show, and `low` and `high` are its bootstrap interval; `mcse` is the Monte-Carlo standard
#: error of `value`; `draw_low` and `draw_high` hold 95 % of single draws, which is what the paper's
#: figures are; `inside` says whether the paper's figure lies there (with one draw: in the
#: bootstrap interval).
CELL_SCHEMA = {
    **dict.fromkeys(("condition", "method", "column"), pl.String),
    **dict.fromkeys(("value", "first", "low", "high", "mcse"), pl.Float64),
    "draws": pl.Int32,
    **dict.fromkeys(("draw_low", "draw_high"), pl.Float64),
    **dict.fromkeys(("published", "published_low", "published_high", "difference"), pl.Float64),
    "inside": pl.Boolean,
    "n_undefined": pl.Int32,
}
#: Half a unit of the last decimal that the paper prints.
ROUNDING = 0.0005
#: The words of tables, and what the paper prints.
_WORDS, _PUBLISHED = (declared_in(__package__, name) for name in ("words", "published"))
#: Titles of tables, in the order in which they are shown, and headings of columns.
TITLES: dict[str, str] = _WORDS["titles"]
HEADINGS: dict[str, str] = _WORDS["headings"]
#: Table that holds a condition's figures by physician group.
GROUP_TABLES = {name: f"{name}_groups" for name in ("score2", "copula", "lognormal")}


class BootstrapInterval(NamedTuple):
    """A figure with its 95 % interval; NaN where there was nothing to estimate from."""

    value: float
    low: float = np.nan
    high: float = np.nan


#: What the paper prints, by table, method and column.
_PRINTED = {
    (table, method, column): BootstrapInterval(*cell)
    for table, rows in _PUBLISHED.items()
    for method, row in rows.items()
    for column, cell in zip(rows["columns"], row, strict=True)
    if method != "columns" and cell
}


def printed_cell(table: str, method: str, column: str) -> BootstrapInterval | None:
    """Return what the paper prints in a table of ours; None where nothing.

    Examples
    --------
    >>> printed_cell("score2_groups", "learned-weights", "group1")
    BootstrapInterval(value=0.107, low=0.09, high=0.12)
    """
    return _PRINTED.get((table, method, column))


#: The mean, and the median, of every row.
row_mean: Statistic = partial(np.mean, axis=1)  # type: ignore[assignment]
row_median: Statistic = partial(np.median, axis=1)


def row_spearman(pairs: FloatArray) -> FloatArray:
    """Return the rank correlation of the pairs in every row; NaN where all are tied."""
    ranks = rankdata(pairs, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    norm = np.sqrt((ranks**2).sum(axis=1).prod(axis=1))
    undefined = np.full(len(norm), np.nan)
    correlation = np.divide(ranks.prod(axis=2).sum(axis=1), norm, out=undefined, where=norm > 0)
    # Rounded where a sum of squares rounds: ranks that agree give exactly 1.
    return np.asarray(np.clip(np.round(correlation, 15), -1, 1))


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Return the rank correlation of the physicians that both score; NaN where all are tied."""
    return percentile_interval(np.column_stack([first, second]), row_spearman, resamples=0).value


def percentile_interval(
    values: npt.ArrayLike, statistic: Statistic = row_mean, resamples: int = RESAMPLES
) -> BootstrapInterval:
    """Return a statistic of the values with its 95 % percentile bootstrap interval.

    Undefined values (NaN) are left out. One value has nothing to resample, and no interval; nor
    have two pairs.
    """
    given = np.asarray(values, dtype=np.float64)
    pairs = given.ndim > 1
    given = given[np.isfinite(given).all(axis=1) if pairs else np.isfinite(given)]
    value = float(statistic(given[None])[0]) if len(given) > pairs else np.nan
    if len(given) < 2 + pairs or not resamples or np.isnan(value):
        return BootstrapInterval(value)
    rows = np.random.default_rng(SEED).integers(len(given), size=(resamples, len(given)))
    # A resample that drew one physician over and over has no order to keep.
    low, high = np.nanpercentile(statistic(given[rows]), (2.5, 97.5))
    return BootstrapInterval(value, float(low), float(high))


class Column(NamedTuple):
    """What a column of a table holds: a statistic of the values `of` a draw, by default the mean.

    Of two names it is one of pairs. `rounding` is half a unit of the last decimal that the paper
    prints. `rows` says what the column is about, by default all; where draws are `pooled`, they are
    resampled as one; `resamples` is 0 where there is no interval.
    """

    name: str
    of: str | tuple[str, str]
    statistic: Statistic = row_mean
    rounding: float = ROUNDING
    rows: pl.Expr | bool = True
    pooled: bool = False
    resamples: int = RESAMPLES


def cell(
    condition: str,
    method: str,
    column: Column,
    rows: pl.DataFrame,
    printed: BootstrapInterval | None = None,
) -> dict[str, Any]:
    """Make the cell of a column over the rows of every draw, with what the paper prints there.

    Rows have `replicate`; `n_undefined` counts what is undefined within a row.
    """
    order = [name for name in ("replicate", "condition", "physician") if name in rows.columns]
    rows = rows.sort(order, maintain_order=True)
    parts = [rows] if column.pooled else rows.partition_by("replicate", maintain_order=True)
    names = (column.of,) if isinstance(column.of, str) else column.of
    draws = [
        np.column_stack([part[n].cast(pl.Float64).fill_null(np.nan).to_numpy() for n in names])
        for part in parts
    ]
    undefined = sum(int(np.isnan(draw).any(axis=1).sum()) for draw in draws)
    if "n_undefined" in rows.columns:
        undefined = int(rows["n_undefined"].sum())
    draws = draws if len(names) > 1 else [draw[:, 0] for draw in draws]
    intervals = [percentile_interval(draw, column.statistic, column.resamples) for draw in draws]
    values = np.array([each.value for each in intervals])
    values = values[np.isfinite(values)]
    n, half, bounds = values.size, np.nan, intervals[0][1:]
    value = float(values.mean()) if n else np.nan
    # Of a mean its standard error; of another statistic what its bootstrap interval says.
    sd = (bounds[1] - bounds[0]) / 3.92
    if n > 1:
        sd = float(values.std(ddof=1))
        half = float(student.ppf(0.975, n - 1)) * sd * np.sqrt(1 + 1 / n)
        bounds = value - half, value + half
    elif column.statistic is row_mean:
        known = draws[0][np.isfinite(draws[0])]
        sd = known.std(ddof=1) / np.sqrt(known.size) if known.size > 1 else np.nan
    inside, paper = None, tuple[float | None, ...]([None] * 4)
    if printed is not None:
        paper = *printed, value - printed.value
        if np.isfinite(bounds[0]):
            low, high = bounds[0] - column.rounding, bounds[1] + column.rounding
            inside = bool(low <= printed.value <= high)
    n_draws = int(np.isfinite(draws[0]).sum()) if column.pooled else n
    first = (condition, method, column.name, value, *intervals[0], sd / np.sqrt(max(n, 1)))
    over = n_draws, value - half, value + half
    return dict(zip(CELL_SCHEMA, (*first, *over, *paper, inside, undefined), strict=True))


def cells_of(
    name: str, table: pl.DataFrame, columns: Sequence[Column], condition: str | None = None
) -> pl.DataFrame:
    """Return the cells of some columns for every method, by condition unless one is named.

    Beside them stands what the paper prints in the table of that `name`; where cells go by
    condition, its columns are the conditions. What is not a number is missing.
    """
    cells = []
    by = ["condition", "method"] if condition is None else ["method"]
    for key, rows in table.group_by(by, maintain_order=True):
        where, method = condition or str(key[0]), str(key[-1])
        for column in columns:
            own = rows.filter(column.rows)
            if not own.is_empty():
                printed = printed_cell(name, method, column.name if condition else where)
                cells.append(cell(where, method, column, own, printed))
    whole = pl.DataFrame(cells, schema=CELL_SCHEMA, orient="row")
    return whole.with_columns(pl.col(pl.Float64).fill_nan(None))


# --- which tables there are ---

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


#: Half a unit of the last decimal of rank correlations and overdispersions in the paper.
_TWO_DECIMALS = 0.005
#: Rows of methods whose score is a discordance, and of those that aim at the comparable one.
_RATES = ~pl.col("method").is_in(OTHER_SCALE)
_AIMED = pl.col("method").is_in(COMPARABLE) & pl.col("comparable_excess").is_not_null()
_NOT_ORACLE = pl.col("method") != "oracle"
#: Columns by physician group: mean score, mean delta and rank correlation; ranks have no delta.
_GROUPS = (
    *(
        Column(f"group{n}", "score", rounding=rounding, rows=rows & (pl.col("group") == n))
        for n in range(1, 6)
        for rows, rounding in ((_RATES, ROUNDING), (~_RATES, _TWO_DECIMALS))
    ),
    Column("mean_delta", "delta", rows=_RATES & _NOT_ORACLE),
    Column("spearman_oracle", ("score", "oracle"), row_spearman, _TWO_DECIMALS, _NOT_ORACLE),
)
#: Columns of the cross-experiment table: statistics of all conditions.
_ACROSS = (
    Column("mean_delta", "delta"),
    Column("mean_abs_delta", "delta", lambda values: np.abs(values).mean(axis=1)),
    Column("median_delta", "delta", row_median),
    Column("percent_positive", "delta", lambda values: 100 * (values > 0).mean(axis=1), 0.05),
    Column("coverage", "coverage", rows=pl.col("coverage").is_not_null().any()),
)
_RANKS = [Column(f"spearman_{of}", ("score", of), row_spearman) for of in ("d_star", "oracle")]
#: Deltas across SCORE2 and the window rules by window size, and by pass, with what the names of the
#: conditions hold. The paper's caption says 90 experiments; its shares (93.4 % = 85/91,
#: 54.9 % = 50/91) say 91.
_WINDOWS = [
    Column(name, "delta", rows=pl.col("condition").str.contains(part))
    for name, part in (
        ("score2", "score2"),
        ("w1", "-w1-"),
        ("w2_3", "-w[23]-"),
        ("w4_6", "-w[4-6]-"),
        ("w7_9", "-w[7-9]-"),
        ("pass1", "pass1-"),
        ("pass2", "pass2-"),
    )
]
#: Measures of recovery; the last three are for methods that aim at the comparable discordance.
_RECOVERED = (
    Column("spearman_d_star", "spearman"),
    Column("mean_delta", "delta", rows=_RATES),
    Column("mean_error", "error", rows=_RATES),
    Column("coverage", "coverage", rows=_RATES),
    Column("spearman_comparable", "comparable_spearman", rows=_AIMED),
    Column("mean_excess", "comparable_excess", rows=_AIMED),
    Column("upper_end_holds", "comparable_held", rows=_AIMED),
)
#: What a method must reach in a condition to be trusted there.
LARGEST_GAP = 0.10
LARGEST_DELTA = 0.02
LEAST_COVERAGE = 0.90
MOST_UNDEFINED = 0.10
#: Slack for a D* that lies on the end of an interval up to rounding.
SLACK = 1e-9


def build_tables(scores: pl.DataFrame, runs: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the tables for which the study has results, by name."""
    # As tables show them: oracle, methods in the paper's order, others, constant.
    order = ["oracle", *METHODS]
    known = {name: at for at, name in enumerate(order)} | {"constant": len(order) + 1}
    place = pl.col("method").replace_strict(known, default=len(order), return_dtype=pl.Int32)
    by = ("condition", "replicate", place, "method", "physician")
    scores = scores.sort(*by, maintain_order=True)
    draws = _by_draw(scores)
    deltas = draws.filter(_RATES & _NOT_ORACLE)
    any_window = any(map(window_of, set(scores["condition"])))
    windows = deltas.filter(pl.col("condition").is_in(main_conditions()) & any_window)
    sizes = [deltas.filter(condition=name) for name in conditions_of("grid")]
    of = {name: scores.filter(condition=name) for name in (*GROUP_TABLES, "continuous")}
    recovered = draws.filter(pl.col("condition").is_in(_RECOVERY))
    made: list[tuple[str, pl.DataFrame, Sequence[Column], str | None]] = [
        *((f"recovery_{column.of}", recovered, [column], None) for column in _RECOVERED),
        *((table, of[name], _GROUPS, name) for name, table in GROUP_TABLES.items()),
        ("cross_experiment", windows, _ACROSS, "main"),
        ("window_size", windows, _WINDOWS[:5], "window_size"),
        ("passes", windows, _WINDOWS[5:], "passes"),
        ("continuum", of["continuous"], _RANKS, "continuous"),
        ("grid", pl.concat(sizes), [Column("mean_delta", "delta", pooled=True)], None),
        ("condition_deltas", deltas, [Column("mean_delta", "delta")], None),
        ("condition_errors", deltas, [Column("mean_physician_error", "abs_delta")], None),
    ]
    tables = {each[0]: cells_of(*each) for each in made}
    glmm = [tables[table] for table in GROUP_TABLES.values()]
    tables["glmm_groups"] = pl.concat(glmm).filter(pl.col("method").is_in(OTHER_SCALE))
    tables |= {correlations_of(name): _correlation_table(of[name], name) for name in GROUP_TABLES}
    tables |= {"recovery_trust": _trust_table(recovered), "seconds": _seconds(runs)}
    return {name: tables[name] for name in TITLES if tables[name].height}


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


def _correlation_table(here: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the rank correlation of every pair of methods, the oracle among them."""
    here = here.filter(pl.col("method") != "constant")  # a constant has no order to compare
    methods = here["method"].unique(maintain_order=True).to_list()
    wide = here.pivot("method", index=["replicate", "physician"], values="score")
    wide = wide.with_columns(n_undefined=0)
    tables = [pl.DataFrame(schema=CELL_SCHEMA)]
    for first in methods:
        columns = [Column(n, (first, n), row_spearman, resamples=0) for n in methods]
        own = wide.with_columns(pl.lit(first).alias("method"))
        tables.append(cells_of("", own, columns, condition))
    return pl.concat(tables)


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
