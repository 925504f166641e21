"""Two stored measurements set side by side: what changed from one to the other.

Only what was published is read. Physicians meet by their pseudonyms, so that both must have been
measured with one key; patients are taken to be others the second time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import FloatArray
from intravar.errors import InputError, option
from intravar.inference.contrasts import changes_together, weighted_sum
from intravar.inference.intervals import LEVEL, Interval
from intravar.measurement.strata import MATTERS
from intravar.publication.folders import read_summary
from intravar.publication.rounding import fraction
from intravar.publication.strata_words import SURE

_ENDS = ("discordance", "low", "high")
#: Entries of the request that make two measurements measure different things.
_MEANING = ("decision", "decision_positive", "covariates", "exclude", "after", "categorical")


@dataclass(frozen=True, eq=False)
class Change:
    """What changed from one measurement to another.

    Attributes
    ----------
    physicians
        One row per physician who is in both: both values, change, low, high, probability.
    group
        The same of all together: first, second, change, low, high.
    noise
        Component, first and second value.
    notes
        What to mind.
    """

    physicians: pl.DataFrame
    group: dict[str, float | None]
    noise: pl.DataFrame
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """Say it in words."""
        lines = []
        if self.group["change"] is not None:
            first, second, change, low, high = (
                round(100 * float(self.group[name] or 0.0))
                for name in ("first", "second", "change", "low", "high")
            )
            lines.append(
                f"All together: of 100 pairs of comparable patients {first} were decided "
                f"differently the first time and {second} the second, a change of {change:+d} "
                f"[{low:+d}, {high:+d}]."
            )
        for row in self.noise.iter_rows(named=True):
            before, after = (round(200 * row[name]) for name in ("first", "second"))
            lines.append(f"{row['component']}: {before} -> {after} of 100 patients seen by two.")
        sure = self.physicians.filter(pl.col("probability") >= SURE).height
        lines.append(
            f"{self.physicians.height:,} physicians are in both; {sure:,} of them changed by more "
            f"than {100 * MATTERS:.0f} of 100, with a probability of {100 * SURE:.0f} % or more."
        )
        return [*lines, *(f"note: {note}" for note in self.notes)]


def compare(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> Change:
    """Compare two stored measurements.

    Parameters
    ----------
    first, second
        The folders that `intravar measure --out` wrote, under one key.
    """
    tables, summaries = zip(*(_stored(Path(folder)) for folder in (first, second)), strict=True)
    return compare_published(tables[0], tables[1], (summaries[0], summaries[1]))


def _stored(folder: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    summary = read_summary(folder)
    try:
        if summary is None or not {"method", "request", "group"} <= set(summary):
            raise ValueError
        return pl.read_parquet(folder / "physicians.parquet"), summary
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"'{folder}' does not hold a whole measurement; name a folder that 'intravar measure "
            "--out' wrote"
        ) from error


def compare_published(
    first: pl.DataFrame,
    second: pl.DataFrame,
    summaries: tuple[dict[str, Any], dict[str, Any]],
) -> Change:
    """Compare what two measurements published.

    Parameters
    ----------
    first, second
        Their tables of physicians.
    summaries
        Their summaries.
    """
    if summaries[0]["method"] != summaries[1]["method"]:
        methods = " and ".join(f"'{each['method']}'" for each in summaries)
        raise InputError(
            f"the measurements are by different methods, {methods}; measure both with "
            f"{option('method', summaries[0]['method'])}"
        )
    both = first.join(second, on="physician", suffix="_second", how="inner").sort("physician")
    if not both.height:
        raise InputError(
            "no physician is in both measurements: pseudonyms meet only under one key; measure the "
            f"second time with {option('key')} and the key.json of the first one's private folder"
        )
    known = both.drop_nulls([*_ENDS, *(f"{name}_second" for name in _ENDS)])
    return Change(
        _physicians(known),
        _group(summaries),
        _noise(summaries),
        _notes(first, second, both, known, summaries),
    )


def _physicians(known: pl.DataFrame) -> pl.DataFrame:
    columns = [
        np.stack([known[name].to_numpy(), known[f"{name}_second"].to_numpy()], axis=1)
        for name in _ENDS
    ]
    value, low, high = (each.reshape(-1, 2).astype(np.float64) for each in columns)
    change, change_low, change_high = _difference(value, low, high)
    error = (change_high - change_low) / (2 * float(norm.ppf(0.5 + LEVEL / 2)))
    moved = changes_together(change, error, MATTERS)
    return pl.DataFrame(
        {
            "physician": known["physician"],
            "first": value[:, 0],
            "second": value[:, 1],
            "change": change,
            "low": change_low,
            "high": change_high,
            "probability": moved.probability,
        }
    ).with_columns(pl.col(pl.Float64).round(3))


def _difference(value: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, ...]:
    weight = np.tile([-1.0, 1.0], (len(value), 1))
    return weighted_sum(weight, Interval(low, high, np.full(value.shape, np.nan)), value)


def _group(summaries: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, float | None]:
    groups = [each.get("group") or {} for each in summaries]
    if any(group.get("discordance") is None for group in groups):
        return dict.fromkeys(("first", "second", "change", "low", "high"))
    value, low, high = (np.array([[group[name] for group in groups]]) for name in _ENDS)
    found = _difference(value, low, high)
    names = ("change", "low", "high")
    return {
        "first": float(value[0, 0]),
        "second": float(value[0, 1]),
        **{name: fraction(float(each[0]), 3) for name, each in zip(names, found, strict=True)},
    }


def _noise(summaries: tuple[dict[str, Any], dict[str, Any]]) -> pl.DataFrame:
    schema = {"component": pl.String, "first": pl.Float64, "second": pl.Float64}
    parts = [(each.get("group") or {}).get("noise") or {} for each in summaries]
    if not all(parts):
        return pl.DataFrame(schema=schema)
    rows = [(name, *(each[name]["value"] for each in parts)) for name in parts[0]]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _notes(
    first: pl.DataFrame,
    second: pl.DataFrame,
    both: pl.DataFrame,
    known: pl.DataFrame,
    summaries: tuple[dict[str, Any], dict[str, Any]],
) -> tuple[str, ...]:
    notes = []
    alone = first.height - both.height, second.height - both.height
    if any(alone):
        notes.append(
            f"{alone[0]:,} are in the first measurement only, {alone[1]:,} in the second only"
        )
    if known.height < both.height:
        notes.append(f"{both.height - known.height:,} in both have no value in one of them")
    asked = [each["request"].get("columns", {}) for each in summaries]
    other = [name for name in _MEANING if asked[0].get(name) != asked[1].get(name)]
    if other:
        notes.append(
            f"the requests differ in {', '.join(other)}: they may measure different things"
        )
    return tuple(notes)
