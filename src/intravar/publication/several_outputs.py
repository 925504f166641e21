"""What several decisions hand on: the joint figures without names and small counts.

Nobody has joint numbers of whom some combination of decisions is that of few patients, nor whose
panel or reliability is below the request's limits; most of them have a band.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import theirs
from intravar.inference import assess
from intravar.inference.contrasts import weighted_sum
from intravar.inference.intervals import Interval
from intravar.measurement.measure_several import SeveralMeasured
from intravar.publication.bands import Band
from intravar.publication.folders import shown_source
from intravar.publication.joint_bands import (
    ANY,
    combinations_of,
    joint_band,
    may_be_told,
    outside_of,
)
from intravar.publication.outputs import Outputs
from intravar.publication.rounding import DIGITS, coarse, coarse_step, fraction
from intravar.publication.suppression import is_few
from intravar.wording import USUAL, Words

#: Figures of all patients are no finer than what so many of them move, nor coarser than this.
MOVED, COARSEST = 24, 0.1
#: To this correlations of single physicians are rounded.
CORRELATION = 0.05
#: Shares of patients are told if their step is no coarser.
FINEST_SHARE = 0.05
#: Ends of an interval, and which way they are rounded.
_ENDS = {"": 0.0, "_low": -0.5, "_high": 0.5}
NOT_SHOWN = "few patients, few with a combination of decisions, or low reliability"


@dataclass(frozen=True)
class SeveralOutputs:
    """All that is written for others to read, beside what each decision hands on.

    Attributes
    ----------
    joint
        One row per physician: the decisions together.
    decisions
        One row per physician and decision.
    pairs
        One row per physician and two decisions: which go together.
    summary
        In a form that fits into JSON.
    """

    joint: pl.DataFrame
    decisions: pl.DataFrame
    pairs: pl.DataFrame
    summary: dict[str, Any]

    @property
    def words(self) -> Words:
        """What whoever asked calls things."""
        return Words.in_summary(self.summary)


def several_outputs(
    found: SeveralMeasured,
    names: Mapping[str, str],
    alone: Mapping[str, Outputs],
    folders: Mapping[str, str],
) -> SeveralOutputs:
    """Return what may be handed on.

    Parameters
    ----------
    found
        With everything in it.
    names
        What to call each physician.
    alone
        What each decision hands on by itself.
    folders
        Names of their folders.
    """
    told = _named(found.together.physicians.drop("differ_error", "n_patients"), names)
    shown = _shown(found)
    bands = _bands(found, told["physician"].to_list(), shown, alone)
    joint = told.with_columns(
        pl.when(pl.Series(shown)).then(pl.col(pl.Float64)),
        band=pl.Series(bands, dtype=pl.String),
        reportable=pl.Series(shown),
        reason=pl.Series([None if each else NOT_SHOWN for each in shown], dtype=pl.String),
    )
    visible = dict(zip(told["physician"].to_list(), shown.tolist(), strict=True))
    return SeveralOutputs(
        _rounded(found, joint.sort("physician")),
        _rounded(found, _decisions(found, names, alone, visible)),
        _pairs(found, names, visible),
        _summary(found, joint, folders),
    )


def _rounded(found: SeveralMeasured, table: pl.DataFrame) -> pl.DataFrame:
    if found.request.smallest_cell == 1:
        return table
    return table.with_columns(pl.col(pl.Float64).round(DIGITS))


def _named(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    called = pl.col("physician").cast(pl.String).replace_strict(names, return_dtype=pl.String)
    return table.with_columns(called)


def _shown(found: SeveralMeasured) -> BoolArray:
    """Tell whose joint figures are numbers; reliabilities are of those whose counts allow it."""
    predicted, J = found.predicted, len(found.predicted.physician)
    complete = predicted.known.all(axis=1)
    combinations = combinations_of(predicted.decided[complete], predicted.code[complete], J)
    outside = outside_of(predicted.decided, predicted.known, predicted.code, J)
    safe = [
        sum(cells) >= max(found.request.min_panel, 2)
        and may_be_told(cells, others, found.request.smallest_cell)
        for cells, others in zip(combinations.tolist(), outside.tolist(), strict=True)
    ]
    rows = np.flatnonzero(safe)
    shown = np.zeros(len(safe), dtype=np.bool_)
    if len(rows):
        table = found.together.physicians[rows].rename(
            {
                "differ": "score",
                "differ_low": "low",
                "differ_high": "high",
                "differ_error": "standard_error",
            }
        )
        reliable = assess(table).table["reliability"].fill_null(0.0).to_numpy()
        shown[rows] = ~(reliable < found.request.min_reliability)
    return shown


def _bands(
    found: SeveralMeasured,
    physicians: list[str],
    shown: BoolArray,
    alone: Mapping[str, Outputs],
) -> list[str | None]:
    """Return the band of everybody without a number, from what each decision hands on.

    A score on another scale, or of some of the patients alone, says nothing here.
    """
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in physicians}
    for decision, outputs in alone.items():
        main = found.measurements[decision].main
        of_all = main.scores.scale == "discordance" and main.evidence.core is None
        rows = {row["physician"]: row for row in outputs.physicians.iter_rows(named=True) if of_all}
        for name, listed in ends.items():
            listed.append(_ends(rows.get(name, {})))
    return [
        None if numbers else joint_band(ends[name])
        for name, numbers in zip(physicians, shown.tolist(), strict=True)
    ]


def _ends(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return where a published discordance lies."""
    if row.get("discordance") is not None:
        return row["discordance"], row["discordance"]
    band = Band.of_text(row["band"]) if row.get("band") else None
    return ANY if band is None else (band.low, band.high)


def _decisions(
    found: SeveralMeasured,
    names: Mapping[str, str],
    alone: Mapping[str, Outputs],
    visible: Mapping[str, bool],
) -> pl.DataFrame:
    """Return the published discordance of each decision with what the others add to it."""
    more = _named(found.together.by_decision, names).select(
        "physician", "decision", "across", "given"
    )
    published = pl.concat(
        outputs.physicians.select(
            "physician",
            pl.lit(name).alias("decision"),
            *("n_patients", "discordance", "low", "high", "band", "reportable"),
        )
        for name, outputs in alone.items()
    )
    joint = pl.col("physician").replace_strict(visible, return_dtype=pl.Boolean)
    return (
        published.join(more, on=["physician", "decision"], how="left")
        .with_columns(
            pl.when("reportable").then(pl.col("across")),
            pl.when(joint).then(pl.col("given")),
        )
        .sort("physician", "decision")
    )


def _pairs(
    found: SeveralMeasured, names: Mapping[str, str], visible: Mapping[str, bool]
) -> pl.DataFrame:
    joint = pl.col("physician").replace_strict(visible, return_dtype=pl.Boolean)
    figures = pl.col("correlation", "low", "high")
    if found.request.smallest_cell > 1:
        # Each is drawn towards the mean of all, hidden ones included.
        figures = ((figures / CORRELATION).round() * CORRELATION).round(DIGITS) + 0.0
    return (
        _named(found.together.pairs_by_physician, names)
        .with_columns(pl.when(joint).then(figures))
        .drop("n_patients")
        .sort("physician", "first", "second")
    )


def _both(found: SeveralMeasured, pair: Mapping[str, Any]) -> IntArray:
    """Return how many patients of every physician got both decisions."""
    predicted, J = found.predicted, len(found.predicted.physician)
    a, b = (predicted.names.index(pair[end]) for end in ("first", "second"))
    rows = predicted.known[:, a] & predicted.known[:, b]
    code = predicted.code[rows]
    both = predicted.decided[rows, a] * predicted.decided[rows, b]
    return np.bincount(code, both, minlength=J).astype(np.int64)


def _summary(
    found: SeveralMeasured, joint: pl.DataFrame, folders: Mapping[str, str]
) -> dict[str, Any]:
    together = found.together
    first = next(iter(found.measurements.values()))
    return {
        "what": "several",
        "version": version("intravar"),
        "source": shown_source(first.check.source),
        "request": found.request.as_dict(),
        "decisions": list(together.decisions),
        "folders": dict(folders),
        "n_physicians": joint.height,
        "n_reportable": int(joint["reportable"].sum()),
        "n_banded": int(joint["band"].count()),
        **_of_all(found),
        "by_decision": _by_decision(found),
        "pairs": [_pair(found, row) for row in together.pairs.iter_rows(named=True)],
        "verdicts": {name: each.verdict for name, each in found.measurements.items()},
    }


def _of_all(found: SeveralMeasured) -> dict[str, float | None]:
    """Return the figures of all patients with all decisions, with intervals.

    What is too high is too high with everybody, so that low ends are averaged; what scatters
    upwards is another matter with each, and high ends are closer than those of physicians.
    """
    table = found.together.physicians.drop_nulls("differ")
    n = table["n_patients"].to_numpy()
    weight = (n / n.sum())[None, :]
    told: dict[str, float | None] = {}
    for name, moves in (("differ", 1), ("n_differences", len(found.together.decisions))):
        value, low, high = (
            table[f"{name}{end}"].to_numpy()[None, :] for end in ("", "_low", "_high")
        )
        mean, _, top = weighted_sum(weight, Interval(low, high, np.zeros_like(low)), value)
        ends = mean, (weight * low).sum(axis=1), top
        for (end, way), figure in zip(_ENDS.items(), ends, strict=True):
            value_of_all = max(float(figure[0]), 0.0)
            told[f"{name}{end}"] = _coarse(found, value_of_all, int(n.sum()), way, moves)
    told["differ_apart"] = _coarse(found, found.together.differ_apart, int(n.sum()))
    return told


def _by_decision(found: SeveralMeasured) -> list[dict[str, Any]]:
    """Return every decision over all patients, alone and given those before it."""
    rows = []
    for name in found.together.decisions:
        table = found.together.by_decision.filter(pl.col("decision") == name)
        row: dict[str, Any] = {"decision": name}
        for figure in ("discordance", "given"):
            told = table.drop_nulls(figure)
            weight: IntArray = told["n_patients"].to_numpy()
            values: FloatArray = told[figure].to_numpy()
            row[figure] = (
                _coarse(found, float(values @ weight / weight.sum()), int(weight.sum()))
                if len(weight)
                else None
            )
        rows.append(row)
    return rows


def _coarse(
    found: SeveralMeasured, value: float, n: int, way: float = 0.0, moves: int = 1
) -> float | None:
    """Round a figure of all patients to what some of them move; None where that is all of it.

    Ends of intervals are rounded outwards, -1/2 or 1/2 of a step on the way.
    """
    if found.request.smallest_cell == 1:
        return fraction(value, 6)
    moved = moves * MOVED / n
    step = max(coarse_step(moved), 0.01)
    return coarse(value + way * step, step) if moved <= COARSEST * moves else None


def _pair(found: SeveralMeasured, row: dict[str, Any]) -> dict[str, Any]:
    smallest, n = found.request.smallest_cell, row["n_patients"]
    both = int(_both(found, row).sum())
    kept = {"first": row["first"], "second": row["second"]}
    share = coarse_step(MOVED / n)
    for name in ("together", "expected"):
        known = smallest == 1 or (not is_few(both, smallest) and share <= FINEST_SHARE)
        kept[name] = coarse(row[name], share) if known else None
    # A residual weighs several times as much as a patient.
    step = max(coarse_step(4 * MOVED / n), 0.01)
    for name, way in (("correlation", 0.0), ("low", -0.5), ("high", 0.5)):
        kept[name] = coarse(row[name] + way * step, step)
    kept["steadiness"] = fraction(row["steadiness"], 1)
    return kept


def joint_lines(summary: Mapping[str, Any], words: Words = USUAL) -> list[str]:
    """Say what the decisions tell together, a line each, in the words of whoever asked.

    Examples
    --------
    >>> joint_lines({"decisions": ["a", "b"], "differ": 0.4, "differ_low": 0.37,
    ...     "differ_high": 0.42, "differ_apart": 0.43, "n_differences": 0.5,
    ...     "n_differences_low": 0.46, "n_differences_high": 0.53, "pairs": []})[1]
    'expected number of differences: at most about 0.50 [0.46, 0.53]'
    """
    if summary["differ"] is None:
        lines = ["there are too few patients with all decisions to say anything of all of them"]
    else:
        lines = _together(summary)
    for pair in summary["pairs"]:
        if pair["low"] > 0 or pair["high"] < 0:
            lines.append(_together_more_or_less(pair, words))
    return [words.said(line) for line in lines]


def _together(summary: Mapping[str, Any]) -> list[str]:
    differ, low, high = (
        round(100 * summary[name]) for name in ("differ", "differ_low", "differ_high")
    )
    number, fewest, most = (
        f"{summary[f'n_differences{end}']:.2f}" for end in ("", "_low", "_high")
    )
    return [
        f"of 100 pairs of comparable patients, at most about {differ} [{low}, {high}] differ in at "
        f"least one of {len(summary['decisions'])} decisions",
        f"expected number of differences: at most about {number} [{fewest}, {most}]",
        f"as if decisions did not look at each other: {100 * summary['differ_apart']:.0f} of 100",
    ]


def _together_more_or_less(pair: Mapping[str, Any], words: Words) -> str:
    often = "more" if pair["correlation"] > 0 else "less"
    shares = ""
    if pair["together"] is not None:
        together, expected = (f"{100 * pair[name]:.3g}" for name in ("together", "expected"))
        shares = f" ({together} instead of {expected} of 100 patients)"
    first, second = (theirs(words.label(pair[end])) for end in ("first", "second"))
    return f"{first} and {second} are given together {often} often than covariates explain{shares}"
