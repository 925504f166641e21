"""Two stored measurements set side by side: what changed from one to the other.

Patients are taken to be others the second time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import FloatArray
from intravar.errors import InputError, Option, option
from intravar.inference.contrasts import changes_together, weighted_sum
from intravar.inference.intervals import LEVEL, Interval
from intravar.measurement.sentences import SEEN_BY_TWO, WHY_DIFFERENT
from intravar.publication import files
from intravar.publication.explain import chosen_decision, private_table
from intravar.publication.hiding import coarse_step, fraction
from intravar.publication.policy import DOMINATED_STEP, FEWEST_PATIENTS, FINE, GROUP_DIGITS
from intravar.publication.pseudonyms import KEY_FILE, read_key, read_names, readable
from intravar.publication.results import Decision, Figure, JointRow, Published, frame_of
from intravar.publication.sentences import SURE, comparable_parts, saying
from intravar.request import MATTERS, Request, in_section
from intravar.table_files import read_parquet
from intravar.tables import MOST_DISCORDANCE, is_upper_limit
from intravar.wording import USUAL, Words, agree, naming, with_options

_ENDS = ("discordance", "low", "high")
#: Parts of a request that say which patients are meant.
_WHOSE = {"where", "table", "query", "sheet"}
#: What the comparison of several decisions together is called beside that of each.
TOGETHER = "all decisions together"
#: A change of all whose interval lies farther from 0 is told, however figures are rounded.
SMALLEST_SURE = 0.05


@dataclass(frozen=True)
class Changed:
    """How a figure changed, as shares of pairs: of a physician, or of all together.

    `of` is the physician, or what the `figure` of all is of. What is not known is None, and so is a
    change that lies within the rounding of both values. By the `claim` "at most" the values are
    estimates of upper limits, and by "about" of the figures themselves. `probability` is how sure
    the change of a physician is.
    """

    of: str
    first: float | None
    second: float | None
    change: float | None
    low: float | None
    high: float | None
    claim: str
    figure: str = ""
    within_rounding: bool = False
    probability: float | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """What changed from one measurement to another.

    Attributes
    ----------
    physicians
        One row per physician who is in both: both values, change, low, high, probability.
    group
        The figures of all together: the discordance and the parts of noise; or of several
        decisions the share of pairs that differ, and in how many.
    notes
        What to mind.
    words
        What whoever asked the second time calls things.
    same_patients
        Whether both times the same patients were measured, so that intervals say nothing.
    claim
        Whether the values estimate the figures themselves ("about") or upper limits ("at most").
    """

    physicians: pl.DataFrame
    group: tuple[Changed, ...]
    notes: tuple[str, ...]
    words: Words = USUAL
    same_patients: bool = False
    claim: str = "about"

    def naming(self, how: Callable[[Option], str]) -> Comparison:
        """Return it with the options in its notes as somebody calls them."""
        return replace(self, notes=tuple(str(naming(note, how)) for note in self.notes))

    def rows(self) -> tuple[Changed, ...]:
        """Return the physicians one by one, the surest change first."""
        rows = self.physicians.rename({"physician": "of"}).sort(-pl.col("probability"), "of")
        return tuple(Changed(**row, claim=self.claim) for row in rows.iter_rows(named=True))

    def as_json(self) -> dict[str, Any]:
        """Return it in a form that fits into JSON."""
        return {
            "group": [asdict(row) for row in self.group],
            "physicians": self.physicians.to_dicts(),
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """Say in words how many changed, and what to mind."""
        say = saying("compared", self.words)
        changed = say("both", who=self.words.counted(self.physicians.height))
        if not self.same_patients:
            sure = self.physicians.filter(pl.col("probability") >= SURE).height
            changed += say("changed", n=sure, matters=100 * MATTERS, sure=100 * SURE)
        return [f"{changed}.", *(f"note: {note}" for note in self.notes)]


class _Pair:
    """Both folders, what they publish, and whether exact figures of private folders are read."""

    def __init__(
        self, first: str | os.PathLike[str], second: str | os.PathLike[str], exact: bool
    ) -> None:
        self.folders, self.exact = (Path(first), Path(second)), exact
        self.stored = files.read_published(first), files.read_published(second)

    def private(self, name: str) -> list[Path]:
        """Return where a file lies in both private folders."""
        return [files.measurement_folders(folder)[1] / name for folder in self.folders]

    def tables(self, names: Sequence[str]) -> list[pl.DataFrame] | None:
        """Return exact figures from the private files of these names; None if not asked for."""
        remedy = f"compare where both were measured, or leave {option('exact')} out"
        named = zip(self.folders, names, strict=True)
        read = [private_table(*each, "exact figures", remedy) for each in named if self.exact]
        return read or None


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
        Whether figures are the exact ones that both private folders keep, also of physicians whose
        figures were not published. The result has names and must not be handed on.
    """
    return _one(_Pair(first, second, exact), decision)


def compare_each(
    first: str | os.PathLike[str], second: str | os.PathLike[str], *, exact: bool = False
) -> dict[str, Comparison]:
    """Compare every decision that two measurements share, and all together if they share all.

    The only decision of each has an empty name.
    """
    pair = _Pair(first, second, exact)
    named = [tuple(each.decision for each in published.decisions) for published in pair.stored]
    if len(named[0]) == len(named[1]) == 1:
        return {"": _one(pair, None)}
    shared = tuple(name for name in named[0] if name in named[1])
    if not shared:
        raise InputError(
            f"no decision is in both measurements: {', '.join(named[0])} in the first and "
            f"{', '.join(named[1])} in the second; measure the same decision twice"
        )
    each = {name: _one(pair, name) for name in shared}
    return {TOGETHER: _together(pair), **each} if set(named[0]) == set(named[1]) else each


def _one(pair: _Pair, decision: str | None) -> Comparison:
    """Compare one decision: the discordance of all together, the parts of noise, physicians."""
    places = [
        chosen_decision([each.decision for each in published.decisions], decision)
        for published in pair.stored
    ]
    chosen = [each.decisions[at] for each, at in zip(pair.stored, places, strict=True)]
    methods = [each.method for each in chosen]
    if methods[0] != methods[1]:
        raise InputError(
            f"the measurements are by different methods, '{methods[0]}' and '{methods[1]}'; "
            f"measure both with {option('method', methods[0])}"
        )
    exact = pair.tables([files.file_of(files.FIGURES_FILE, at) for at in places])
    requests = [each.request for each in pair.stored]
    step = sum(map(_step_of_mean, chosen, requests))
    means = [Figure() if each.group is None else each.group.discordance for each in chosen]
    claim = chosen[1].claim
    rows = _changed("discordance", chosen[1].compared, means, step, claim, exact)
    noise = [each.group.noise for each in chosen if each.group and each.group.noise]
    finest = sum(_step([each], asked) for each, asked in zip(chosen, requests, strict=True))
    names = comparable_parts(noise) if len(noise) == len(chosen) else ()
    why = {name: f"because {WHY_DIFFERENT[name]}" for name in names}
    if why:
        why = {"system": SEEN_BY_TWO} | why
    for name, of in why.items():
        parts = [getattr(each, name) for each in noise]
        # The whole is a sum of three rounded parts.
        far = max(step, finest) * (2 if name == "system" else 1)
        # As shares of pairs they are twice as large. Private folders keep no parts of noise.
        kept = None if exact is None else ()
        rows += _changed(name, pair.stored[1].words.fill(of), parts, far, "about", kept, times=2)
    tables = exact or [each.table for each in chosen]
    return _compared(pair, tables, rows, [[each] for each in chosen], claim)


def _together(pair: _Pair) -> Comparison:
    """Compare how often pairs differ in at least one of several decisions, and in how many."""
    joints = [each.joint for each in pair.stored if each.joint is not None]
    exact = pair.tables([files.JOINT_FILE, files.JOINT_FILE])
    n, rows = len(joints[0].decisions), []
    for figure, weight, of in (
        ("differ", 1, f"pairs that differ in at least one of {n} decisions"),
        ("n_differences", n, f"differences over all {n} decisions, counted per 100 pairs"),
    ):
        values = [getattr(each, figure) for each in joints]
        step = sum(_step(each.decisions, each.request, weight) for each in pair.stored)
        rows += _changed(figure, of, values, step, "at most", exact)
    ends = dict(zip(("differ", "differ_low", "differ_high"), _ENDS, strict=True))
    tables = exact or [frame_of(each.physicians, JointRow) for each in joints]
    tables = [each.rename(ends) for each in tables]
    return _compared(pair, tables, rows, [each.decisions for each in pair.stored], "at most")


def _step(decisions: Sequence[Decision], request: Request, weight: int = 1) -> float:
    """Return the step to which figures over all patients were rounded, or a coarser one."""
    n = min(each.n_patients_shown for each in decisions)
    step = coarse_step(n, request.smallest_cell, weight=weight, finest=10.0**-GROUP_DIGITS)
    dominated = any(each.group is not None and each.group.dominated for each in decisions)
    return max(step, DOMINATED_STEP) if dominated else step


def _step_of_mean(decision: Decision, request: Request) -> float:
    """Return how far rounding, and secrets of the key, may move the mean of all.

    Of few patients it follows from what is told of each, and a secret decides on ranges.
    """
    step = _step([decision], request)
    if step <= FINE:
        return step
    # A score that is only too unreliable to report counts with what it is.
    known = [row.reportable or row.reliability is not None for row in decision.physicians]
    sizes = np.array([row.n_patients or FEWEST_PATIENTS for row in decision.physicians])
    hidden = float(sizes[~np.array(known)].sum() / sizes.sum())
    secrets = 10.0**-GROUP_DIGITS + hidden * MOST_DISCORDANCE / 2
    if decision.group is not None and decision.group.dominated:
        return step + secrets
    return max(FINE, secrets)


def _changed(
    figure: str,
    of: str,
    both: Sequence[Figure],
    step: float,
    claim: str,
    exact: Sequence[pl.DataFrame] | None,
    times: float = 1,
) -> list[Changed]:
    """Return how a figure of all changed; nothing where it is not published.

    `step` is how far rounding of both moves them apart. From `exact` figures of physicians follows
    the exact mean over their patients; without any nothing exact is known.
    """
    if is_upper_limit(claim):
        of = f"{of} (estimate of the limit)"
    value, low, high = times * np.array([astuple(each) for each in both], dtype=np.float64).T
    if exact is not None:
        known = pl.col("n_patients").filter(pl.col(figure).is_not_null())
        mean = (pl.col(figure) * pl.col("n_patients")).sum() / known.sum()
        value, step = np.array([table.select(mean).item() for table in exact]), 0.0
    if not len(value) or not np.isfinite(value).all():
        return [] if exact is None else [Changed(of, *(None,) * 5, claim, figure)]
    low, high = np.minimum(low, value), np.maximum(high, value)
    change, below, above = (
        fraction(float(each[0]), 3) for each in _difference(value[None], low[None], high[None])
    )
    # What its interval tells is no rounding, however few the patients.
    sure = max(below or 0.0, -(above or 0.0)) > SMALLEST_SURE
    within = abs(change or 0.0) < step - 1e-9 and not sure
    if below == above:
        below = above = None
    first, second = (round(float(each), 3) for each in value)
    visible = None if within and change else change
    return [Changed(of, first, second, visible, below, above, claim, figure, within)]


def _compared(
    pair: _Pair,
    tables: Sequence[pl.DataFrame],
    group: Sequence[Changed],
    decisions: Sequence[Sequence[Decision]],
    claim: str,
) -> Comparison:
    """Compare the physicians of two tables, and say what to mind."""
    words, keys = pair.stored[1].words, pair.private(KEY_FILE)
    by_name = not pair.exact and all(map(readable, keys))
    first, second = (
        table.with_columns(who=pl.col("physician").replace(read_names(key) if by_name else {}))
        for table, key in zip(tables, keys, strict=True)
    )
    both = first.join(second, on="who", suffix="_second", how="inner").sort("physician")
    say = saying("compared", words)
    if not both.height:
        raise InputError(say("nobody", key=f"{option('key')}"))
    known = both.drop_nulls([*_ENDS, *(f"{name}_second" for name in _ENDS)])
    same = _same_patients(pair.stored, decisions)
    notes: list[str] = []
    alone = first.height - both.height, second.height - both.height
    if any(alone):
        are = agree(alone[0], "is", "are")
        notes.append(say("alone", first=alone[0], are=are, second=alone[1]))
    if without := both.height - known.height:
        have = agree(without, "is in both and has", "are in both and have")
        notes.append(say("without", n=without, have=have))
    notes += _other_requests(*pair.stored)
    if same or _share_patients(pair):
        notes.append(say("same" if same else "some"))
    if pair.exact:
        notes.append(say("exact"))
    if by_name and read_key(keys[0]) != read_key(keys[1]):
        notes.append(say("by_name"))
    value, low, high = (
        known.select(pl.col(name, f"{name}_second").cast(pl.Float64)).to_numpy() for name in _ENDS
    )
    change, change_low, change_high = _difference(value, low, high)
    error = (change_high - change_low) / (2 * float(norm.ppf(0.5 + LEVEL / 2)))
    figures = {"first": value[:, 0], "second": value[:, 1], "change": change}
    figures |= {"low": change_low, "high": change_high}
    figures["probability"] = changes_together(change, error, MATTERS)["probability"]
    physicians = pl.DataFrame({"physician": known["physician"], **figures})
    rounded = physicians.with_columns(pl.col(pl.Float64).round(3))
    return Comparison(rounded, tuple(group), tuple(notes), words, same, claim)


def _difference(value: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, ...]:
    weight = np.tile([-1.0, 1.0], (len(value), 1))
    return weighted_sum(weight, Interval(low, high, np.full(value.shape, np.nan)), value)


def _other_requests(first: Published, second: Published) -> list[str]:
    """Say in what two requests and their sources differ."""
    # The default method may be named.
    differing = second.request.differences(first.request.as_dict())
    names = [name for name in differing if name != "method"]
    parts = []
    if first.source != second.source:
        parts.append(f"source: {first.source} then {second.source}")
    for name in names:
        given = (getattr(each.request, name) for each in (first, second))
        both = (" ".join(map(str, each)) if isinstance(each, tuple) else each for each in given)
        shown = ("none" if each in (None, "") else str(each) for each in both)
        parts.append(f"{option(name)}: {' then '.join(shown)}")
    columns = {each.name for each in in_section("columns")} & {*names}
    may = "; they may measure different things" if columns else ""
    return [with_options(f"the requests differ in {', '.join(parts)}{may}")] if parts else []


def _share_patients(pair: _Pair) -> bool:
    """Tell whether rows of one source are in both, the same in all that private folders keep."""
    kept = pair.private(files.PATIENTS_FILE)
    if pair.stored[0].source != pair.stored[1].source or not all(map(readable, kept)):
        return False
    try:
        first, second = map(read_parquet, kept)
        alike = [name for name, kind in first.schema.items() if second.schema.get(name) == kind]
        rows = first.join(second, on="row", how="semi").height
        return 0 < rows == first.join(second, on=alike, how="semi", nulls_equal=True).height
    except (OSError, pl.exceptions.PolarsError):
        return False  # a damaged file tells nothing of them


def _same_patients(stored: Sequence[Published], decisions: Sequence[Sequence[Decision]]) -> bool:
    """Tell whether both measured the same patients, by all that is published of them."""
    first, second = (each.request for each in stored)
    alike = all(getattr(first, name) == getattr(second, name) for name in _WHOSE)
    if not alike or stored[0].source != stored[1].source:
        return False
    # Sizes may be hidden; figures that are all the same tell it as well.
    for facts in (["n_patients", "rate"], ["discordance"]):
        figures = [
            [each.table.select(facts).sort(pl.all()).rows() for each in listed]
            for listed in decisions
        ]
        if figures[0] == figures[1] and any(row[0] for each in figures[0] for row in each):
            return True
    return False
