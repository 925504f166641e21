"""What a study is, machine-readable, in the order that simulation studies are reported in.

Aims, data-generating mechanisms, estimands, methods, performance measures: Morris, White and
Crowther, Using simulation studies to evaluate statistical methods, Stat Med 2019;38:2074-2102.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intravar.estimators.base import Estimator
from intravar.runs.software import software_versions
from intravar.study.benchmark.units import CONSTANT, ORACLE, Replicates
from intravar.study.simulation.conditions import Condition
from intravar.study.simulation.rules import ThresholdRule


def manifest(
    conditions: Sequence[Condition],
    methods: Sequence[Estimator],
    replicates: int,
    kind: Replicates,
    command: str,
) -> dict[str, Any]:
    """Return the manifest of a study."""
    return {
        "title": "Intra-physician variability: benchmark",
        "command": command,
        "versions": software_versions(),
        "aims": (
            "How closely do methods that do not know who is eligible estimate how often a "
            "physician decides differently for two comparable patients, and do they keep the "
            "order of the physicians?"
        ),
        "data_generating_mechanisms": {
            "replicates": replicates,
            "replicates_are": "fresh cohorts" if kind == "fresh" else "resampled patients",
            "conditions": [_mechanism(condition) for condition in conditions],
        },
        "estimands": {
            "d_star": "2 p_high (1 - p_high), a physician's discordance among eligible patients",
            "oracle": "discordant share of all pairs of a physician's eligible patients",
        },
        "methods": [_method(method) for method in methods]
        + [
            {"method": ORACLE, "idea": "knows who is eligible; its estimate stands for the truth"},
            {"method": CONSTANT, "idea": "how often two random patients of the cohort differ"},
        ],
        "performance_measures": {
            "delta": "score minus the oracle's estimate, averaged over physicians",
            "spearman_oracle": "rank correlation with the oracle over physicians",
            "spearman_d_star": "rank correlation with d_star over physicians",
            "interval": "95 % percentile bootstrap, 2,000 resamples, seed 42; physicians resampled "
            "within a condition, conditions across conditions, replicates on the grid",
            "coverage": "share of 95 % intervals that hold d_star",
            "mcse": "Monte-Carlo standard error of a mean: over replicates if there are several, "
            "else over physicians or conditions",
            "n_undefined": "number of undefined scores, left out of means",
        },
    }


def _mechanism(condition: Condition) -> dict[str, Any]:
    scenario, rule = condition.scenario, condition.rule
    return {
        "condition": condition.name,
        "family": condition.family,
        "seed": condition.seed,
        "n_patients": scenario.n_patients,
        "n_physicians": scenario.n_physicians,
        "rule": rule.describe(),
        "target_share": rule.target_share if isinstance(rule, ThresholdRule) else None,
        "physicians": scenario.physicians.describe(),
    }


def _method(method: Estimator) -> dict[str, Any]:
    return {
        "method": method.name,
        "label": method.label,
        "idea": method.idea,
        "supervised": method.supervised,
        "scale": method.scale,
        "parameters": {
            name: value
            for name, value in method.get_params().items()
            if isinstance(value, str | int | float | bool | None)
        },
    }
