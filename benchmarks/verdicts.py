"""Verdicts: how often what a measurement claims of itself is right.

    python -m benchmarks verdicts [--replicates N] [--first N] [--wide] [--large] [--half]
                                  [--store FILE] ...

Cohorts with a known truth are judged as `measure` judges them, and real files if a folder is given.
Methods and parts of a cohort's name pick rows; `quick` is a stand-in for Predictability that takes
a hundredth of its time. With --half every cohort is also judged by half of its patients, and of
its physicians: what is claimed of less data must not be surer and wrong. With a store, a run that
was ended goes on where it stopped, and a moved threshold is tried without fitting again. See
docs/verdict.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from benchmarks._cohorts import HALVES, REPLICATE, Case, halved, real_cases, simulated_cases
from benchmarks._kept import kept
from benchmarks._quick import Quick
from benchmarks._worlds import worlds
from intravar.arrays import FloatArray
from intravar.estimators import METHODS
from intravar.estimators.assumptions import LITTLE_EXPLAINED
from intravar.estimators.evidence import Decisions, EligibleRates, Evidence, Pairs, Predictions
from intravar.inference import Interval
from intravar.inference.group import any_two
from intravar.latent.rates import Anchors
from intravar.measurement.grounds import Appraisal, concluded
from intravar.measurement.halves import Halves
from intravar.measurement.scores import Scores
from intravar.measurement.verdict import UNRANKED, Grounds
from intravar.request import Request

#: Rank correlation with the truth from which on an order is one.
ORDER = 0.5
#: The same, from which on ranks that are not given are an opportunity missed.
CLEAR_ORDER = 0.8
#: Smallest spread of true values that anybody would rank by.
WORTH = 0.02
HEADS = (
    *("cohort", "method", "verdict", "explained", "order", "order of the rate"),
    *("spread", "true spread", "right"),
)
#: Edges of explained shares in the map.
EDGES = (0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class Outcome:
    """What a method claimed of a cohort, and what was so.

    Attributes
    ----------
    case, replicate, method, verdict, reason
        What was judged, and how.
    explained
        Share of how decisions vary that the record explains.
    order, order_of_rate
        Rank correlation with the truth of the scores, and of 2 r (1 - r).
    spread, true_spread
        Standard deviation of true values with its interval, and as it is.
    reliability
        Share of the variance of scores that is true: the true spread against their errors.
    rates_alone, leaks, undetermined
        See :class:`benchmarks._cohorts.Case`.
    """

    case: str
    replicate: int
    method: str
    verdict: str
    reason: str
    explained: float
    order: float
    order_of_rate: float
    spread: tuple[float, float, float]
    true_spread: float
    reliability: float
    rates_alone: bool
    leaks: bool
    undetermined: bool

    @property
    def ranked(self) -> bool:
        """Whether physicians were ranked."""
        return self.verdict not in UNRANKED

    @property
    def right(self) -> bool | None:
        """Whether the claim is true; None where nobody knows."""
        if self.leaks:
            return self.verdict == "not interpretable"
        if not self.ranked:
            return None
        if self.rates_alone or self.undetermined:
            return False
        return None if np.isnan(self.order) else self.order >= ORDER

    @property
    def missed(self) -> bool:
        """Whether physicians could have been ranked."""
        if self.leaks or self.ranked or self.rates_alone or self.undetermined:
            return False
        return self.possible

    @property
    def possible(self) -> bool:
        """Whether the order was clear, and could be expected to be: chance did not make it so."""
        return self.clear and self.reliability >= CLEAR_ORDER**2

    @property
    def clear(self) -> bool:
        """Whether the order was clear, said more than rates do, and was worth telling.

        Where nothing differs, an order is one of patients.
        """
        return (
            not self.case.startswith("nothing")
            and self.order >= CLEAR_ORDER
            and self.order > self.order_of_rate
            and not self.explained < LITTLE_EXPLAINED
            and self.true_spread >= WORTH
        )

    @property
    def spread_holds(self) -> bool | None:
        """Whether the interval of the spread holds the true one."""
        if self.leaks or np.isnan(self.true_spread) or np.isnan(self.spread[0]):
            return None
        return self.spread[1] <= self.true_spread <= self.spread[2]


def run(*arguments: str) -> None:
    """Print a row per cohort and method, the map, and how often claims were right."""
    METHODS.setdefault(Quick.name, Quick)
    options, rest = _options(list(arguments))
    methods = [name for name in rest if name in METHODS] or ["predictability", "rate"]
    folders = [name for name in rest if Path(name).is_dir()]
    names = [name for name in rest if name not in METHODS and name not in folders]
    first, n = int(options.get("--first", REPLICATE)), int(options.get("--replicates", 1))
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    outcomes = []
    with TemporaryDirectory() as folder:
        store = Path(options.get("--store", f"{folder}/rows.jsonl"))
        cases = _cases(range(first, first + n), folders, names, options=options)
        for row in kept(cases, methods, store):
            outcomes.append(outcome_of(row))
            print(_row(outcomes[-1]), flush=True)
    for method in methods:
        _summary([each for each in outcomes if each.method == method], method)


def _options(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    options, rest = {}, []
    while arguments:
        word = arguments.pop(0)
        if word in ("--wide", "--large", "--half"):
            options[word] = ""
        elif word.startswith("--"):
            options[word] = arguments.pop(0)
        else:
            rest.append(word)
    return options, rest


def _cases(
    replicates: range, folders: list[str], names: list[str], *, options: dict[str, str]
) -> Iterator[tuple[int, Case]]:
    drawn = (
        (replicate, case)
        for replicate in replicates
        for made in (
            worlds(replicate, wide="--wide" in options, large="--large" in options),
            simulated_cases(replicate),
        )
        for case in made
    )
    real = ((0, case) for folder in folders for case in real_cases(folder))
    for replicate, case in chain(drawn, real):
        if not names or any(name in case.name for name in names):
            yield replicate, case
            if "--half" in options:
                yield from ((replicate, half) for half in halved(case))


def appraised(row: dict[str, Any]) -> Appraisal:
    """Judge what was kept of a cohort."""
    columns = {
        name: np.array([np.nan if each is None else each for each in row[name]], dtype=np.float64)
        for name in ("score", "low", "high", "error", "expected")
        if name in row
    }
    n = np.array(row["n_patients"])
    scores = Scores(
        pl.Series([str(at) for at in range(len(n))]),
        n,
        np.array(row["n_for"]),
        columns["score"],
        [None] * len(n),
        Interval(columns["low"], columns["high"], columns["error"]),
        {name: values for name, values in columns.items() if name == "expected"},
        most=METHODS[row["method"]].most,
        upper=row["method"] in ("predictability", "quick"),
        raw=None if row.get("raw") is None else np.array(row["raw"], dtype=np.float64),
    )
    grounds = Grounds(
        _evidence(row),
        None,
        None if row["halves"] is None else Halves(**row["halves"]),
        row["strength"],
        row["leak"],
        row["case_mix"],
        over_limits=row.get("over_limits", np.inf),
    )
    return concluded(grounds, scores, Request(physician="doctor", decision="drug"))


def _evidence(row: dict[str, Any]) -> Evidence:
    nobody = np.empty(0)
    if row["method"] in ("predictability", "quick"):
        raw = None if row.get("raw") is None else np.array(row["raw"], dtype=np.float64)
        return Predictions(nobody, nobody, nobody, nobody, raw=raw)
    if "follows" in row:
        anchors = None
        if row["anchors"] is not None:
            ends = (np.array(row[f"identified_{end}"]) for end in ("low", "high"))
            anchors = Anchors(*row["anchors"], *ends)
        core = np.empty(0, dtype=np.bool_)
        return EligibleRates(nobody, nobody, nobody, nobody, core, anchors, row["follows"])
    if row["method"] == "rate":
        return Decisions()
    whole = np.empty(0, dtype=np.int64)
    return Pairs(whole, whole, pl.DataFrame(), nobody, pl.DataFrame())


def outcome_of(row: dict[str, Any]) -> Outcome:
    """Judge a cohort, and set what is true beside it."""
    scores, _, grounds, verdict = appraised(row)
    group, nan = grounds.group, float("nan")
    order = rate = true_spread = nan
    truth = row["truth"] if row["truth"] is not None else row["comparable"]
    if truth is not None:
        true = np.array([np.nan if each is None else each for each in truth], dtype=np.float64)
        known = np.isfinite(true) & np.isfinite(scores.discordance)
        alone = any_two(scores.n_patients, scores.n_for)
        order = _spearman(scores.discordance[known], true[known])
        rate = _spearman(alone[known], true[known])
        true_spread = float(np.std(true[known], ddof=1)) if known.sum() > 1 else nan
    error = scores.interval.standard_error
    explained = nan if group is None or group.explained is None else group.explained.share
    spread = (nan,) * 3 if group is None else (group.spread, group.spread_low, group.spread_high)
    return Outcome(
        row["name"],
        row["replicate"],
        row["method"],
        verdict.level,
        verdict.reasons[0],
        explained,
        order,
        rate,
        (spread[0], spread[1], spread[2]),
        true_spread,
        true_spread**2 / (true_spread**2 + float(np.nanmedian(error)) ** 2),
        row["rates_alone"],
        row["leaks"],
        row["undetermined"],
    )


def _spearman(score: FloatArray, true: FloatArray) -> float:
    if len(true) < 3 or min(np.ptp(score), np.ptp(true)) < 1e-9:
        return float("nan")
    return float(spearmanr(score, true)[0])


def _row(found: Outcome) -> str:
    said = {True: "yes", False: "**no**", None: "–"}
    right = said[found.right] + (", ranks were possible" if found.missed else "")
    numbers = (_number(value) for value in (found.explained, found.order, found.order_of_rate))
    spread = "–"
    if not np.isnan(found.spread[0]):
        spread = f"{found.spread[0]:.3f} [{found.spread[1]:.3f}, {found.spread[2]:.3f}]"
    true = "–" if np.isnan(found.true_spread) else f"{found.true_spread:.3f}"
    return (
        f"| {found.case} | {found.method} | {found.verdict} | {' | '.join(numbers)} | {spread} | "
        f"{true} | {right} |"
    )


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _summary(outcomes: list[Outcome], method: str) -> None:
    ranked = [each for each in outcomes if each.ranked and not np.isnan(each.order)]
    alone = [each for each in outcomes if each.rates_alone]
    clear = [
        each for each in outcomes if each.clear and not (each.rates_alone or each.undetermined)
    ]
    held = [each.spread_holds for each in outcomes if each.spread_holds is not None]
    print(f"\n{method}: {len(outcomes)} cohorts")
    _share("ranks with an order of at least 0.5", [each.order >= ORDER for each in ranked])
    closer = [each.order > each.order_of_rate for each in ranked if each.order_of_rate < 1]
    _share("ranks closer to the truth than the rates", closer)
    more = np.array([each.order - each.order_of_rate for each in ranked])
    if len(more) > 1:
        error = more.std(ddof=1) / np.sqrt(len(more))
        print(f"  by so much on average: {more.mean():.2f} (error {error:.2f})")
    _share("ranked where rates alone differ", [each.ranked for each in alone])
    possible = [not each.ranked for each in clear if each.possible]
    _share("group only where ranks were possible", possible)
    _share("the same, chance or not", [not each.ranked for each in clear])
    _share("interval of the spread holds", [bool(each) for each in held])
    whole = {(each.case, each.replicate): each for each in outcomes}
    pairs = [
        (each, whole[each.case.removesuffix(end), each.replicate])
        for each in outcomes
        for end in HALVES
        if each.case.endswith(end)
    ]
    surer = [half.ranked and not all_.ranked for half, all_ in pairs]
    if pairs:
        _share("ranked by half of the data and not by all", surer)
        wrong = [half.right is False for half, all_ in pairs if half.ranked and not all_.ranked]
        _share("of these, wrong", wrong)
    _map(outcomes)


def _share(words: str, hits: list[bool]) -> None:
    print(f"  {words}: {sum(hits)} of {len(hits)}")


def _map(outcomes: list[Outcome]) -> None:
    """Print by explained share and by what differs how often ranks were given, and were right."""
    names = ("hardly", *(f"up to {100 * edge:.0f} %" for edge in EDGES[1:]), "more")
    kinds = {
        "nothing": "nothing differ",
        "rates": "rates ",
        "consistency": "consistency",
        "both": "rates and consistency",
    }
    print(f"\n| explained | {' | '.join(kinds)} | others |\n|{'---|' * (len(kinds) + 2)}")
    for at, name in enumerate(names):
        inside = [
            each
            for each in outcomes
            if not np.isnan(each.explained) and np.searchsorted(EDGES, each.explained) == at
        ]
        cells = {kind: [each for each in inside if _kind(each, kinds) == kind] for kind in kinds}
        cells["others"] = [each for each in inside if _kind(each, kinds) is None]
        told = (_cell(each) for each in cells.values())
        print(f"| {name} | {' | '.join(told)} |")


def _kind(found: Outcome, kinds: dict[str, str]) -> str | None:
    fitting = [kind for kind, begin in kinds.items() if found.case.startswith(begin)]
    return fitting[-1] if fitting else None


def _cell(found: list[Outcome]) -> str:
    ranked = [each for each in found if each.ranked]
    wrong = sum(each.right is False for each in ranked)
    if not found:
        return "–"
    return f"{len(ranked)} of {len(found)}" + (f" ({wrong} wrong)" if wrong else "")


if __name__ == "__main__":
    run(*sys.argv[1:])
