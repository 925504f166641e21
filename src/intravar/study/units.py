"""The unit of work: one condition, one replicate, and the methods that share what they learn."""

import json
import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from sklearn.base import clone

from intravar.errors import InputError
from intravar.estimators import METHODS
from intravar.estimators.base import Estimator
from intravar.observed import Observed
from intravar.processes import peak_memory_mb
from intravar.runs.store import software_versions
from intravar.seeds import derived_seed, stream
from intravar.study.cohort import Cohort
from intravar.study.oracle import oracle, oracle_interval
from intravar.study.simulation.scenario import Scenario
from intravar.writing import digest

#: Rows that stand in every study beside the methods.
ORACLE = "oracle"
CONSTANT = "constant"
BASELINES = "baselines"

#: One row per condition, replicate, method and physician. `oracle` is the oracle's estimate and
#: `delta` the score minus it; a score on another scale than a discordance has no delta. `d_star`
#: is the true discordance of the eligible, `comparable` that of the panel's comparable patients.
SCORE_SCHEMA = {
    "condition": pl.String,
    "replicate": pl.Int32,
    "method": pl.String,
    "physician": pl.String,
    "group": pl.Int16,
    **dict.fromkeys(("score", "low", "high"), pl.Float64),
    **dict.fromkeys(("oracle", "delta", "d_star", "comparable"), pl.Float64),
    **dict.fromkeys(("n_patients", "n_pairs"), pl.Int64),
    "reason": pl.String,
}
#: One row per condition, replicate and method.
RUN_SCHEMA = {
    **{name: SCORE_SCHEMA[name] for name in ("condition", "replicate", "method")},
    **dict.fromkeys(("seconds", "memory_mb"), pl.Float64),
    **dict.fromkeys(("versions", "error"), pl.String),
}
#: Methods that aim at the comparable discordance of a panel.
COMPARABLE = frozenset(name for name, method in METHODS.items() if method.estimand == "comparable")
#: Methods of this package on another scale than a discordance.
OTHER_SCALE = frozenset(name for name, method in METHODS.items() if method.scale != "discordance")

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")

Replicates = Literal["fresh", "resampled"]


@dataclass(frozen=True)
class Unit:
    """One condition, one replicate, and methods that are run on the same cohort.

    Replicates are counted from 0, which has the condition's own seed. A group is what methods have
    in common; that of the oracle and the constant is `baselines` and has no methods. "fresh" draws
    a new cohort per replicate; "resampled" draws patients of replicate 0 with replacement, which
    breaks nearest-neighbour matching and is there to show it.
    """

    condition: Scenario
    replicate: int
    group: str
    methods: tuple[Estimator, ...] = ()
    replicates: Replicates = "fresh"

    @property
    def method_names(self) -> tuple[str, ...]:
        """Names of what the unit scores."""
        if self.group == BASELINES:
            return (ORACLE, CONSTANT)
        return tuple(method.name for method in self.methods)

    @property
    def name(self) -> str:
        """A name that no other unit of a study has; it is also a file name."""
        kind = "" if self.replicates == "fresh" else ".resampled"
        methods = digest(" ".join(self.method_names).encode())[:8]
        return f"{self.condition.name}.r{self.replicate:03d}{kind}.{self.group}.{methods}"

    @property
    def seed(self) -> int:
        """Seed of the unit's cohort."""
        return self.condition.replicate_seed(self.replicate * (self.replicates == "fresh"))

    def configuration(self) -> dict[str, Any]:
        """Return all that decides the unit's result, apart from the versions of the software."""
        methods = {}
        for method in self.methods:
            settings = dict(sorted(method.get_params().items()))
            # Threads change nothing, seeds follow from the condition: no part of it.
            for name in ("n_jobs", "random_state"):
                settings.pop(name, None)
            methods[method.name] = repr(settings)
        own = {"seed": self.seed, "replicate": self.replicate, "replicates": self.replicates}
        return {"scenario": repr(self.condition), **own, "methods": methods}


def plan(
    conditions: Sequence[Scenario],
    methods: Sequence[Estimator],
    replicates: int,
    kind: Replicates = "fresh",
) -> list[Unit]:
    """Return the units of a study, longest groups first within a cohort.

    Names that cannot be part of a file name on every system, or that lead elsewhere, are refused.
    """
    groups: dict[str, list[Estimator]] = {}
    for method in methods:
        groups.setdefault(method.shares, []).append(method)
    names = {"condition": [each.name for each in conditions], "method": [m.name for m in methods]}
    for what, given in {**names, "group": groups}.items():
        known: dict[str, str] = {}
        for name in given:
            if not _SAFE_NAME.fullmatch(name):
                raise InputError(
                    f"the name of {what} {name!r} is also that of a file; use letters, digits, "
                    "'-', '_' and '.', up to 80 of them, and begin with a letter or digit"
                )
            # Two names that differ by case are one file on Windows and macOS.
            other = known.setdefault(name.casefold(), name)
            if other != name:
                raise InputError(f"{what}s '{other}' and '{name}' differ by case alone; rename one")
    return [
        Unit(condition, replicate, group, tuple(members), kind)
        for condition in conditions
        for replicate in range(replicates)
        for group, members in {BASELINES: [], **groups}.items()
    ]


def run_unit(unit: Unit) -> tuple[str, pl.DataFrame, dict[str, Any]]:
    """Simulate the unit's cohort and score it with each of its methods.

    A method that fails is recorded with its error; the others go on. Returns the unit's name, its
    scores, and the record of how they came about.
    """
    start = time.perf_counter()
    cohort = unit.condition.simulate(unit.seed)
    if unit.replicates == "resampled":
        random = stream(unit.seed, unit.condition.name, "resample", str(unit.replicate))
        cohort = cohort.take(random.integers(cohort.n_patients, size=cohort.n_patients))
    truth = oracle(cohort)
    where = {"condition": unit.condition.name, "replicate": unit.replicate}
    details: dict[str, Any] = {}
    scores, runs = [pl.DataFrame(schema=SCORE_SCHEMA)], []

    def ran(method: str, begin: float, error: str | None = None) -> None:
        measured = (time.perf_counter() - begin if begin else 0.0, peak_memory_mb())
        about = (*where.values(), method, *measured, json.dumps(software_versions()), error)
        runs.append(dict(zip(RUN_SCHEMA, about, strict=True)))

    if unit.group == BASELINES:
        details["cohort"] = _cohort_details(cohort)
        for name, score in _baselines(cohort, truth):
            scores.append(_beside(score, name, truth))
            ran(name, 0.0)
    if unit.methods:
        recorded, completed = _observed(cohort)
    for method in unit.methods:
        begin = time.perf_counter()
        observed = recorded if method.accepts_missing else completed
        estimator, messages, error = _fit(unit, method, observed)
        ran(method.name, begin, error)
        if error is None:
            profile = estimator.profile_.rename({"score_low": "low", "score_high": "high"})
            scores.append(_beside(profile, method.name, truth, rate=method.scale == "discordance"))
            warned = {"warnings": messages} if messages else {}
            details[method.name] = estimator.details() | warned
    table = pl.concat(scores, how="diagonal_relaxed").with_columns(
        pl.lit(value).alias(name) for name, value in where.items()
    )
    record = {
        "unit": unit.name,
        **where,
        "replicates": unit.replicates,
        "group": unit.group,
        "methods": list(unit.method_names),
        "seed": unit.seed,
        "configuration": unit.configuration(),
        "versions": software_versions(),
        "seconds": time.perf_counter() - start,
        "peak_memory_mb": peak_memory_mb(),
        "runs": runs,
        "details": details,
    }
    return unit.name, table.select(pl.col(n).cast(t) for n, t in SCORE_SCHEMA.items()), record


def _fit(
    unit: Unit, method: Estimator, observed: Observed
) -> tuple[Estimator, list[str], str | None]:
    """Fit a copy of a method with the unit's seed; return it, its warnings and its error."""
    estimator: Estimator = clone(method)
    if "random_state" in estimator.get_params():
        seed = derived_seed(unit.seed, unit.condition.name, "estimator", str(unit.replicate))
        estimator.set_params(random_state=seed)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.fit_observed(observed)
    except Exception as problem:
        return estimator, [], f"{type(problem).__name__}: {problem}"
    return estimator, sorted({str(warning.message) for warning in caught}), None


def _baselines(cohort: Cohort, truth: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return the scores of the oracle, and of one guess for all physicians."""
    own = truth.rename({"oracle": "score"}).join(oracle_interval(cohort), on="physician")
    share = float(cohort.decision.mean())
    # How often two random patients of the cohort differ, for every physician.
    guess = pl.lit(2 * share * (1 - share)).alias("score")
    return [(ORACLE, own), (CONSTANT, truth.select("physician", "n_patients", guess))]


def _observed(cohort: Cohort) -> tuple[Observed, Observed]:
    """Return what is recorded, and the same for methods that need complete covariates.

    Those get the median, as an analyst would do it.
    """
    X, y, physician = cohort.observed()
    recorded = Observed.of(X, y, physician, keep_missing=True)
    if not np.isnan(recorded.covariates).any():
        return recorded, recorded
    filled = X.with_columns(pl.all().fill_null(pl.all().median()))
    return recorded, Observed.of(filled, y, physician)


def _beside(
    profile: pl.DataFrame, method: str, truth: pl.DataFrame, *, rate: bool = True
) -> pl.DataFrame:
    """Return what a method says of every physician beside the truth."""
    beside = truth.select("physician", "group", "oracle", "d_star", "comparable")
    own = [n for n in profile.columns if n in SCORE_SCHEMA and n not in beside.columns[1:]]
    table = profile.select(own).join(beside, on="physician", how="left", maintain_order="left")
    delta = pl.col("score") - pl.col("oracle") if rate else pl.lit(None, pl.Float64)
    return table.with_columns(pl.lit(method).alias("method"), delta.alias("delta"))


def _cohort_details(cohort: Cohort) -> dict[str, Any]:
    truth = cohort.truth
    assert truth is not None  # simulated cohorts know their truth
    sizes = cohort.panel_sizes["n_patients"].to_list()
    return {
        "share_eligible": truth.share_eligible,
        "target_share": getattr(truth.rule, "target_share", None),
        "rule": truth.rule.describe(),
        "share_decided_for": float(np.mean(cohort.decision)),
        "smallest_panel": min(sizes),
        "largest_panel": max(sizes),
        "notes": list(cohort.notes),
    }
