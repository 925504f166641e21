"""Real repeats: every method, given one occasion, against how often deciders contradict themselves.

    python -m benchmarks repeats FOLDER [--draws N] [METHOD ...] [PART OF A NAME ...]

The folder holds one CSV file per study: decider, case, occasion, decision, severity, and what else
the study gives. One occasion of each case is drawn, several times; what another set of draws would
move is told behind a correlation. See docs/validation.md.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from benchmarks._extrapolation import Extrapolation
from intravar.arrays import FloatArray
from intravar.estimators import PAPER_METHODS, Estimator, LatentRule, Predictability
from intravar.estimators.matching import Rate
from intravar.estimators.repeats import Repeats
from intravar.observed import Observed
from intravar.seeds import stream
from intravar.table_files import read_csv

ROLES = ("decider", "case", "occasion", "decision")
#: Times that one occasion per decider and case is drawn.
DRAWS = 5
#: Levels of a column of words that get a column each.
MOST_LEVELS = 12
#: Resamples of deciders, for the interval of a rank correlation.
RESAMPLES = 1000
METHODS: tuple[type[Estimator], ...] = (
    *PAPER_METHODS.values(),
    LatentRule,
    Extrapolation,
    Predictability,
    Rate,
)


def run(folder: str | None = None, *arguments: str) -> None:
    """Print a table per study and the mean over studies."""
    if folder is None:
        print("give the folder of the studies: python -m benchmarks repeats FOLDER")
        return
    rest, draws = list(arguments), DRAWS
    if "--draws" in rest:
        at = rest.index("--draws")
        draws = int(rest[at + 1])
        del rest[at : at + 2]
    known = {method.name: method for method in METHODS}
    methods = [known[name] for name in rest if name in known] or list(METHODS)
    parts = [part for part in rest if part not in known]
    summary: dict[str, list[FloatArray]] = {}
    for path in sorted(Path(folder).glob("*.csv")):
        if not parts or any(part in path.stem for part in parts):
            for name, drawn in _study(path, methods, draws).items():
                summary.setdefault(name, []).append(drawn)
    print(f"\nmean Spearman over studies, {draws} draws, and its Monte-Carlo error")
    means = {name: float(np.mean(values)) for name, values in summary.items()}
    for name, values in sorted(summary.items(), key=lambda item: -means[item[0]]):
        moved = np.sqrt(sum(_error(drawn) ** 2 for drawn in values)) / len(values)
        print(f"  {name:<20} {means[name]:+.3f} ± {moved:.3f}")


def _error(drawn: FloatArray) -> float:
    """Return the standard error of a mean over draws."""
    return float(np.std(drawn, ddof=1) / np.sqrt(len(drawn))) if len(drawn) > 1 else float("nan")


def _study(path: Path, methods: list[type[Estimator]], draws: int) -> dict[str, FloatArray]:
    table = read_study(path)
    counted = Repeats().fit(table["case"], table["decision"], table["decider"])
    truth = dict(zip(counted.physicians_, counted.score_, strict=True))
    known = counted.score_[~np.isnan(counted.score_)]
    print(
        f"\n{path.stem}: {len(known)} deciders with repeats, "
        f"{int(counted.n_repeated_.sum()):,} repeated cases, truth {known.mean():.3f}"
    )
    print("  method               Spearman ± error [95 %]         level  holds")
    found = {}
    for method in methods:
        rows = [_draw(table, method, truth, draw) for draw in range(draws)]
        score, high, real = (np.mean([row[at] for row in rows], axis=0) for at in range(3))
        rho = np.array([_spearman(row[0], row[2]) for row in rows])
        low, up = _interval(score, real)
        holds = np.mean([np.mean(row[1] >= row[2]) for row in rows])
        said = "-" if np.isnan(high).all() or method.scale != "discordance" else f"{holds:.2f}"
        level = "-" if method.scale != "discordance" else f"{np.nanmean(score):.3f}"
        print(
            f"  {method.label:<20} {rho.mean():+.2f} ± {_error(rho):.2f} [{low:+.2f}, {up:+.2f}]   "
            f"{level:>9}  {said}",
            flush=True,
        )
        found[method.label] = rho
    return found


def read_study(path: Path) -> pl.DataFrame:
    """Read a study; names stay names."""
    table = read_csv(path, null_values=["NA", ""], infer_schema_length=None)
    return table.with_columns(pl.col("decider", "case", "occasion").cast(pl.String))


def covariates_of(table: pl.DataFrame) -> pl.DataFrame:
    """Return what a record would hold: numbers as they are, words as columns of 0 and 1."""
    columns = []
    for name in table.columns:
        if name in ROLES:
            continue
        column = table[name]
        if column.dtype != pl.String:
            columns.append(column.cast(pl.Float64))
            continue
        counts = column.drop_nulls().value_counts().sort(["count", name], descending=[True, False])
        levels = counts[name].head(MOST_LEVELS).to_list() if counts.height > 1 else []
        columns += [
            (column == level).fill_null(False).cast(pl.Float64).alias(f"{name}={level}")
            for level in levels
        ]
    return pl.DataFrame(columns)


def _draw(
    table: pl.DataFrame, method: type[Estimator], truth: dict[str, float], draw: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return score, upper end and truth of the deciders, from one occasion per decider and case."""
    order = stream(draw, "repeats", "occasion").permutation(table.height)
    one = table[order].unique(["decider", "case"], keep="first", maintain_order=True)
    X = covariates_of(one)
    if not method.accepts_missing:
        X = X.with_columns(pl.all().fill_null(pl.all().median()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observed = Observed.of(X, one["decision"], one["decider"], keep_missing=True)
        profile = method().fit_observed(observed).profile_
    real = np.array([truth[name] for name in profile["physician"]])
    defined = ~np.isnan(real)
    score, high = (
        profile[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for name in ("score", "score_high")
    )
    return score[defined], high[defined], real[defined]


def _spearman(score: FloatArray, real: FloatArray) -> float:
    use = ~np.isnan(score)
    if use.sum() < 3 or np.ptp(score[use]) == 0 or np.ptp(real[use]) == 0:
        return 0.0
    return float(spearmanr(score[use], real[use])[0])


def _interval(score: FloatArray, real: FloatArray) -> tuple[float, float]:
    """Return the range that holds 95 % of the rank correlations of resampled deciders."""
    random = stream(0, "repeats", "bootstrap")
    drawn = [
        _spearman(score[rows], real[rows])
        for rows in random.integers(0, len(score), (RESAMPLES, len(score)))
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


if __name__ == "__main__":
    run(*sys.argv[1:])
