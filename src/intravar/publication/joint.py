"""What several decisions hand on: the joint figures without names and small counts.

A joint figure is a number only where no combination of decisions is that of few patients, where
those of whom a decision is missing are none or many, and where panel and reliability reach the
request's limits. Elsewhere there is a band, which follows from what is published of each decision:
two patients differ in at least one at least as often as in any one of them, and at most as often as
in all added up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl
from polars import selectors

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference import assess
from intravar.inference.contrasts import weighted_sum
from intravar.inference.intervals import Interval
from intravar.inference.outcomes import positions
from intravar.measurement.sentences import about
from intravar.measurement.verdict import NOTHING
from intravar.publication import hiding
from intravar.publication.results import (
    Decision,
    DecisionRow,
    Joint,
    JointDecision,
    JointPair,
    JointRow,
    PairRow,
    rows_of,
    told_of,
)
from intravar.tables import MOST_DISCORDANCE, hundred, number
from intravar.wording import USUAL, Words

if TYPE_CHECKING:
    from intravar.measurement.wider.several import Together

#: Figures of all patients are no coarser than this.
COARSEST = 0.1
#: To this correlations of single physicians are rounded.
CORRELATION = 0.05
#: Shares of patients are told if their step is no coarser.
FINEST_SHARE = 0.05
#: An upper limit and the ends of its interval, and which way they are rounded.
_ENDS = {"": 0.5, "_low": -0.5, "_high": 0.5}
#: Where a discordance lies of which nothing is known.
ANY = (0.0, MOST_DISCORDANCE)
#: What is said of a decision as it is by itself.
_ALONE = (
    *("physician", "n_patients", "discordance", "low", "high"),
    *("band_low", "band_high", "reportable"),
)
#: A range of limits that ends at so much of the largest there can be, or above, says nothing.
NEARLY_ALL = 0.95
NOT_SHOWN = "few decisions, few of one combination, or low reliability"
NO_RANGE = f"{NOT_SHOWN}; and a range of limits would say nothing"
UNREAD = "one of the decisions is not interpretable"
#: Two decisions, over all or of one physician.
Pair = TypeVar("Pair", JointPair, PairRow)
#: Ends of bands stay: they follow from what is published, and one may be the largest there can be.
ROUNDED = (selectors.float() - selectors.starts_with("band_")).round(hiding.DIGITS)


def published_joint(
    found: Together, names: Mapping[str, str], decisions: Sequence[Decision]
) -> Joint:
    """Return what several decisions say together, beside what is told of each by itself."""
    told = hiding.named(found.joint.physicians.drop("differ_error", "n_patients"), names)
    shown = _shown(found)
    bands = _bands(found, told["physician"].to_list(), shown, decisions)
    why = [NO_RANGE if low is None else NOT_SHOWN for low in bands["low"]]
    physicians = told.with_columns(
        pl.when(pl.Series(shown)).then(pl.col(pl.Float64)),
        *(pl.Series(f"band_{end}", ends, pl.Float64) for end, ends in bands.items()),
        reportable=pl.Series(shown),
        reason=pl.when(~pl.Series(shown)).then(pl.Series(why)),
    )
    visible = pl.col("physician").is_in(told["physician"].filter(pl.Series(shown)).implode())
    more = hiding.named(found.joint.by_decision, names).select(
        "physician", "decision", "across", "given"
    )
    by_physician = (
        pl.concat(
            each.table.select(pl.lit(each.decision).alias("decision"), *_ALONE)
            for each in decisions
        )
        .join(more, on=["physician", "decision"], how="left")
        .with_columns(
            pl.when("reportable").then(pl.col("across")), pl.when(visible).then(pl.col("given"))
        )
    )
    figures = pl.col("correlation", "low", "high")
    if found.request.smallest_cell > 1:
        # Each is drawn towards the mean of all, hidden ones included.
        figures = ((figures / CORRELATION).round() * CORRELATION).round(hiding.DIGITS) + 0.0
    pairs = hiding.named(found.joint.pairs_by_physician, names).with_columns(
        pl.when(visible).then(figures)
    )
    rounded = pl.all() if found.request.smallest_cell == 1 else ROUNDED
    joint = Joint(
        **_of_all(found),
        n_reportable=int(physicians["reportable"].sum()),
        n_banded=physicians["band_low"].count(),
        decisions=_by_decision(found, decisions),
        pairs=tuple(_pair(found, row) for row in found.joint.pairs.iter_rows(named=True)),
        physicians=rows_of(physicians.sort("physician").with_columns(rounded), JointRow),
        by_physician=rows_of(
            by_physician.sort("physician", "decision").with_columns(rounded), DecisionRow
        ),
        pairs_by_physician=rows_of(
            pairs.drop("n_patients").sort("physician", "first", "second"), PairRow
        ),
    )
    unread = {each.decision for each in decisions if each.verdict == NOTHING}
    return _without(joint, unread) if unread else joint


def _without(joint: Joint, unread: set[str]) -> Joint:
    """Return what does not use decisions of which nothing may be read."""
    order = [each.decision for each in joint.decisions]

    def pair(row: Pair) -> Pair:
        used = unread & {row.first, row.second}
        return told_of(row, "physician", "first", "second") if used else row

    later = order[min(order.index(name) for name in unread) :]
    return told_of(
        joint,
        n_reportable=0,
        n_banded=0,
        decisions=tuple(
            replace(
                each,
                discordance=None if each.decision in unread else each.discordance,
                given=None if each.decision in later else each.given,
            )
            for each in joint.decisions
        ),
        pairs=tuple(map(pair, joint.pairs)),
        physicians=tuple(
            told_of(row, "physician", reportable=False, reason=UNREAD) for row in joint.physicians
        ),
        # What is pulled together across decisions uses all of them.
        by_physician=tuple(
            replace(row, across=None, given=None if row.decision in later else row.given)
            for row in joint.by_physician
        ),
        pairs_by_physician=tuple(map(pair, joint.pairs_by_physician)),
    )


def _shown(found: Together) -> BoolArray:
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
        ends = {"": "score", "_low": "low", "_high": "high", "_error": "standard_error"}
        columns = {f"differ{end}": name for end, name in ends.items()}
        table = found.joint.physicians[rows].rename(columns)
        reliable = assess(table).table["reliability"].fill_null(0.0).to_numpy()
        shown[rows] = ~(reliable < found.request.min_reliability)
    return shown


def _bands(
    found: Together, physicians: list[str], shown: BoolArray, alone: Sequence[Decision]
) -> dict[str, list[float | None]]:
    """Return the ends of bands of those without a number, from what each decision tells of all."""
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in physicians}
    for decision in alone:
        main = found.decisions[decision.decision].main
        of_all = main.scores.scale == "discordance" and main.evidence.core is None
        rows = {row.physician: row for row in decision.physicians if of_all}
        for name, listed in ends.items():
            row = rows.get(name)
            if row is not None and row.discordance is not None:
                listed.append((row.discordance, row.discordance))
            else:
                band = None if row is None else row.band
                listed.append(ANY if band is None else (band.low, band.high))
    bands = [
        None if numbers else joint_band(ends[name])
        for name, numbers in zip(physicians, shown.tolist(), strict=True)
    ]
    return {
        end: [None if band is None else band[at] for band in bands]
        for at, end in enumerate(("low", "high"))
    }


def _of_all(found: Together) -> dict[str, float | None]:
    """Return the figures of all patients with all decisions, with intervals.

    What is too high is too high with everybody, so that low ends are averaged; what scatters
    upwards is another matter with each, and high ends are closer than those of physicians.
    """
    table = found.joint.physicians.drop_nulls("differ")
    n = table["n_patients"].to_numpy()
    weight = (n / n.sum())[None, :]
    told: dict[str, float | None] = {}
    for name, times in (("differ", 1), ("n_differences", len(found.joint.decisions))):
        value, low, high = (table[f"{name}{end}"].to_numpy()[None, :] for end in _ENDS)
        mean, _, top = weighted_sum(weight, Interval(low, high, np.zeros_like(low)), value)
        ends = mean, (weight * low).sum(axis=1), top
        for (end, way), figure in zip(_ENDS.items(), ends, strict=True):
            value_of_all = max(float(figure[0]), 0.0)
            told[f"{name}{end}"] = _coarse(found, value_of_all, int(n.sum()), way, times)
    told["differ_apart"] = _coarse(found, found.joint.differ_apart, int(n.sum()))
    return told


def _by_decision(found: Together, alone: Sequence[Decision]) -> tuple[JointDecision, ...]:
    """Return every decision over all patients, as it is by itself and given those before it."""

    def given(name: str) -> float | None:
        told = found.joint.by_decision.filter(pl.col("decision") == name).drop("n_patients")
        table = told.join(found.joint.physicians, on="physician").drop_nulls("given")
        weight: IntArray = table["n_patients"].to_numpy()
        if not len(weight):
            return None
        values: FloatArray = table["given"].to_numpy()
        return _coarse(found, float(values @ weight / weight.sum()), int(weight.sum()))

    return tuple(
        JointDecision(
            each.decision,
            None if each.group is None else each.group.discordance,
            given(each.decision),
        )
        for each in alone
    )


def _coarse(
    found: Together, value: float, n: int, way: float = _ENDS[""], weight: int = 1
) -> float | None:
    """Round a limit of all patients to what some of them move: up, or its low end down."""
    smallest = found.request.smallest_cell
    step = hiding.coarse_step(n, smallest, weight=weight, finest=0.01)
    told = hiding.coarse(value + way * (step - 1e-9), step)
    return told if hiding.moved(n, smallest) <= COARSEST else None


def _pair(found: Together, row: dict[str, Any]) -> JointPair:
    smallest, n = found.request.smallest_cell, row["n_patients"]
    share = hiding.coarse_step(n, smallest)
    pair = (found.predicted.names.index(row[end]) for end in ("first", "second"))
    both = int(hiding.pair_counts(found.predicted, *pair)[:, 3].sum())
    few = hiding.is_few(both, smallest) or share > FINEST_SHARE
    told = {
        name: None if few else hiding.coarse(row[name], share) for name in ("together", "expected")
    }
    # A residual weighs several times as much as a patient.
    step = hiding.coarse_step(n, smallest, weight=4, finest=0.01)
    for name, way in (("correlation", 0.0), ("low", -0.5), ("high", 0.5)):
        told[name] = hiding.coarse(row[name] + way * step, step)
    steadiness = hiding.fraction(row["steadiness"], 1)
    return JointPair(row["first"], row["second"], **told, steadiness=steadiness)


def joint_lines(joint: Joint, words: Words = USUAL) -> list[str]:
    """Say what the decisions tell together, a line each, in the words of whoever asked."""
    if any(row.reason == UNREAD for row in joint.physicians):
        lines = [f"nothing can be said of all decisions together: {UNREAD}"]
    elif joint.differ is None:
        few = "there are too few {cases} with all decisions to say anything of all of them"
        lines = [words.fill(few)]
    else:
        lines = [
            words.fill(
                "of 100 pairs of comparable {cases}, {told} differ in at least one of {n} "
                "decisions",
                told=about(joint.differ, joint.differ_low, joint.differ_high, "at most"),
                n=len(joint.decisions),
            ),
            f"on average they differ in at most {number(joint.n_differences or 0, 'at most')} "
            f"decisions (95 % sure: at most {number(joint.n_differences_high or 0, 'at most')})",
            "if decisions were independent of each other, at most "
            f"{hundred(joint.differ_apart or 0.0, 'at most')} of 100 would differ in at least one",
        ]
        if not (joint.n_reportable or joint.n_banded):
            lines.append(words.fill("no {decider} has a joint figure: ") + NO_RANGE)
    for pair in joint.pairs:
        if not ((pair.low or 0.0) > 0 or (pair.high or 0.0) < 0):
            continue
        often, shares = "more" if (pair.correlation or 0.0) > 0 else "less", ""
        if pair.together is not None:
            told = (f"{100 * (each or 0.0):.3g}" for each in (pair.together, pair.expected))
            shares = f" ({' instead of '.join(told)} of 100 {words.cases})"
        both = f"{words.label(pair.first)} and {words.label(pair.second)}"
        lines.append(f"{both} are given together {often} often than covariates explain{shares}")
    return lines


def combinations_of(decided: IntArray, code: IntArray, n_physicians: int) -> IntArray:
    """Return per physician how many patients got every combination of decisions."""
    n_combinations = 2 ** decided.shape[1]
    cell = code * n_combinations + positions(decided)
    counts = np.bincount(cell, minlength=n_physicians * n_combinations)
    return counts.reshape(n_physicians, n_combinations)


def outside_of(decided: IntArray, known: BoolArray, code: IntArray, n_physicians: int) -> IntArray:
    """Return of patients with a decision missing how many were decided how, by decision."""
    partly = ~known.all(axis=1)
    columns = [
        np.bincount(code[partly & known[:, k] & (decided[:, k] == answer)], minlength=n_physicians)
        for k in range(decided.shape[1])
        for answer in (0, 1)
    ]
    return np.column_stack(columns)


def may_be_told(combinations: Sequence[int], outside: Sequence[int], smallest: int) -> bool:
    """Tell whether a joint figure may be a number: no combination is of few, nor are others.

    `outside` are patients of whom a decision is missing, by decision and answer.
    """
    return not any(hiding.is_few(count, smallest) for count in combinations) and not any(
        count > 0 and hiding.is_few(count, smallest) for count in outside
    )


def joint_band(ends: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return between what the probability to differ in at least one decision lies.

    `ends` tell where the published discordance of each decision lies: a number twice, the ends of a
    band, or :data:`ANY`. None where it could be nearly the largest there can be.

    Examples
    --------
    >>> joint_band([(0.301, 0.301), (0.0, 0.05)]), joint_band([(0.0, 0.25), (0.0, 0.05)])
    ((0.3, 0.36), (0.0, 0.3))
    >>> joint_band([(0.2, 0.2), ANY]), joint_band([(0.42, 0.42), ANY]), joint_band([ANY, ANY])
    ((0.2, 0.7), None, None)
    """
    most = 1 - 0.5 ** len(ends)
    low = math.floor(100 * max(low for low, _ in ends) + 1e-9) / 100
    high = math.ceil(100 * sum(high for _, high in ends) - 1e-9) / 100
    return None if high >= NEARLY_ALL * most else (low, high)
