"""What `check` says that a measurement will take, beside what it takes.

Tables of 1,000 to 60,000 patients, with periods and subgroups, by several methods, and with two
decisions, whose forecasts add up. First measurements, which are not counted, compile.

*ratio* is the forecast over the seconds, and must lie between 1/1.5 and 1.5. It is to be read on a
machine that does nothing else, since `check` looks at how fast the machine is at that moment only.
On a busy machine read *idle / processor*: the forecast for an idle machine over the seconds of the
processor, which other work hardly moves. It is 1 where nothing is spread over two processors and
one half where everything is: a forecast that is right lies between.

    python -m benchmarks forecast            all of it, a quarter of an hour on two idle processors
    python -m benchmarks forecast 5000       tables of no more patients
"""

from __future__ import annotations

import tempfile
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import intravar
from benchmarks._commands import forecast, timed
from intravar.preparation.check import checked_each, loading
from intravar.request import Request

#: Condition, patients and physicians of each table.
TABLES = (
    ("score2", 1_000, 10),
    ("stress-two-camps", 4_800, 16),
    ("continuous", 20_000, 50),
    ("continuous", 60_000, 120),
)
#: The ratio that a forecast may be off by.
WITHIN = 1.5
#: A year of visits, whose quarters are compared.
DAYS, FIRST = 366, date(2024, 1, 1)
#: Fields of a request, each also an option of the command.
ASKED: dict[str, dict[str, Any]] = {
    "predictability": {"exclude": ("visit", "ward", "second")},
    "periods": {"exclude": ("ward", "second"), "date": "visit", "period": "quarter"},
    "subgroups": {"exclude": ("visit", "second"), "by": "ward"},
    "two decisions": {"decision": ("decision", "second"), "exclude": ("visit", "ward")},
    "latent rule": {"exclude": ("visit", "ward", "second"), "method": "latent-rule"},
    "euclidean": {"exclude": ("visit", "ward", "second"), "method": "euclidean"},
}


def run(most: str = "60000") -> None:
    print(
        f"{'':44}{'forecast':>9}{'seconds':>9}{'ratio':>7}{'processor':>11}{'idle / processor':>18}"
    )
    with tempfile.TemporaryDirectory() as folder:
        tables = [_written(Path(folder), *each) for each in TABLES if each[1] <= int(most)]
        # Of both kinds: rules of their own run other loops.
        for at, (words, table) in enumerate(product(ASKED, tables[:2])):
            timed(["measure", *_command(table, words), "--out", f"{folder}/first {at}"])
        for at, table in enumerate(tables):
            condition, n, physicians = TABLES[at]
            for words in ASKED:
                expected, _ = forecast(_command(table, words))
                checks = checked_each(str(table), Request(**_fields(words)))
                idle = sum(each.cost.seconds + loading() for each in checks.values())
                taken = timed(
                    ["measure", *_command(table, words), "--out", f"{folder}/{at} {words}"]
                )
                ratio = expected / taken.seconds
                called = f"{condition} {n:,} x {physicians}, {words}"
                off = "" if 1 / WITHIN <= ratio <= WITHIN else "  off"
                print(
                    f"{called:44}{expected:9.1f}{taken.seconds:9.1f}{ratio:7.2f}"
                    f"{taken.processor:11.1f}{idle / taken.processor:18.2f}{off}"
                    f"{'' if not taken.ended else '  ' + taken.said[:100]}",
                    flush=True,
                )


def _fields(words: str) -> dict[str, Any]:
    return {"physician": "physician", "decision": "decision", **ASKED[words]}


def _command(table: Path, words: str) -> list[str]:
    """Return the table and the options that ask for the same."""
    command = [str(table)]
    for name, value in _fields(words).items():
        command += [f"--{name}", value if isinstance(value, str) else ",".join(value)]
    return command


def _written(folder: Path, condition: str, n_patients: int, n_physicians: int) -> Path:
    """Write a table of patients: days of their visits, wards, and a second decision."""
    cohort = intravar.simulate(condition, n_patients=n_patients, n_physicians=n_physicians)
    table, row = cohort.to_polars(), np.arange(n_patients)
    path = folder / f"{condition} {n_patients}.parquet"
    table.with_columns(
        visit=pl.Series([FIRST + timedelta(days=int(at) * 7 % DAYS) for at in row]),
        ward=pl.Series(np.where(row % 3 == 0, "A", "B")),
        # The other decision in every fifth patient.
        second=pl.Series(table["decision"].to_numpy() ^ (row % 5 == 0)),
    ).write_parquet(path)
    return path
