"""The unit of work: one condition, one replicate, and the methods that share what they learn."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterable, Sequence
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
from intravar.seeds import derived_seed, stream
from intravar.study.cohort import Cohort
from intravar.study.oracle import oracle, oracle_interval
from intravar.study.simulation.conditions import Condition
from intravar.writing import digest, record_checksum

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
    "score": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "oracle": pl.Float64,
    "delta": pl.Float64,
    "d_star": pl.Float64,
    "comparable": pl.Float64,
    "n_patients": pl.Int64,
    "n_pairs": pl.Int64,
    "reason": pl.String,
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

    condition: Condition
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
        return self.condition.replicate_seed(
            0 if self.replicates == "resampled" else self.replicate
        )

    def configuration(self) -> dict[str, Any]:
        """Return all that decides the unit's result, apart from the versions of the software."""

        def settings(method: Estimator) -> dict[str, Any]:
            # Threads change nothing, seeds follow from the condition: no part of it.
            known = sorted(method.get_params().items())
            return {name: value for name, value in known if name not in ("n_jobs", "random_state")}

        return {
            "scenario": repr(self.condition.scenario),
            "seed": self.seed,
            "replicate": self.replicate,
            "replicates": self.replicates,
            "methods": {method.name: repr(settings(method)) for method in self.methods},
        }

    def configuration_hash(self) -> str:
        """Return a fingerprint of the configuration."""
        return record_checksum(self.configuration())


@dataclass(frozen=True)
class UnitResult:
    """What a unit found."""

    unit: Unit
    scores: pl.DataFrame
    runs: list[dict[str, Any]]
    details: dict[str, Any]
    seconds: float
    peak_memory_mb: float


def plan(
    conditions: Iterable[Condition],
    methods: Sequence[Estimator],
    replicates: int,
    kind: Replicates = "fresh",
) -> list[Unit]:
    """Return the units of a study, longest groups first within a cohort."""
    conditions = list(conditions)
    _check_names("condition", [condition.name for condition in conditions])
    _check_names("method", [method.name for method in methods])
    groups: dict[str, list[Estimator]] = {}
    for method in methods:
        groups.setdefault(method.shares, []).append(method)
    _check_names("group", list(groups))
    units = []
    for condition in conditions:
        for replicate in range(replicates):
            units.append(Unit(condition, replicate, BASELINES, (), kind))
            units += [
                Unit(condition, replicate, group, tuple(members), kind)
                for group, members in groups.items()
            ]
    return units


def _check_names(kind: str, names: Sequence[str]) -> None:
    """Refuse names that cannot be part of a file name on every system, or that lead elsewhere."""
    seen: dict[str, str] = {}
    for name in names:
        if not _SAFE_NAME.fullmatch(name):
            raise InputError(
                f"the name of {kind} {name!r} is also that of a file; use letters, digits, '-', "
                "'_' and '.', up to 80 of them, and begin with a letter or digit"
            )
        # Two names that differ by case are one file on Windows and macOS.
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InputError(f"{kind}s '{other}' and '{name}' differ by case alone; rename one")


def run_unit(unit: Unit) -> UnitResult:
    """Simulate the unit's cohort and score it with each of its methods.

    A method that fails is recorded with its error; the others go on.
    """
    start = time.perf_counter()
    cohort = unit.condition.scenario.simulate(unit.seed)
    if unit.replicates == "resampled":
        random = stream(unit.seed, unit.condition.name, "resample", str(unit.replicate))
        cohort = cohort.take(random.integers(cohort.n_patients, size=cohort.n_patients))
    truth = oracle(cohort)
    if unit.group == BASELINES:
        own = truth.rename({"oracle": "score"}).join(oracle_interval(cohort), on="physician")
        share = float(cohort.decision.mean())
        # How often two random patients of the cohort differ, for every physician.
        same = truth.select(
            "physician",
            "n_patients",
            pl.lit(2 * share * (1 - share)).alias("score"),
            pl.lit(None, dtype=pl.String).alias("reason"),
        )
        scores = [_scores(own, ORACLE, truth), _scores(same, CONSTANT, truth)]
        runs = [_run(unit, name, 0.0, None) for name in unit.method_names]
        details: dict[str, Any] = {"cohort": _cohort_details(cohort)}
    else:
        scores, runs, details = _fit_methods(unit, cohort, truth)
    nothing = pl.DataFrame(schema=SCORE_SCHEMA)
    table = pl.concat([nothing, *scores], how="diagonal_relaxed").with_columns(
        pl.lit(unit.condition.name).alias("condition"),
        pl.lit(unit.replicate).alias("replicate"),
    )
    return UnitResult(
        unit,
        table.select(pl.col(name).cast(dtype) for name, dtype in SCORE_SCHEMA.items()),
        runs,
        details,
        time.perf_counter() - start,
        peak_memory_mb(),
    )


def _fit_methods(
    unit: Unit, cohort: Cohort, truth: pl.DataFrame
) -> tuple[list[pl.DataFrame], list[dict[str, Any]], dict[str, Any]]:
    X, y, physician = cohort.observed()
    recorded = Observed.of(X, y, physician, keep_missing=True)
    incomplete = bool(np.isnan(recorded.covariates).any())
    # Methods that need complete covariates get the median, as an analyst would do it.
    completed = (
        Observed.of(X.with_columns(pl.all().fill_null(pl.all().median())), y, physician)
        if incomplete
        else recorded
    )
    scores, runs, details = [], [], {}
    for method in unit.methods:
        estimator = clone(method)
        if "random_state" in estimator.get_params():
            seed = derived_seed(unit.seed, unit.condition.name, "estimator", str(unit.replicate))
            estimator.set_params(random_state=seed)
        start = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                estimator.fit_observed(recorded if method.accepts_missing else completed)
            error = None
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
        runs.append(_run(unit, method.name, time.perf_counter() - start, error))
        if error is None:
            rate = method.scale == "discordance"
            profile = estimator.profile_.rename({"score_low": "low", "score_high": "high"})
            scores.append(_scores(profile, method.name, truth, rate=rate))
            found = estimator.details()
            said = sorted({str(warning.message) for warning in caught})
            details[method.name] = found | ({"warnings": said} if said else {})
    return scores, runs, details


def _scores(
    profile: pl.DataFrame, method: str, truth: pl.DataFrame, *, rate: bool = True
) -> pl.DataFrame:
    """Return what a method says of every physician beside the truth."""
    beside = truth.select("physician", "group", "oracle", "d_star", "comparable")
    own = profile.select(name for name in profile.columns if name in SCORE_SCHEMA)
    table = own.drop(beside.columns[1:], strict=False).join(
        beside, on="physician", how="left", maintain_order="left"
    )
    delta = pl.col("score") - pl.col("oracle") if rate else pl.lit(None, pl.Float64)
    return table.with_columns(pl.lit(method).alias("method"), delta.alias("delta"))


def _cohort_details(cohort: Cohort) -> dict[str, Any]:
    truth = cohort.truth
    assert truth is not None  # simulated cohorts know their truth
    rule = truth.rule
    sizes = cohort.panel_sizes["n_patients"].to_numpy()
    return {
        "share_eligible": truth.share_eligible,
        "target_share": getattr(rule, "target_share", None),
        "rule": None if rule is None else rule.describe(),
        "share_decided_for": float(np.mean(cohort.decision)),
        "smallest_panel": int(sizes.min()),
        "largest_panel": int(sizes.max()),
        "notes": list(cohort.notes),
    }


def _run(unit: Unit, method: str, seconds: float, error: str | None) -> dict[str, Any]:
    return {
        "condition": unit.condition.name,
        "replicate": unit.replicate,
        "method": method,
        "seconds": seconds,
        "error": error,
    }
