"""Verdicts: how often what a measurement claims of itself is right.

    python -m benchmarks verdicts [FOLDER]

Every cohort is judged as `measure` judges it, and so are two random halves of it, each as a table
of its own: do their intervals overlap? The folder may hold real files, see docs/verdict.md.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from benchmarks._cohorts import Case, Roles, real_cases, simulated_cases
from intravar.arrays import FloatArray
from intravar.estimators import METHODS
from intravar.measurement.appraisal import Appraisal, appraise
from intravar.measurement.measure import fit_method
from intravar.measurement.rule import SuggestedRule, suggest_rule
from intravar.measurement.verdict import OVERLAP, RULE_FOUND, UNRANKED
from intravar.preparation.check import Check, checked
from intravar.request import Request
from intravar.seeds import stream

METHOD_NAMES = ("predictability", "latent-rule", "euclidean")
#: Share of intervals that must hold the truth.
HOLDS = 0.9
#: Rank correlation with the truth from which on an order is one.
ORDER = 0.5
#: The same, from which on ranks that are not given are an opportunity missed.
CLEAR_ORDER = 0.8
#: Mean distance from the truth up to which a level would have been one.
LEANS = 0.05
HEADS = (
    *("cohort", "method", "verdict", "holds", "above the truth", "may fall", "order"),
    *("halves overlap", "group holds", "right"),
)
#: A gap between intervals that nobody would act on.
NEARLY = 0.005


@dataclass(frozen=True)
class Outcome:
    """What a method claimed of a cohort, and what was so."""

    case: str
    method: str
    verdict: str
    holds: float
    above: float
    fall: float
    rho: float
    overlap: float
    group: bool | None
    undetermined: bool
    leaks: bool
    reason: str
    seconds: float

    @property
    def right(self) -> bool | None:
        """Whether the claim is true; None where nobody knows."""
        if self.leaks or self.verdict == "not interpretable":
            return self.leaks and self.verdict == "not interpretable"
        if self.undetermined:
            return self.verdict in UNRANKED
        known = not np.isnan(self.rho)
        if self.verdict == "levels and ranks":
            true = self.overlap >= OVERLAP
            return true and (not known or (self.holds >= HOLDS and self.rho >= ORDER))
        if self.verdict == "group only":
            return self.group
        if not known:
            return None
        return self.rho >= ORDER

    @property
    def missed(self) -> bool:
        """Whether more could have been said."""
        if self.leaks:
            return False
        if self.verdict in UNRANKED:
            return self.rho >= CLEAR_ORDER
        bears = self.holds >= HOLDS and self.overlap >= OVERLAP and abs(self.above) <= LEANS
        return self.verdict == "ranks only" and self.method != "euclidean" and bears


def run(*arguments: str) -> None:
    """Print a row per cohort and method, then how often each verdict was right."""
    folders = [name for name in arguments if Path(name).is_dir()]
    wanted = [name for name in arguments if name not in folders]
    methods = [name for name in wanted if name in METHODS] or list(METHOD_NAMES)
    names = [name for name in wanted if name not in METHODS]
    cases = [*simulated_cases(), *(case for folder in folders for case in real_cases(folder))]
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    outcomes = []
    for case in cases:
        if names and not any(name in case.name for name in names):
            continue
        for outcome in _outcomes(case, methods):
            outcomes.append(outcome)
            print(_row(outcome), flush=True)
    print()
    _summary(outcomes, methods)


def _outcomes(case: Case, methods: list[str]) -> Iterator[Outcome]:
    dealt = stream(0, "verdicts", case.name).random(case.table.height)
    order = np.lexsort((dealt, case.table[case.roles["physician"]].cast(pl.String).to_numpy()))
    odd = np.zeros(case.table.height, dtype=np.bool_)
    odd[order[1::2]] = True
    parts = [case.table, case.table.filter(pl.Series(odd)), case.table.filter(pl.Series(~odd))]
    tables = [_prepared(part, case.roles) for part in parts]
    for method in methods:
        began = time.process_time()
        whole, first, second = (_appraised(*table, method) for table in tables)
        yield _outcome(case, method, whole, (first, second), time.process_time() - began)


def _prepared(table: pl.DataFrame, roles: Roles) -> tuple[Check, SuggestedRule]:
    found = checked(table, Request(**roles))  # type: ignore[arg-type]
    return found, suggest_rule(found.prepared, found.request.seed)


def _appraised(found: Check, rule: SuggestedRule, method: str) -> Appraisal:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted, _ = fit_method(method, found.prepared.observed, found.request.seed)
        return appraise(found, {method: fitted}, rule)


def _outcome(
    case: Case,
    method: str,
    whole: Appraisal,
    halves: tuple[Appraisal, Appraisal],
    seconds: float,
) -> Outcome:
    scores, group = whole.scores, None
    holds = rho = above = fall = float("nan")
    if whole.halves is not None and METHODS[method].estimand == "comparable":
        fall = whole.halves.fall
    truth = case.truth.get(METHODS[method].estimand)
    if truth is not None:
        true = np.array([truth[str(name)] for name in scores.physician])
        known = np.isfinite(scores.discordance) & np.isfinite(true)
        inside = (scores.interval.low <= true) & (true <= scores.interval.high)
        holds = float(inside[known].mean())
        above = float((scores.discordance - true)[known].mean())
        rho = _spearman(scores.discordance[known], true[known])
        mean = float(np.average(true[known], weights=scores.n_patients[known]))
        if whole.verdict.rule_found >= RULE_FOUND:
            group = _within(whole, mean)
    elif METHODS[method].estimand in case.undetermined:
        # There is no such value; who decides how consistently is known all the same.
        true = np.array([case.truth["comparable"][str(name)] for name in scores.physician])
        known = np.isfinite(scores.discordance)
        rho = _spearman(scores.discordance[known], true[known])
    if "any" in case.truth and not whole.verdict.rule_found >= RULE_FOUND:
        # Without a rule it is said to be that of any two patients, which is another truth.
        any_two = [case.truth["any"][str(name)] for name in scores.physician]
        group = _within(whole, float(np.average(any_two, weights=scores.n_patients)))
    return Outcome(
        case.name,
        method,
        whole.verdict.level,
        holds,
        above,
        fall,
        rho,
        _overlap(*halves),
        group,
        METHODS[method].estimand in case.undetermined,
        case.leaks,
        whole.verdict.reasons[0],
        seconds,
    )


def _within(whole: Appraisal, mean: float) -> bool | None:
    return None if whole.group is None else whole.group.low <= mean <= whole.group.high


def _spearman(score: FloatArray, true: FloatArray) -> float:
    return 0.0 if min(np.ptp(score), np.ptp(true)) == 0 else float(spearmanr(score, true)[0])


def _overlap(first: Appraisal, second: Appraisal) -> float:
    """Return the share of physicians whose intervals from both halves overlap."""
    ends = [
        {
            str(name): (low, high)
            for name, low, high, score in zip(
                each.scores.physician,
                each.scores.interval.low,
                each.scores.interval.high,
                each.scores.discordance,
                strict=True,
            )
            if np.isfinite(score)
        }
        for each in (first, second)
    ]
    both = [(ends[0][name], ends[1][name]) for name in ends[0] if name in ends[1]]
    if not both:
        return float("nan")
    return float(
        np.mean([max(a[0], b[0]) <= min(a[1], b[1]) + NEARLY for a, b in both], dtype=np.float64)
    )


def _row(found: Outcome) -> str:
    said = {True: "yes", False: "**no**", None: "–"}
    word = said[found.right]
    if found.right and np.isnan(found.rho) and found.verdict == "levels and ranks":
        word = "halves overlap"
    right = word + (", more was borne" if found.missed else "")
    numbers = (_number(value) for value in (found.above, found.fall, found.rho))
    return (
        f"| {found.case} | {found.method} | {found.verdict} | {_percent(found.holds)} | "
        f"{' | '.join(numbers)} | {_percent(found.overlap)} | {said[found.group]} | {right} |"
    )


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.0f} %"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _summary(outcomes: list[Outcome], methods: list[str]) -> None:
    print("| method | verdict | claimed | right | wrong | not known | more was borne |")
    print("|---|---|---|---|---|---|---|")
    for method in methods:
        levels = dict.fromkeys(each.verdict for each in outcomes if each.method == method)
        for level in levels:
            rows = [each for each in outcomes if (each.method, each.verdict) == (method, level)]
            count = Counter(each.right for each in rows)
            missed = sum(each.missed for each in rows)
            print(
                f"| {method} | {level} | {len(rows)} | {count[True]} | {count[False]} | "
                f"{count[None]} | {missed} |"
            )
    print(f"\n{sum(each.seconds for each in outcomes) / 60:.0f} minutes of the processor")


if __name__ == "__main__":
    run(*sys.argv[1:])
