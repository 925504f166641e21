"""What several decisions hand on: the joint figures, and what each hides because of the others.

Several decisions of the same patients tell more side by side: two panel sizes that differ by few
tell how many miss a decision, a size that one hides must not follow from another, and rates tell
combinations where nobody, or everybody, got two together. What follows from two decisions is hidden
in both.

A joint figure is a number only where no combination of decisions is that of few patients, where
those of whom a decision is missing are none or many, and where panel and reliability reach the
request's limits. Elsewhere there is a band, which follows from what is published of each decision:
two patients differ in at least one at least as often as in any one of them, and at most as often as
in all added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.inference import assess
from intravar.inference.contrasts import weighted_sum
from intravar.inference.intervals import Interval
from intravar.inference.outcomes import positions
from intravar.measurement.result import Measurement
from intravar.measurement.verdict import NOTHING
from intravar.publication import hiding, results
from intravar.publication.policy import (
    CORRELATION_STEP,
    DIGITS,
    JOINT_COARSEST,
    JOINT_SHARE_COARSEST,
    is_dominated,
    is_few,
    moved,
)
from intravar.publication.results import Decision, Figure, Joint, JointDecision, JointPair, rows_of
from intravar.publication.sentences import NO_RANGE, NOT_SHOWN, UNREAD
from intravar.tables import MOST_DISCORDANCE

if TYPE_CHECKING:
    from intravar.estimators.several import PredictedDecisions
    from intravar.measurement.wider.several import Together

#: Where a discordance lies of which nothing is known.
ANY = (0.0, MOST_DISCORDANCE)
#: A range of limits that ends at so much of the largest there can be, or above, says nothing.
NEARLY_ALL = 0.95


def published_joint(
    together: Together, names: Mapping[str, str], decisions: Sequence[Decision]
) -> Joint:
    """Return what several decisions say together, beside what is told of each by itself.

    Where nothing may be read of one of them, nothing is told that rests on it. Figures over all
    patients are left out where one physician without a joint number makes them up.
    """
    unread = {each.decision for each in decisions if each.verdict == NOTHING}
    hides, reportable = together.request.smallest_cell > 1, _reportable(together) & (not unread)
    digits = DIGITS if hides else 15
    joint, numbers = together.joint, pl.Series(reportable)
    physicians = hiding.named(joint.physicians, names)
    who, ends = physicians["physician"], [_ends(together, each) for each in decisions]
    bands = [
        None if number or unread else joint_band([each.get(name, ANY) for each in ends])
        for name, number in zip(who, reportable, strict=True)
    ]
    why = [UNREAD if unread else NO_RANGE if band is None else NOT_SHOWN for band in bands]
    physicians = physicians.with_columns(
        pl.when(numbers).then(pl.col(pl.Float64).round(digits)),
        *(
            pl.Series(f"band_{end}", [band and band[at] for band in bands], pl.Float64)
            for at, end in enumerate(("low", "high"))
        ),
        reportable=numbers,
        reason=pl.when(~numbers).then(pl.Series(why)),
    )
    visible = pl.col("physician").is_in(who.filter(numbers).implode())
    more = hiding.named(joint.by_decision, names).select(
        "physician",
        "decision",
        pl.when(not unread).then(pl.col("across")).round(digits),
        pl.when(visible).then(pl.col("given")).round(digits),
    )
    alone = pl.concat(each.table.with_columns(decision=pl.lit(each.decision)) for each in decisions)
    by_physician = alone.join(more, on=["physician", "decision"], how="left").with_columns(
        pl.when("reportable").then(pl.col("across"))
    )
    # Each is drawn towards the mean of all, hidden ones included.
    figures = pl.col("correlation", "low", "high")
    if hides:
        figures = ((figures / CORRELATION_STEP).round() * CORRELATION_STEP).round(DIGITS) + 0.0
    pairs = hiding.named(joint.pairs_by_physician, names).with_columns(
        pl.when(visible).then(figures)
    )
    # Figures over all patients that one of those without a number makes up would be that number.
    whole = joint.physicians.drop_nulls("differ")
    dominated = hides and is_dominated(
        whole["n_patients"].to_numpy(),
        whole["differ"].to_numpy(),
        whole["physician"]
        .is_in(joint.physicians["physician"].filter(numbers).implode())
        .to_numpy(),
    )
    untold = {each.decision for each in decisions} if dominated else unread
    return Joint(
        **_of_all(together, untold),
        n_reportable=int(reportable.sum()),
        n_banded=physicians["band_low"].count(),
        decisions=tuple(_decision(together, each, untold) for each in decisions),
        pairs=tuple(_pair(together, row, untold) for row in joint.pairs.iter_rows(named=True)),
        physicians=rows_of(physicians.sort("physician"), results.JointRow),
        by_physician=rows_of(by_physician.sort("physician", "decision"), results.DecisionRow),
        pairs_by_physician=rows_of(pairs.sort("physician", "first", "second"), results.PairRow),
    )


def _reportable(together: Together) -> BoolArray:
    """Tell whose joint figures are numbers; reliabilities are of those whose counts allow it."""
    predicted, request = together.predicted, together.request
    J, code, complete = len(predicted.physician), predicted.code, predicted.known.all(axis=1)
    combinations = combinations_of(predicted.decided[complete], code[complete], J)
    # Of patients with a decision missing, how many were decided how, by decision.
    ways = [(each == way) & ~complete for each in predicted.decided.T for way in (0, 1)]
    outside = np.column_stack([np.bincount(code[each], minlength=J) for each in ways])
    reportable = np.array(
        [
            sum(cells) >= max(request.min_panel, 2)
            and may_be_shown(cells, others, request.smallest_cell)
            for cells, others in zip(combinations.tolist(), outside.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )
    if reportable.any():
        ends = {"": "score", "_low": "low", "_high": "high", "_error": "standard_error"}
        columns = {f"differ{end}": name for end, name in ends.items()}
        table = together.joint.physicians.filter(reportable).rename(columns)
        reliable = assess(table).table["reliability"].fill_null(0.0).to_numpy()
        reportable[reportable] = ~(reliable < request.min_reliability)
    return reportable


def _ends(together: Together, alone: Decision) -> dict[str, tuple[float, float]]:
    """Return by physician where the discordance of a decision lies, as it tells by itself."""
    main = together.decisions[alone.decision].main
    if main.scores.scale != "discordance" or main.evidence.core is not None:
        return {}
    told = (pl.coalesce("discordance", f"band_{end}").alias(end) for end in ("low", "high"))
    known = alone.table.select("physician", *told).drop_nulls()
    return {name: (low, high) for name, low, high in known.iter_rows()}


def _of_all(together: Together, unread: set[str]) -> dict[str, Any]:
    """Return the figures of all patients with all decisions.

    What is too high is too high with everybody, so that low ends are averaged; what scatters
    upwards is another matter with each, and high ends are closer than those of physicians.
    """
    table = together.joint.physicians.drop_nulls("differ")
    n = 0 if unread else int(table["n_patients"].sum())
    weight = (table["n_patients"] / table["n_patients"].sum()).to_numpy()[None, :]
    figures: dict[str, Any] = {}
    for name, times in (("differ", 1), ("n_differences", len(together.joint.decisions))):
        value, low, high = (
            table[f"{name}{end}"].to_numpy()[None, :] for end in ("", "_low", "_high")
        )
        mean, _, top = weighted_sum(weight, Interval(low, high, np.zeros_like(low)), value)
        ends = np.maximum([mean, (weight * low).sum(axis=1), top], 0.0)
        figures[name] = _limit(together, ends.ravel().tolist(), n, times)
    figures["differ_apart"] = _limit(together, [together.joint.differ_apart] * 3, n).value
    return figures


def _limit(together: Together, ends: Sequence[float], n: int, times: int = 1) -> Figure:
    """Round a limit over so many patients to what some of them move; nothing where they are few."""
    smallest = together.request.smallest_cell
    if not n or moved(n, smallest) > JOINT_COARSEST:
        return Figure()
    step = hiding.coarse_step(n, smallest, weight=times, finest=0.01)
    return hiding.rounded_figure(ends, step, most=math.inf)


def _decision(together: Together, alone: Decision, unread: set[str]) -> JointDecision:
    """Return a decision over all patients, as it is by itself and given those before it."""
    own = pl.col("decision") == alone.decision
    rows = together.joint.by_decision.filter(own).drop("n_patients")
    table = rows.join(together.joint.physicians, on="physician").drop_nulls("given")
    n = 0 if unread else int(table["n_patients"].sum())
    given = float(table["given"].to_numpy() @ table["n_patients"].to_numpy()) / max(n, 1)
    group = Figure() if alone.group is None else alone.group.discordance
    return JointDecision(alone.decision, group.value, _limit(together, [given] * 3, n).value)


def _pair(together: Together, row: dict[str, Any], unread: set[str]) -> JointPair:
    smallest, n = together.request.smallest_cell, row["n_patients"]
    names = row["first"], row["second"]
    if not unread.isdisjoint(names):
        return JointPair(*names)
    share = hiding.coarse_step(n, smallest)
    both = int(pair_counts(together.predicted, *names)[:, 3].sum())
    told = not is_few(both, smallest) and share <= JOINT_SHARE_COARSEST
    both_got, expected = (
        hiding.coarse(row[name], share) if told else None for name in ("together", "expected")
    )
    # A residual weighs several times as much as a patient.
    step = hiding.coarse_step(n, smallest, weight=4, finest=0.01)
    correlation = hiding.rounded_figure((row["correlation"], row["low"], row["high"]), step)
    steadiness = hiding.fraction(row["steadiness"], 1)
    return JointPair(*names, both_got, expected, correlation, steadiness)


def combinations_of(decided: IntArray, code: IntArray, n_physicians: int) -> IntArray:
    """Return per physician how many patients got every combination of decisions."""
    n_combinations = 2 ** decided.shape[1]
    cell = code * n_combinations + positions(decided)
    counts = np.bincount(cell, minlength=n_physicians * n_combinations)
    return counts.reshape(n_physicians, n_combinations)


def may_be_shown(combinations: Sequence[int], outside: Sequence[int], smallest: int) -> bool:
    """Tell whether a joint figure may be a number: no combination is of few, nor are others.

    `outside` are patients of whom a decision is missing, by decision and answer.
    """
    return not any(is_few(count, smallest) for count in combinations) and not any(
        count > 0 and is_few(count, smallest) for count in outside
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


@dataclass(frozen=True, eq=False)
class HiddenAcross:
    """What a decision hides because of the others.

    `parts` are of its physicians, in the order of its scores; `repeats` tells of whom nothing is
    told about cases seen twice; `strata` whose strata are not told, by "by" and "period".
    """

    parts: hiding.HiddenParts
    repeats: BoolArray
    strata: Mapping[str, set[str]]


def hidden_across(together: Together) -> dict[str, HiddenAcross]:
    """Tell for every decision what it must hide because of the others."""
    smallest, listed = together.request.smallest_cell, together.decisions
    panels = {name: _panels(each, smallest) for name, each in listed.items()}
    no_size = hidden_sizes(list(panels.values()), smallest)
    no_rate = _telling_rates(together, smallest) if smallest > 1 else set()
    asked = [hiding.asked_strata(each) for each in listed.values()]
    strata = {
        way: _differing([each[way].cells for each in asked if way in each], smallest)
        for way in ("by", "period")
    }
    seen_twice = [
        panels[name].with_columns(
            n_patients=each.repeats.evidence.trials(each.repeats.scores.n_patients),
            stratum=pl.lit(""),
        )
        for name, each in listed.items()
        if each.repeats is not None
    ]
    twice = _differing(seen_twice, smallest)

    def hidden(own: pl.DataFrame) -> HiddenAcross:
        every = own["physician"].to_list()
        size, rate, repeats = (
            np.array([who in each for who in every], np.bool_) for each in (no_size, no_rate, twice)
        )
        least = np.array([no_size.get(who, n) for who, n in zip(every, own["least"], strict=True)])
        nobody = np.zeros_like(size)
        return HiddenAcross(hiding.HiddenParts(size, least, nobody, nobody, rate), repeats, strata)

    return {name: hidden(own) for name, own in panels.items()}


def _panels(measurement: Measurement, smallest: int) -> pl.DataFrame:
    """Return the panels of a decision: patients, those in pairs, and what it hides by itself."""
    fitted, scores = measurement.fitted.values(), measurement.main.scores
    parts = [hiding.hidden_parts(each.scores, each.evidence, smallest) for each in fitted]
    columns = [each.evidence.columns() for each in fitted]
    pairs = [2 * each["n_pairs"] for each in columns if "n_pairs" in each]
    in_pairs = [[int(each[at]) for each in pairs] for at in range(len(scores.n_patients))]
    return pl.DataFrame(
        {
            "physician": hiding.names_of(scores),
            "n_patients": scores.n_patients,
            "in_pairs": pl.Series(in_pairs, dtype=pl.List(pl.Int64)),
            "least": np.min([each.least for each in parts], axis=0),
            "hidden": np.any([each.size for each in parts], axis=0),
        }
    )


def hidden_sizes(panels: Sequence[pl.DataFrame], smallest: int) -> dict[str, int]:
    """Return whose sizes all decisions hide: one of them does, or two tell a small count.

    With it what their panels are known to hold at the least, the same in all decisions.
    """
    telling = _differing([each.with_columns(stratum=pl.lit("")) for each in panels], smallest)
    for each in panels:
        telling |= set(each.filter("hidden")["physician"])
    for a, b in permutations(panels, 2):
        both = a.explode("in_pairs").drop_nulls("in_pairs").join(b, "physician", suffix="_other")
        apart = (both["n_patients_other"] - both["in_pairs"]).abs().to_numpy()
        telling |= set(both["physician"].filter(pl.Series(hiding.any_few(smallest, apart))))
    least = pl.concat(panels).group_by("physician").agg(pl.col("least").min())
    return dict(least.filter(pl.col("physician").is_in(telling)).iter_rows())


def _telling_rates(together: Together, smallest: int) -> set[str]:
    """Return of whom two rates tell how many patients got a combination of two decisions.

    They do where one combination does not occur, and may where nothing is known of combinations.
    """
    predicted, decisions = together.predicted, together.decisions.values()
    named = predicted.physician.cast(pl.String).to_list()
    telling = {name for each in decisions for name in hiding.names_of(each.main.scores)}
    telling -= set(named)
    for pair in combinations(predicted.names, 2):
        for name, cells in zip(named, pair_counts(predicted, *pair).tolist(), strict=True):
            if 0 in cells and any(each > 0 and is_few(each, smallest) for each in cells):
                telling.add(name)
    return telling


def pair_counts(predicted: PredictedDecisions, first: str, second: str) -> IntArray:
    """Return per physician how many patients got neither of two decisions, one, the other, both."""
    both = [predicted.names.index(name) for name in (first, second)]
    known = predicted.known[:, both].all(axis=1)
    decided = predicted.decided[known][:, both]
    return combinations_of(decided, predicted.code[known], len(predicted.physician))


def _differing(counts: Iterable[pl.DataFrame], smallest: int) -> set[str]:
    """Return whose counts, by stratum, differ by few from one decision to another."""
    cell = pl.col("physician", "stratum").cast(pl.String)
    tables = [each.select(cell, pl.col("n_patients").cast(pl.Int64)) for each in counts]
    telling: set[str] = set()
    for a, b in combinations(tables, 2):
        both = a.join(b, on=["physician", "stratum"], how="full", coalesce=True).fill_null(0)
        apart = (both["n_patients"] - both["n_patients_right"]).abs().to_numpy()
        telling |= set(both["physician"].filter((apart > 0) & hiding.any_few(smallest, apart)))
    return telling
