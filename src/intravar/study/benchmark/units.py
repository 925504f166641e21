"""The unit of work: one condition, one replicate, and the methods that share what they learn."""

from __future__ import annotations

import hashlib
import json
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
from intravar.estimators.base import Estimator
from intravar.memory import peak_memory_mb
from intravar.observed import Observed
from intravar.seeds import derived_seed, stream
from intravar.study.benchmark.score_table import SCORE_SCHEMA, delta
from intravar.study.cohort import Cohort
from intravar.study.oracle import oracle, oracle_interval
from intravar.study.simulation.conditions import Condition

#: Rows that stand in every study beside the methods.
ORACLE = "oracle"
CONSTANT = "constant"
BASELINES = "baselines"

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")

Replicates = Literal["fresh", "resampled"]


@dataclass(frozen=True)
class Unit:
    """One condition, one replicate, and methods that are run on the same cohort.

    Parameters
    ----------
    condition
        What to simulate.
    replicate
        Which draw of it, counted from 0; replicate 0 has the condition's own seed.
    group
        What the methods have in common; `baselines` for the oracle and the constant.
    methods
        Unfitted estimators; empty for the baselines.
    replicates
        "fresh" draws a new cohort per replicate; "resampled" draws patients of replicate 0 with
        replacement, which breaks nearest-neighbour matching and is there to show it.
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
        methods = hashlib.sha256(" ".join(self.method_names).encode()).hexdigest()[:8]
        return f"{self.condition.name}.r{self.replicate:03d}{kind}.{self.group}.{methods}"

    @property
    def seed(self) -> int:
        """Seed of the unit's cohort."""
        return self.condition.replicate_seed(
            0 if self.replicates == "resampled" else self.replicate
        )

    def configuration(self) -> dict[str, Any]:
        """Return all that decides the unit's result, apart from the versions of the software."""
        return {
            "scenario": repr(self.condition.scenario),
            "seed": self.seed,
            "replicate": self.replicate,
            "replicates": self.replicates,
            "methods": {method.name: repr(_settings(method)) for method in self.methods},
        }

    def configuration_hash(self) -> str:
        """Return a fingerprint of the configuration."""
        text = json.dumps(self.configuration(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


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
    cohort = _cohort(unit)
    truth = oracle(cohort)
    if unit.group == BASELINES:
        scores = [_oracle_scores(cohort, truth), _constant_scores(cohort, truth)]
        runs = [_run(unit, name, 0.0, None) for name in unit.method_names]
        details: dict[str, Any] = {"cohort": _cohort_details(cohort)}
    else:
        scores, runs, details = _fit_methods(unit, cohort, truth)
    table = pl.concat(scores) if scores else pl.DataFrame(schema=SCORE_SCHEMA)
    table = table.with_columns(
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


def _cohort(unit: Unit) -> Cohort:
    cohort = unit.condition.scenario.simulate(unit.seed)
    if unit.replicates == "fresh":
        return cohort
    random = stream(unit.seed, unit.condition.name, "resample", str(unit.replicate))
    return cohort.take(random.integers(cohort.n_patients, size=cohort.n_patients))


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
            scores.append(_scores(estimator.profile_, method.name, truth, rate=rate))
            found = estimator.details()
            said = sorted({str(warning.message) for warning in caught})
            details[method.name] = found | ({"warnings": said} if said else {})
    return scores, runs, details


def _scores(
    profile: pl.DataFrame, method: str, truth: pl.DataFrame, *, rate: bool = True
) -> pl.DataFrame:
    def known(column: str) -> pl.Expr:
        return pl.col(column) if column in profile.columns else pl.lit(None).alias(column)

    return (
        profile.select(
            pl.lit(method).alias("method"),
            "physician",
            "score",
            known("low"),
            known("high"),
            "n_patients",
            known("n_pairs"),
            "reason",
        )
        .join(
            truth.select("physician", "group", "oracle", "d_star", "comparable"),
            on="physician",
            how="left",
            maintain_order="left",
        )
        .with_columns(delta(rate=rate))
        .select(pl.col(name).cast(dtype) for name, dtype in list(SCORE_SCHEMA.items())[2:])
    )


def _oracle_scores(cohort: Cohort, truth: pl.DataFrame) -> pl.DataFrame:
    profile = truth.select(
        "physician", "n_patients", "n_pairs", pl.col("oracle").alias("score"), "reason"
    ).join(oracle_interval(cohort), on="physician")
    return _scores(profile, ORACLE, truth)


def _constant_scores(cohort: Cohort, truth: pl.DataFrame) -> pl.DataFrame:
    """Predict for every physician how often two random patients of the cohort differ."""
    share = float(cohort.decision.mean())
    profile = truth.select(
        "physician",
        "n_patients",
        pl.lit(2 * share * (1 - share)).alias("score"),
        pl.lit(None, dtype=pl.String).alias("reason"),
    )
    return _scores(profile, CONSTANT, truth)


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


def _settings(method: Estimator) -> dict[str, Any]:
    # Threads and seeds do not belong to a method's configuration: the one changes nothing, the
    # other follows from the condition.
    parameters = method.get_params()
    return {
        name: parameters[name]
        for name in sorted(parameters)
        if name not in ("n_jobs", "random_state")
    }
