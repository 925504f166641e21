"""Situations in which a measurement could be confidently wrong: what it reports, beside the truth.

    python -m benchmarks situations [--seeds N] [--first N] [--cheap] [PART OF A NAME ...]

Every situation is a named condition, drawn with N fresh seeds (default 20) and measured as a user
would measure it, from the frame that `simulate` writes: with the patient identifier and the
sampling weights, and without. A row gives means over the seeds: the estimate of the upper limit for
the group, its truth, and 2r(1-r); the share of physicians whose 95 % upper end is not below the
truth; verdicts; how often dependent rows and leaks were detected. Seeds in which the result was
"not interpretable" give no figure, and do not count in limits and upper ends.

Controls are independent patients: dependence that is detected there is a false alarm.

With --cheap Predictability is fitted alone, which takes a third of the time and gives no verdicts.
See docs/stress.md.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

import intravar
from intravar.arrays import FloatArray
from intravar.inference.group import any_two
from intravar.measurement.verdict import NOTHING
from intravar.observed import Observed
from intravar.prediction.tasks import View
from intravar.request import Request
from intravar.study import Cohort
from intravar.study.simulation import find_condition
from reference.simulation import noise_truth

#: Nothing was chosen on these draws.
FIRST_DRAW = 5_000
N_SEEDS = 20
#: Day 0 of simulated dates.
FIRST_DAY = pl.date(2023, 1, 1)
#: Columns that a user without them does not have.
IDENTIFIERS = ("patient", "sampling_weight")
NOISE = ("level", "pattern", "occasion")


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A condition, and how a user measures it.

    Attributes
    ----------
    name
        Heading of the row.
    condition
        Name of the simulated condition.
    options
        Options of `measure` beside physician and decision.
    is_control
        Whether patients are independent and nothing leaks.
    sizes
        Sizes other than those of the condition.
    has_noise
        Whether the components of noise are compared with their truth.
    """

    name: str
    condition: str
    options: Mapping[str, Any] = field(default_factory=dict)
    is_control: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    has_noise: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was reported of one draw, and what is true.

    Attributes
    ----------
    limit, truth, any_two
        Means over physicians, weighted by their patients: the estimate of the upper limit, the
        comparable discordance, and 2r(1-r).
    held
        For every physician, whether the upper end is not below the truth.
    verdict
        Verdict, empty where none was asked for.
    has_dependence, has_leak
        Whether dependent rows, or a leak, were detected.
    noise
        Estimate and truth of every component, where asked for.
    seconds
        Processor time.
    """

    limit: float
    truth: float
    any_two: float
    held: tuple[bool, ...]
    verdict: str
    has_dependence: bool
    has_leak: bool
    noise: Mapping[str, tuple[float, float]]
    seconds: float

    @property
    def has_figure(self) -> bool:
        """Whether figures are given at all."""
        return self.verdict != NOTHING


SIZE = {"n_patients": 6_000, "n_physicians": 30}
SITUATIONS = (
    Situation(name="repeat visits, no patient id", condition="stress-repeat-visits"),
    Situation(
        name="repeat visits, patient id",
        condition="stress-repeat-visits",
        options={"patient": "patient", "repeated": "all"},
    ),
    Situation(name="near copies, no patient id", condition="stress-near-copies"),
    Situation(
        name="near copies, patient id",
        condition="stress-near-copies",
        options={"patient": "patient", "repeated": "all"},
    ),
    Situation(name="leak by missingness, 60 %", condition="stress-missing-leak"),
    Situation(name="leak by missingness, 30 %", condition="stress-missing-leak-30"),
    Situation(name="300 codes", condition="stress-many-levels"),
    Situation(
        name="small panels, personal rules", condition="stress-small-personal", has_noise=True
    ),
    Situation(name="case-control sample, no weights", condition="stress-sampled"),
    Situation(
        name="case-control sample, weights",
        condition="stress-sampled",
        options={"weight": "sampling_weight"},
    ),
    Situation(name="drift, no date", condition="stress-drift"),
    Situation(name="drift, date", condition="stress-drift", options={"date": "date"}),
    Situation(name="independent patients", condition="stress-independent", is_control=True),
    Situation(
        name="own conjunctions",
        condition="stress-own-conjunctions",
        is_control=True,
        sizes=SIZE,
    ),
    Situation(name="coarse data", condition="stress-coarse", is_control=True),
    Situation(name="typical patients", condition="stress-typical", is_control=True),
)
HEADS = (
    *("situation", "limit", "truth", "2r(1-r)", "upper ends hold", "verdicts"),
    *("dependence", "leak", "seconds"),
)


def run(*arguments: str) -> None:
    """Print a row per situation, false alarms of the controls, and components of noise."""
    options, names = _options(list(arguments))
    seeds = range(options["first"], options["first"] + options["seeds"])
    chosen = [each for each in SITUATIONS if not names or any(name in each.name for name in names)]
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    controls: list[Outcome] = []
    noisy: dict[str, list[Outcome]] = {}
    for situation in chosen:
        unknown = set(situation.options) - set(Request.__dataclass_fields__)
        if unknown:
            print(f"| {situation.name} | there is no option {', '.join(unknown)} |", flush=True)
            continue
        outcomes = [measured(situation, seed, is_cheap=options["cheap"]) for seed in seeds]
        print(row_of(situation, outcomes), flush=True)
        if situation.is_control:
            controls += outcomes
        if outcomes[0].noise:
            noisy[situation.name] = outcomes
    if controls:
        alarms = sum(each.has_dependence for each in controls)
        leaks = sum(each.has_leak for each in controls)
        print(
            f"\nFalse alarms: dependence in {alarms}, leaks in {leaks} of {len(controls)} controls"
        )
    for name, outcomes in noisy.items():
        print(f"\nNoise, {name}:\n\n{noise_table(outcomes)}")


def _options(arguments: list[str]) -> tuple[dict[str, int], list[str]]:
    options = {"seeds": N_SEEDS, "first": FIRST_DRAW, "cheap": 0}
    names = []
    while arguments:
        word = arguments.pop(0)
        if word == "--cheap":
            options["cheap"] = 1
        elif word.startswith("--"):
            options[word.removeprefix("--")] = int(arguments.pop(0))
        else:
            names.append(word)
    return options, names


def measured(situation: Situation, draw: int, *, is_cheap: int = 0) -> Outcome:
    """Draw a cohort and measure it."""
    scenario = find_condition(situation.condition)
    seed = scenario.replicate_seed(draw)
    cohort = intravar.simulate(situation.condition, random_state=seed, **situation.sizes)
    table = user_table(cohort, situation)
    roles: dict[str, Any] = {"physician": "physician", "decision": "decision"}
    roles |= situation.options
    start = time.process_time()
    noise: dict[str, tuple[float, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_cheap:
            checked = intravar.check(table, **roles)
            observed = checked.prepared.observed
            model = intravar.Predictability().fit_observed(observed)
            score, high, verdict = model.score_, model.high_, ""
            physicians = list(observed.physicians)
        else:
            measurement = intravar.measure(table, **roles)
            checked = measurement.check
            observed = checked.prepared.observed
            physicians = measurement.table["physician"].to_list()
            score = _numbers(measurement.table["discordance"])
            high = _numbers(measurement.table["high"])
            verdict = measurement.verdict
            if situation.has_noise and measurement.components is not None:
                noise = _noise(measurement.components, situation.condition, seed)
    seconds = time.process_time() - start
    oracle = intravar.oracle(cohort)
    truth_of = dict(zip(oracle["physician"], oracle["comparable"], strict=True))
    n_of = dict(zip(oracle["physician"], oracle["n_patients"], strict=True))
    truth = np.array([truth_of[str(name)] for name in physicians])
    n = np.array([n_of[str(name)] for name in physicians], dtype=np.float64)
    known = np.isfinite(score) & np.isfinite(high)
    return Outcome(
        limit=float(np.average(score[known], weights=n[known])),
        truth=float(np.average(truth, weights=n)),
        any_two=_rates_alone(table),
        held=tuple(bool(each) for each in high[known] >= truth[known]),
        verdict=verdict,
        has_dependence=_has_dependence(observed),
        has_leak=bool(checked.prepared.leaks),
        noise=noise,
        seconds=seconds,
    )


def user_table(cohort: Cohort, situation: Situation) -> pl.DataFrame:
    """Return the frame that a user has: without the identifiers that the situation does not use."""
    table = cohort.to_polars()
    used = set(situation.options.values())
    table = table.drop([name for name in IDENTIFIERS if name not in used], strict=False)
    if "date" in used:
        day = pl.duration(days=pl.col("day").cast(pl.Int64))
        table = table.with_columns(date=FIRST_DAY + day).drop("day")
    elif situation.condition == "stress-drift":
        table = table.drop("day")
    return table


def _numbers(column: pl.Series) -> FloatArray:
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _rates_alone(table: pl.DataFrame) -> float:
    counts = table.group_by("physician").agg(n=pl.len(), yes=pl.col("decision").sum())
    n, yes = (counts[name].cast(pl.Int64).to_numpy() for name in ("n", "yes"))
    return float(np.average(any_two(n, yes), weights=n))


def _noise(components: Any, condition: str, seed: int) -> dict[str, tuple[float, float]]:
    truth = noise_truth(condition, seed=seed)
    estimates = ((name, getattr(components, name)) for name in NOISE)
    nan = float("nan")
    return {name: (nan if value is None else value, truth[name]) for name, value in estimates}


def _has_dependence(observed: Observed) -> bool:
    view = observed.learn("view", lambda: View.of(observed))
    return view.dependence.detected


def row_of(situation: Situation, outcomes: list[Outcome]) -> str:
    """Return the row of a situation."""
    given = [each for each in outcomes if each.has_figure]
    n = len(outcomes)
    verdicts = Counter(each.verdict for each in outcomes if each.verdict)
    told = ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common())
    held = [each for outcome in given for each in outcome.held]
    cells = (
        situation.name + (" (control)" if situation.is_control else ""),
        _mean(each.limit for each in given),
        _mean(each.truth for each in outcomes),
        _mean(each.any_two for each in outcomes),
        f"{100 * np.mean(held):.1f} % of {len(held):,}" if held else "no figure",
        told or "not asked",
        f"{sum(each.has_dependence for each in outcomes)} of {n}",
        f"{sum(each.has_leak for each in outcomes)} of {n}",
        f"{np.mean([each.seconds for each in outcomes]):.0f}",
    )
    return f"| {' | '.join(cells)} |"


def _mean(values: Iterable[float]) -> str:
    given = list(values)
    return f"{np.mean(given):.3f}" if given else "–"


def noise_table(outcomes: list[Outcome]) -> str:
    """Return means of the components and of their truth; components not given are left out."""
    lines = ["| component | reported | truth | reported in |", "|---|---|---|---|"]
    for name in NOISE:
        values = np.array([each.noise[name] for each in outcomes])
        reported = values[np.isfinite(values[:, 0]), 0]
        mean = f"{reported.mean():.4f}" if len(reported) else "–"
        n = f"{len(reported)} of {len(outcomes)}"
        lines.append(f"| {name} | {mean} | {values[:, 1].mean():.4f} | {n} |")
    return "\n".join(lines)


if __name__ == "__main__":
    run(*sys.argv[1:])
