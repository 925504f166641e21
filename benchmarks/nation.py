"""A nation's data: `check` and `measure` on a million and on ten million patients (Parquet).

The covariates are the nine of the continuum and eleven that have nothing to do with anything;
panels have 500 patients. Every command is a process of its own; memory is the sum over it and its
workers, looked at four times a second. Beyond five million the command is also killed in the middle
with SIGKILL and given again.

    python -m benchmarks nation                     # a million patients
    python -m benchmarks nation 10000000            # ten million, killed and resumed
    python -m benchmarks nation wide                # 200 covariates, 20 of them with 60 categories
    python -m benchmarks nation skewed              # one physician with a million patients
    python -m benchmarks nation limits              # memory beside the limit that was given
    python -m benchmarks nation tenth               # scores by a tenth, and by everybody in memory
    python -m benchmarks nation more                # a million: two decisions, subgroups, periods
    python -m benchmarks nation more 200000         # the same with so many patients
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import intravar
from benchmarks._commands import Run, forecast, timed
from intravar.estimators import make_estimator
from intravar.observed import Observed
from intravar.table_files import read_csv

COVARIATES, PANEL = 20, 500
#: Patients that are simulated at a time.
BLOCK = 200_000
METHODS = ("predictability", "latent-rule")
COLUMNS = ("--physician", "physician", "--decision", "decision")
#: Patients from which on a run is killed and resumed as well.
KILLED_FROM = 5_000_000
#: Numbers and categories, with so many levels, that say nothing.
WIDE_NUMBERS, WIDE_CATEGORIES, LEVELS = 160, 20, 60
#: Limits of memory that are tried.
LIMITS = ("800MB", "1.2GB", "2GB")


def run(*arguments: str) -> None:
    print(f"{'':46}{'seconds':>9}{'processor':>11}{'peak MB':>9}")
    if arguments[:1] == ("more",):
        with tempfile.TemporaryDirectory() as folder:
            _more(int(arguments[1]) if len(arguments) > 1 else 1_000_000, Path(folder))
        return
    for asked in arguments or ("1000000",):
        with tempfile.TemporaryDirectory() as folder:
            if asked == "wide":
                _wide(Path(folder))
            elif asked == "skewed":
                _skewed(Path(folder))
            elif asked == "limits":
                _limits(Path(folder))
            elif asked == "tenth":
                _tenth(1_000_000)
            else:
                _of_size(int(asked), Path(folder))


def _of_size(n_patients: int, folder: Path) -> None:
    table = write_patients(folder / "patients", n_patients)
    called = f"{n_patients:,} x {n_patients // PANEL:,} x {COVARIATES}"
    _line(f"{called}, check", timed(["check", str(table), *COLUMNS]))
    kills = n_patients >= KILLED_FROM
    for method in METHODS[:1] if kills else METHODS:
        out = folder / method
        whole = _measured(called, table, method, out)
        if kills:
            again = folder / "again"
            asked = ["measure", str(table), *COLUMNS, "--method", method, "--out", str(again)]
            cut = timed(asked, kill_after=whole.seconds / 2)
            _line("  killed in the middle", cut)
            _line("  resumed", timed(asked))
            keyless = ["physicians.csv"]
            same = all(_scores(out / name) == _scores(again / name) for name in keyless)
            print(f"  the same bits: {'yes' if same else 'NO'}", flush=True)


def _more(n_patients: int, folder: Path) -> None:
    """Measure what is asked for beside one decision: two of them, subgroups, periods."""
    table = write_patients(folder / "patients", n_patients, more=True)
    called = f"{n_patients:,} x {n_patients // PANEL:,} x {COVARIATES}"
    for words, asked in {
        "two decisions": ("--decision", "decision,second", "--exclude", "ward,seen"),
        "--by": ("--decision", "decision", "--by", "ward", "--exclude", "second,seen"),
        "--period": ("--decision", "decision", "--date", "seen", "--exclude", "second,ward"),
    }.items():
        columns = ("--physician", "physician", *asked)
        found = timed(["measure", str(table), *columns, "--out", str(folder / words.strip("-"))])
        _line(f"{called}, {words}", found)


def _measured(called: str, table: Path, method: str, out: Path) -> Run:
    """Measure a table and print what it took beside what was foretold."""
    expected, memory = forecast([str(table), *COLUMNS, "--method", method])
    found = timed(["measure", str(table), *COLUMNS, "--method", method, "--out", str(out)])
    _line(f"{called}, {method}", found)
    print(
        f"  forecast {expected:.0f} s, {found.seconds / expected:.2f} times that; "
        f"{memory:,.0f} MB, {found.peak_mb / memory:.2f} times that",
        flush=True,
    )
    return found


def _wide(folder: Path) -> None:
    table = folder / "wide.parquet"
    wide_patients(150_000, 300).write_parquet(table)
    for method in METHODS:
        _measured("150,000 x 300 x 200 covariates", table, method, folder / method)


def _skewed(folder: Path) -> None:
    table = folder / "skewed.parquet"
    skewed_patients(1_000_000, 3_000).write_parquet(table)
    for method in METHODS:
        _measured("1,000,000 and 3,000 x 10", table, method, folder / method)


def _limits(folder: Path) -> None:
    many, wide = write_patients(folder / "patients", 1_000_000), folder / "wide.parquet"
    wide_patients(150_000, 300).write_parquet(wide)
    for called, table in (("1,000,000 x 20", many), ("150,000 x 200", wide)):
        for method in METHODS:
            for limit in LIMITS:
                out = folder / f"{table.stem}-{method}-{limit}"
                asked = ["measure", str(table), *COLUMNS, "--method", method, "--out", str(out)]
                found = timed([*asked, "--memory", limit])
                _line(f"{called}, {method}, {limit}", found)
                if found.ended:
                    print(f"  {found.said}", flush=True)


def _tenth(n_patients: int) -> None:
    """Hold scores of others, read by a tenth of the physicians, against a fit on everybody."""
    blocks = range(0, n_patients, BLOCK)
    table = pl.concat([patients(BLOCK, BLOCK // PANEL, at // BLOCK, at // PANEL) for at in blocks])
    covariates = table.drop("decision", "physician")
    everybody = Observed.of(covariates, table["decision"], table["physician"])
    n_physicians = len(everybody.physicians)
    drawn = np.random.default_rng(1).permutation(n_physicians)[: n_physicians // 10]
    chosen = np.isin(np.arange(n_physicians), drawn)
    inside = chosen[everybody.code]
    sample, others = (everybody.take(np.flatnonzero(rows)) for rows in (inside, ~inside))
    print(f"{n_patients:,} x {n_physicians:,}, scores of others by a tenth against all in memory")
    for method in METHODS:
        whole = make_estimator(method).fit_observed(everybody)
        error = float(whole.ends().standard_error[~chosen].mean())
        read = make_estimator(method).fit_observed(sample).reader().read(others)
        away = (read.score_ - whole.score_[~chosen]) / error
        print(
            f"  {method:16} {np.abs(away).mean():.3f} standard errors ({error:.4f}) apart, "
            f"{away.mean():+.3f} on the whole",
            flush=True,
        )


def _scores(path: Path) -> list[tuple[object, ...]]:
    """Return the published rows; pseudonyms have another key in every folder."""
    table = read_csv(path).drop("physician")
    return sorted(table.rows(), key=str)


def _line(words: str, found: Run) -> None:
    ended = "" if found.ended == 0 else f"  (ended {found.ended})"
    took = f"{found.seconds:>9.1f}{found.processor:>11.1f}{found.peak_mb:>9,.0f}"
    print(f"{words:46}{took}{ended}", flush=True)


def write_patients(folder: Path, n_patients: int, *, more: bool = False) -> Path:
    """Write patients in parts, so that no more than a block of them is held."""
    folder.mkdir(parents=True)
    done = 0
    while done < n_patients:
        n = min(BLOCK, n_patients - done)
        block = patients(n, n // PANEL, done // BLOCK, done // PANEL)
        block = with_more(block, done // BLOCK) if more else block
        block.write_parquet(folder / f"part-{done // BLOCK:05d}.parquet")
        done += n
    return folder


def patients(n: int, n_physicians: int, seed: int, first: int) -> pl.DataFrame:
    """Simulate a block of patients; its physicians are counted from `first`."""
    cohort = intravar.simulate(
        "continuous", n_patients=n, n_physicians=n_physicians, random_state=seed
    )
    X, y, physician = cohort.observed()
    random = np.random.default_rng(seed)
    noise = {f"other{i}": random.normal(size=n) for i in range(COVARIATES - X.width)}
    codes = physician.rank("dense").cast(pl.Int64) - 1 + first
    return X.with_columns(
        **{name: pl.Series(values) for name, values in noise.items()},
        decision=pl.Series(y),
        physician="D" + codes.cast(pl.String).str.zfill(6),
    )


def with_more(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Add a second decision that goes by another rule, a ward and a date."""
    random, n = np.random.default_rng(1_000 + seed), table.height
    chance = 1 / (1 + np.exp(-2 * (table["other0"] - table["other1"]).to_numpy()))
    return table.with_columns(
        second=pl.Series((random.random(n) < chance).astype(np.int8)),
        ward=pl.Series(random.choice(["north", "south", "west"], n)),
        seen=pl.date(2022, 1, 1) + pl.duration(days=pl.lit(pl.Series(random.integers(0, 1095, n)))),
    )


def wide_patients(n: int, n_physicians: int) -> pl.DataFrame:
    """Simulate patients with 180 more covariates that have nothing to do with anything."""
    table, random = patients(n, n_physicians, 0, 0), np.random.default_rng(0)
    levels = [f"level{number}" for number in range(LEVELS)]
    return table.with_columns(
        *(
            pl.Series(f"w{at}", random.normal(size=n).astype(np.float32))
            for at in range(WIDE_NUMBERS)
        ),
        *(pl.Series(f"cat{at}", random.choice(levels, n)) for at in range(WIDE_CATEGORIES)),
    )


def skewed_patients(largest: int, n_small: int, small: int = 10) -> pl.DataFrame:
    """Simulate one physician with very many patients and many with few, with odd names."""
    parts = [patients(BLOCK, 1, seed, 0) for seed in range(largest // BLOCK)]
    parts = [each.with_columns(physician=pl.lit("Dr. Ünal / ward 7")) for each in parts]
    few = patients(n_small * small, n_small, 99, 0)
    named = few.with_columns(physician="Dr. Ünal / ward 7, room " + pl.col("physician"))
    return pl.concat([*parts, named])
