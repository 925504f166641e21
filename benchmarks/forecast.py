"""What `check` says that a measurement will take, beside what it takes: three tables, with periods.

A first measurement, which is not counted, compiles. Each ratio must lie between 1/1.5 and 1.5, on
a machine that does nothing else meanwhile.

    python -m benchmarks forecast
"""

from __future__ import annotations

import tempfile
from datetime import date, timedelta
from pathlib import Path

import polars as pl

import intravar
from benchmarks._commands import forecast, timed

#: Condition, patients and physicians of each table.
TABLES = (("score2", 2_000, 10), ("stress-two-camps", 4_800, 16), ("continuous", 20_000, 50))
#: The ratio that a forecast may be off by.
WITHIN = 1.5
COLUMNS = ("--physician", "physician", "--decision", "decision")
#: A year of visits, whose quarters are compared.
DAYS, FIRST = 366, date(2024, 1, 1)
ASKED = {
    "predictability": (),
    "with periods": ("--date", "visit", "--period", "quarter"),
    "latent rule": ("--method", "latent-rule"),
}


def run() -> None:
    print(f"{'':46}{'forecast':>9}{'seconds':>9}{'processor':>11}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        tables = [_written(Path(folder), *each) for each in TABLES]
        for options in ASKED.values():
            timed(["measure", str(tables[0]), *COLUMNS, *options, "--out", f"{folder}/first"])
        for at, ((condition, n, physicians), table) in enumerate(zip(TABLES, tables, strict=True)):
            for words, options in ASKED.items():
                expected, _ = forecast([str(table), *COLUMNS, *options])
                out = f"{folder}/{at} {words}"
                taken = timed(["measure", str(table), *COLUMNS, *options, "--out", out])
                ratio = expected / taken.seconds
                called = f"{condition} {n:,} x {physicians}, {words}"
                off = "" if 1 / WITHIN <= ratio <= WITHIN else "  off"
                print(
                    f"{called:46}{expected:9.1f}{taken.seconds:9.1f}{taken.processor:11.1f}"
                    f"{ratio:7.2f}{off}{'' if not taken.ended else '  ' + taken.said[:100]}",
                    flush=True,
                )


def _written(folder: Path, condition: str, n_patients: int, n_physicians: int) -> Path:
    """Write a table of patients with the days of their visits."""
    cohort = intravar.simulate(condition, n_patients=n_patients, n_physicians=n_physicians)
    days = [FIRST + timedelta(days=row * 7 % DAYS) for row in range(n_patients)]
    path = folder / f"{condition}.parquet"
    cohort.to_polars().with_columns(visit=pl.Series(days)).write_parquet(path)
    return path
