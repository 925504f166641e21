"""Real files through `intravar measure` as it is: verdict, group, and who can be reported.

    python -m benchmarks files FOLDER [METHOD] [PART OF A NAME ...]

Columns are those of the folder's own description. Files of deciders who saw cases twice are
measured twice: with the case, and with one occasion of each case as a record would hold it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from benchmarks._cohorts import FILES, Roles, once_each
from intravar.estimators import METHODS
from intravar.table_files import read_csv

SOUP: Roles = {
    "physician": "RESP",
    "decision": "SURENESS",
    "decision_positive": ">=4",
    "covariates": ("PROD", "DAY", "SOUPTYPE", "SOUPFREQ", "COLD", "EASY", "GENDER", "AGEGROUP"),
}
SEEN_TWICE = {"decider", "case", "occasion", "decision"}
HEADS = ("file", "rows/deciders", "verdict", "group", "value", "band", "first reason")


def run(folder: str, *arguments: str) -> None:
    """Print a row per file."""
    methods = [name for name in arguments if name in METHODS]
    names = [name for name in arguments if name not in METHODS]
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for path in sorted(Path(folder).rglob("*.csv")):
        if names and not any(name in path.stem for name in names):
            continue
        table = read_csv(path, null_values=["NA", ""], infer_schema_length=None)
        if path.stem in FILES or path.stem == "soup":
            _row(path.stem, path, table, FILES.get(path.stem, SOUP), methods)
        elif set(table.columns) >= SEEN_TWICE:
            roles: Roles = {"physician": "decider", "decision": "decision"}
            _row(f"{path.stem}, cases", path, table, {**roles, "case": "case"}, [])
            with tempfile.TemporaryDirectory() as place:
                once = once_each(path.stem, table)
                once.write_csv(Path(place) / "once.csv")
                _row(f"{path.stem}, once", Path(place) / "once.csv", once, roles, methods)


def _row(name: str, path: Path, table: pl.DataFrame, roles: Roles, methods: list[str]) -> None:
    said = [
        part
        for role, value in roles.items()
        for part in (
            f"--{role.replace('_', '-')}",
            value if isinstance(value, str) else ",".join(value),
        )
    ]
    chosen = ["--method", methods[0]] if methods else []
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        command = [sys.executable, "-m", "intravar", "measure", str(path), *said, *chosen]
        done = subprocess.run(
            [*command, "--out", str(out), "-q"],
            capture_output=True,
            text=True,
            check=False,
        )
        if not (out / "summary.json").exists():
            print(f"| {name} | – | {done.stderr.strip().splitlines()[-1:]} |", flush=True)
            return
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))["decisions"][0]
        people = read_csv(out / "physicians.csv", infer_schema_length=None)
    figure = summary["group"]["discordance"] if summary["group"] else {}
    ends = (figure.get(end) for end in ("value", "low", "high"))
    value, low, high = (float("nan") if end is None else 100 * end for end in ends)
    shown = f"{value:.0f} [{low:.0f}, {high:.0f}]"
    has = people["discordance"].is_not_null()
    if "identified_low" in people.columns:
        has |= people["identified_low"].is_not_null()
    band = people["band_low"].is_not_null() & ~has if "band_low" in people.columns else ~has & has
    print(
        f"| {name} | {table.height}/{table[str(roles['physician'])].n_unique()} | "
        f"{summary['verdict']} | {shown} | {has.sum()} | {band.sum()} | "
        f"{(summary['verdict_reasons'] or ['–'])[0]} |",
        flush=True,
    )
