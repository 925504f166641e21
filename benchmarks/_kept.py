"""What verdicts rest on, kept in a file: judged again in a second when a threshold moves.

A line of JSON for each cohort and method. A run that was ended goes on where it stopped.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._cohorts import Case
from intravar.estimators import METHODS, Estimator
from intravar.estimators.assumptions import ANCHORED
from intravar.estimators.evidence import EligibleRates, Predictions
from intravar.measurement.diagnostics import case_mix
from intravar.measurement.grounds import rule_strength
from intravar.measurement.halves import compare_halves
from intravar.measurement.measure import fit_method
from intravar.measurement.result import OneDecision
from intravar.measurement.rule import suggest_rule
from intravar.measurement.wider.beyond import with_everybody
from intravar.preparation.check import checked
from intravar.request import Request
from intravar.runs.settings import RunSettings


def kept(
    cases: Iterable[tuple[int, Case]], methods: list[str], store: Path
) -> Iterator[dict[str, Any]]:
    """Fit what is not in the store yet, and return all that is wanted, in order."""
    known = {}
    if store.exists():
        for line in store.read_text().splitlines():
            row = json.loads(line)
            known[row["name"], row["replicate"], row["method"]] = row
    for replicate, case in cases:
        for method in methods:
            key = case.name, replicate, method
            if key not in known:
                row = {"name": case.name, "replicate": replicate, "method": method}
                known[key] = row | collected(case, method)
                with store.open("a") as file:
                    file.write(json.dumps(known[key]) + "\n")
            yield known[key]


def collected(case: Case, method: str) -> dict[str, Any]:
    """Fit a method to a cohort; return all that its verdict rests on, and what is true."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checked(case.table, Request(**case.roles))  # type: ignore[arg-type]
        seed, observed = found.request.random_state, found.prepared.observed
        fitted, _ = fit_method(method, observed, seed)
        main, rule = fitted, None
        if isinstance(fitted.evidence, Predictions):
            # They say it as well, and cost nothing more.
            probability = fitted.evidence.pooled
        else:
            rule = suggest_rule(found.prepared, seed)
            probability = rule.probability
        if found.beyond is not None:
            alone = {"": OneDecision(found, {method: fitted})}
            everybody = with_everybody(alone, RunSettings(), lambda done, total: None)[""]
            main, found = everybody.fitted[method], everybody.check
        halves = None
        if isinstance(main.estimator, Estimator):
            halves = compare_halves(main.estimator, observed, seed)
    scores, evidence = main.scores, main.evidence
    names = [str(each) for each in scores.physician]
    rates: dict[str, Any] = {}
    if isinstance(evidence, EligibleRates):
        anchors = evidence.anchors
        rates = {
            "follows": bool(evidence.follows),
            "anchors": None
            if anchors is None
            else [anchors.low, anchors.high, anchors.sure_eligible, anchors.sure_others],
            "identified_low": None if anchors is None else anchors.identified_low.tolist(),
            "identified_high": None if anchors is None else anchors.identified_high.tolist(),
            "over_limits": _finite(
                np.inf
                if anchors is None or anchors.clear < ANCHORED
                else evidence.over_limits(observed, seed)
            ),
        }
    return {
        "n_patients": scores.n_patients.tolist(),
        "n_for": scores.n_for.tolist(),
        "score": _finite(scores.discordance),
        "low": _finite(scores.interval.low),
        "high": _finite(scores.interval.high),
        "error": _finite(scores.interval.standard_error),
        "raw": None if evidence.raw is None else _finite(evidence.raw),
        "expected": _finite(scores.columns.get("expected", np.full(len(names), np.nan))),
        "halves": None if halves is None else asdict(halves),
        "strength": _finite(rule_strength(evidence, observed, rule)),
        "case_mix": float(case_mix(observed, probability)),
        "leak": next((each.column for each in found.prepared.leaks if each.certain), None)
        if found.request.covariates is None
        else None,
        **rates,
        "truth": _truth(case, METHODS[method].estimand, names),
        "comparable": _truth(case, "comparable", names),
        "any": _truth(case, "any", names),
        "undetermined": METHODS[method].estimand in case.undetermined,
        "leaks": case.leaks,
        "rates_alone": case.rates_alone,
        "seconds": time.process_time() - began,
    }


def _truth(case: Case, estimand: str, names: list[str]) -> list[float | None] | None:
    known: Mapping[str, float] | None = case.truth.get(estimand)
    return None if known is None else _finite(np.array([known[name] for name in names]))


def _finite(values: Any) -> Any:
    """Return numbers that JSON knows: nothing for NaN, a huge one for infinity."""
    array = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=np.nan, posinf=1e9, neginf=-1e9)
    if array.ndim == 0:
        return None if np.isnan(array) else float(array)
    return [None if np.isnan(each) else float(each) for each in array]
