"""Several decisions: against the truth of the multi family, over several draws.

    python -m benchmarks several [CONDITION ...]

Per condition and draw: mean |error| of each physician's discordance in each decision, by how it is
estimated; the joint measure, with what decisions tell about each other and without. Nothing was
chosen on these seeds. See docs/several.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from intravar.arrays import FloatArray
from intravar.estimators.several import PredictedDecisions, predict_decisions, several_of
from intravar.inference import assess
from intravar.prediction.bound import bound, losses_of, panel_means
from intravar.prediction.several import Logits, fit_effects
from intravar.study.cohort import Cohort
from intravar.study.oracle import oracle_several
from intravar.study.simulation import Rule, conditions_of, find_condition

SEEDS = (7001, 7002, 7003, 7004, 7005)
#: How the discordance of each decision is estimated.
WAYS = {
    "constant": "the mean of all, for everybody",
    "counted": "twice the held-out squared error as it is",
    "discordance": "one decision at a time, as `measure` gives it",
    "shrunken": "the same, shrunken, one decision at a time",
    "across": "shrunk across decisions",
    "known, alone": "rule known, best shrinkage one decision at a time",
    "known, across": "rule known, best shrinkage across decisions",
}
#: Ways that only who knows the truth can go: how much there is to gain at all.
KNOWN = {"known, alone": False, "known, across": True}


def run(*conditions: str) -> None:
    """Print a table per condition."""
    for name in conditions or conditions_of("multi"):
        rows = []
        print(f"\n{name}", flush=True)
        for seed in SEEDS:
            rows.append(_draw(name, seed))
            shown = "  ".join(f"{key} {value:+.4f}" for key, value in rows[-1].items())
            print(f"  seed {seed}: {shown}", flush=True)
        _print(rows)


def _print(rows: Sequence[dict[str, float]]) -> None:
    mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    print("  how               mean |error|   bias    Spearman   |error| of across against it")
    for way, words in WAYS.items():
        gain = 1 - mean["across"] / mean[way]
        print(
            f"  {way:<16} {mean[way]:12.4f} {mean[way + ' bias']:+8.4f} "
            f"{mean[way + ' rank']:9.3f}   {-100 * gain:+.0f} %   {words}"
        )
    print("  joint measure                   truth   mean error   mean |error|   upper end holds")
    for key in ("differ", "differ_apart", "n_differences"):
        holds = f"{mean[key + ' holds']:.2f}" if key + " holds" in mean else "-"
        print(
            f"  {key:<28} {mean[key + ' truth']:9.3f} {mean[key + ' bias']:+12.4f} "
            f"{mean[key]:12.4f}   {holds:>10}"
        )


def _draw(name: str, seed: int) -> dict[str, float]:
    cohort = find_condition(name).simulate(seed)
    X, _, physician = cohort.observed()
    truth = oracle_several(cohort)
    predicted = predict_decisions(X, cohort.decisions, physician, seed=0)
    found = several_of(predicted)
    scores: dict[str, list[FloatArray]] = {way: [] for way in WAYS}
    for k, decision in enumerate(predicted.names):
        part = found.by_decision.filter(pl.col("decision") == decision)
        score = part["discordance"].to_numpy()
        counted, shrunken = _alone(predicted, k)
        for way, values in {
            "constant": np.full(len(score), score.mean()),
            "counted": counted,
            "discordance": score,
            "shrunken": shrunken,
            "across": part["across"].to_numpy(),
        }.items():
            scores[way].append(values)
    for way, together in KNOWN.items():
        scores[way] = list(known_rule(cohort, name, together=together).T)
    real = truth.select(predicted.names).to_numpy().T
    result: dict[str, float] = {}
    for way, found_by in scores.items():
        error = np.array(found_by) - real
        result[way], result[way + " bias"] = float(np.abs(error).mean()), float(error.mean())
        ranks = [_rank(one, other) for one, other in zip(found_by, real, strict=True)]
        result[way + " rank"] = float(np.mean(ranks))
    for key in ("differ", "differ_apart", "n_differences"):
        known = truth[key.removesuffix("_apart")].to_numpy()
        error = found.physicians[key].to_numpy() - known
        result[key], result[key + " bias"] = float(np.abs(error).mean()), float(error.mean())
        result[key + " truth"] = float(known.mean())
        if key + "_high" in found.physicians.columns:
            high = found.physicians[key + "_high"].to_numpy()
            result[key + " holds"] = float((high >= known).mean())
    pair = found.pairs.row(0, named=True)
    result["together"], result["expected"] = pair["together"], pair["expected"]
    result["steadiness"] = float(found.pairs["steadiness"].to_numpy().mean())
    return result


def known_rule(cohort: Cohort, name: str, *, together: bool) -> FloatArray:
    """Return the discordance by physician and decision, by somebody who knows the rules."""
    scenario = find_condition(name)
    rules = (scenario.rule, *scenario.further_rules)
    eligible = [rule.eligible(cohort.covariates) for rule in rules if isinstance(rule, Rule)]
    designs = tuple(np.column_stack([np.ones(len(each)), 2.0 * each - 1]) for each in eligible)
    decided = cohort.decisions.to_numpy().astype(np.float64)
    code = np.unique(cohort.physician.cast(pl.String).to_numpy(), return_inverse=True)[1]
    J, nothing = int(code.max()) + 1, np.zeros_like(decided)
    known = np.ones(decided.shape, dtype=np.bool_)
    every = range(len(designs))
    columns = []
    for some in [every] if together else [[k] for k in every]:
        some_designs = tuple(designs[k] for k in some)
        logits = Logits(some_designs, nothing[:, some], decided[:, some], known[:, some], code, J)
        found = fit_effects(logits)
        for design, span in zip(logits.designs, logits.spans, strict=True):
            p = found.probability(design, 0.0, span, code)
            unsure = np.square(p * (1 - p)) * found.unsure(design, span, code)
            columns.append(panel_means(2 * p * (1 - p) - 2 * unsure, code, J))
    return np.column_stack(columns)


def _alone(predicted: PredictedDecisions, k: int) -> tuple[FloatArray, FloatArray]:
    """Return one decision's bound as counted, and shrunken as a measurement gives it."""
    J = len(predicted.physician)
    found = bound(losses_of(predicted.own[:, k], predicted.decided[:, k], predicted.code, J))
    score, low, high = predicted.alone[k].T
    profile = pl.DataFrame(
        {
            "physician": predicted.physician,
            "score": score,
            "low": low,
            "high": high,
            "standard_error": found._replace(score=score).interval(0.95).standard_error,
        }
    )
    return found.raw, assess(profile).table["shrunken"].to_numpy()


def _rank(one: FloatArray, other: FloatArray) -> float:
    return 0.0 if np.ptp(one) == 0 else float(spearmanr(one, other)[0])


if __name__ == "__main__":
    run(*sys.argv[1:])
