"""Two stored measurements set side by side: what changed from one to the other.

Patients are taken to be others the second time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import FloatArray
from intravar.errors import InputError, option, told
from intravar.inference.contrasts import changes_together, weighted_sum
from intravar.inference.intervals import LEVEL, Interval
from intravar.publication.explain import chosen_decision, private_table
from intravar.publication.files import read_published
from intravar.publication.folders import FIGURES_FILE, file_of, private_folder
from intravar.publication.hiding import fraction
from intravar.publication.pseudonyms import KEY_FILE, read_key, read_names, readable
from intravar.publication.results import Decision, Noise, Published, rows_of
from intravar.publication.strata import SURE
from intravar.request import MATTERS
from intravar.wording import USUAL, Words

_ENDS = ("discordance", "low", "high")
#: Entries of the request that make two measurements measure different things.
_MEANING = ("decision", "decision_positive", "covariates", "exclude", "after", "categorical")


@dataclass(frozen=True)
class Changed:
    """How a physician changed: both values, the change with its interval, how sure it is."""

    physician: str
    first: float
    second: float
    change: float
    low: float
    high: float
    probability: float


@dataclass(frozen=True, eq=False)
class Comparison:
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
    words
        What whoever asked the second time calls things.
    """

    physicians: pl.DataFrame
    group: dict[str, float | None]
    noise: pl.DataFrame
    notes: tuple[str, ...]
    words: Words = USUAL

    def rows(self) -> tuple[Changed, ...]:
        """Return the physicians one by one, the surest change first."""
        return rows_of(self.physicians.sort(-pl.col("probability"), "physician"), Changed)

    def as_json(self) -> dict[str, Any]:
        """Return it in a form that fits into JSON."""
        return {
            "group": self.group,
            "noise": self.noise.to_dicts(),
            "physicians": self.physicians.to_dicts(),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """Say it in words."""
        lines = []
        if self.group["change"] is not None:
            first, second, change, low, high = (
                round(100 * float(self.group[name] or 0.0))
                for name in ("first", "second", "change", "low", "high")
            )
            lines.append(
                f"All together: of 100 pairs of comparable {self.words.cases} {first} were decided "
                f"differently the first time and {second} the second, a change of {change:+d} "
                f"[{low:+d}, {high:+d}]."
            )
        for row in self.noise.iter_rows(named=True):
            cases = self.words.cases
            before, after = (round(200 * row[name]) for name in ("first", "second"))
            lines.append(f"{row['component']}: {before} -> {after} of 100 {cases} seen by two.")
        sure = self.physicians.filter(pl.col("probability") >= SURE).height
        lines.append(
            f"{self.words.counted(self.physicians.height)} in both; {sure:,} of them changed by "
            f"more than {100 * MATTERS:.0f} of 100, with a probability of {100 * SURE:.0f} % or "
            "more."
        )
        return [*lines, *(f"note: {note}" for note in self.notes)]


def compare(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    *,
    decision: str | None = None,
    exact: bool = False,
) -> Comparison:
    """Compare two stored measurements.

    Physicians meet by the names in both private folders, where these are at hand; else by their
    pseudonyms, which are the same under one key.

    Parameters
    ----------
    first, second
        The folders that `intravar measure --out` wrote.
    decision
        Which one, where several were measured.
    exact
        Whether physicians are compared by the exact figures that both private folders keep, also
        those whose figures were not published. The result has names and must not be handed on.
    """
    folders = Path(first), Path(second)
    stored = tuple(read_published(folder) for folder in folders)
    places = [
        chosen_decision([each.decision for each in published.decisions], decision)
        for published in stored
    ]
    chosen = tuple(each.decisions[at] for each, at in zip(stored, places, strict=True))
    methods = [each.method for each in chosen]
    if methods[0] != methods[1]:
        raise InputError(
            "the measurements are by different methods, '{}' and '{}'; measure both with {}",
            *methods,
            option("method", methods[0]),
        )
    words, notes = stored[1].words, []
    keys = [private_folder(folder.resolve()) / KEY_FILE for folder in folders]
    by_name = not exact and all(readable(key) for key in keys)
    if exact:
        remedy = told("compare where both were measured, or leave {} out", option("exact"))
        tables = [
            private_table(folder, file_of(FIGURES_FILE, at), "exact figures", remedy)
            for folder, at in zip(folders, places, strict=True)
        ]
        notes.append("exact figures and names from both private folders; do not hand this on")
    else:
        tables = [each.table for each in chosen]
    if by_name and read_key(keys[0]) != read_key(keys[1]):
        notes.append(f"{words.deciders} were matched by the names in both private folders")
    tables = [
        table.with_columns(who=pl.col("physician").replace(read_names(key) if by_name else {}))
        for table, key in zip(tables, keys, strict=True)
    ]
    both = tables[0].join(tables[1], on="who", suffix="_second", how="inner").sort("physician")
    if not both.height:
        raise InputError(
            "no {} is in both measurements: names are matched where both private folders "
            "are at hand, pseudonyms only under one key; put the private folders back, "
            "or measure the second time with {} and the key.json of the first one's "
            "private folder",
            words.decider,
            option("key"),
        )
    known = both.drop_nulls([*_ENDS, *(f"{name}_second" for name in _ENDS)])
    notes = [*_notes(tables, both, known, stored), *notes]
    value, low, high = (
        known.select(pl.col(name, f"{name}_second").cast(pl.Float64)).to_numpy() for name in _ENDS
    )
    change, change_low, change_high = _difference(value, low, high)
    error = (change_high - change_low) / (2 * float(norm.ppf(0.5 + LEVEL / 2)))
    figures = {"first": value[:, 0], "second": value[:, 1], "change": change}
    figures |= {"low": change_low, "high": change_high}
    figures["probability"] = changes_together(change, error, MATTERS).probability
    physicians = pl.DataFrame({"physician": known["physician"], **figures})
    rounded = physicians.with_columns(pl.col(pl.Float64).round(3))
    return Comparison(rounded, _group(chosen), _noise(chosen), tuple(notes), words)


def decisions_in_both(
    first: str | os.PathLike[str], second: str | os.PathLike[str]
) -> tuple[str | None, ...]:
    """Return the decisions that two measurements share; None stands for the only one of each."""
    named = [
        tuple(each.decision for each in read_published(folder).decisions)
        for folder in (first, second)
    ]
    if len(named[0]) == len(named[1]) == 1:
        return (None,)
    shared = tuple(name for name in named[0] if name in named[1])
    if not shared:
        raise InputError(
            f"no decision is in both measurements: {', '.join(named[0])} in the first and "
            f"{', '.join(named[1])} in the second; measure the same decision twice"
        )
    return shared


def _difference(value: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, ...]:
    weight = np.tile([-1.0, 1.0], (len(value), 1))
    return weighted_sum(weight, Interval(low, high, np.full(value.shape, np.nan)), value)


def _group(chosen: tuple[Decision, ...]) -> dict[str, float | None]:
    groups = [each.group for each in chosen if each.group and each.group.discordance is not None]
    if len(groups) < len(chosen):
        return dict.fromkeys(("first", "second", "change", "low", "high"))
    value, low, high = (np.array([[getattr(each, name) for each in groups]]) for name in _ENDS)
    found = _difference(value, low, high)
    names = ("change", "low", "high")
    return {
        "first": float(value[0, 0]),
        "second": float(value[0, 1]),
        **{name: fraction(float(each[0]), 3) for name, each in zip(names, found, strict=True)},
    }


def _noise(chosen: tuple[Decision, ...]) -> pl.DataFrame:
    schema = {"component": pl.String, "first": pl.Float64, "second": pl.Float64}
    parts = [each.group.noise for each in chosen if each.group and each.group.noise]
    rows = [
        (field.name, *(getattr(each, field.name).value for each in parts))
        for field in fields(Noise)
        if len(parts) == len(chosen)
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _notes(
    tables: list[pl.DataFrame],
    both: pl.DataFrame,
    known: pl.DataFrame,
    stored: tuple[Published, ...],
) -> list[str]:
    notes = []
    alone = tables[0].height - both.height, tables[1].height - both.height
    if any(alone):
        notes.append(
            f"{alone[0]:,} are in the first measurement only, {alone[1]:,} in the second only"
        )
    if known.height < both.height:
        notes.append(f"{both.height - known.height:,} in both have no value in one of them")
    first, second = (each.request for each in stored)
    other = [name for name in _MEANING if getattr(first, name) != getattr(second, name)]
    if other:
        notes.append(
            f"the requests differ in {', '.join(other)}: they may measure different things"
        )
    return notes
