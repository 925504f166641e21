"""What a study is, machine-readable, in the order that simulation studies are reported in.

Aims, data-generating mechanisms, estimands, methods, performance measures: Morris, White and
Crowther, Using simulation studies to evaluate statistical methods, Stat Med 2019;38:2074-2102.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from intravar.estimators.base import Estimator
from intravar.runs.software import software_versions
from intravar.study.benchmark.units import Replicates
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
    said = tomllib.loads(files(__package__).joinpath("data/manifest.toml").read_text("utf-8"))
    baselines = [{"method": name, "idea": idea} for name, idea in said["baselines"].items()]
    return {
        "title": said["title"],
        "command": command,
        "versions": software_versions(),
        "aims": said["aims"],
        "data_generating_mechanisms": {
            "replicates": replicates,
            "replicates_are": "fresh cohorts" if kind == "fresh" else "resampled patients",
            "conditions": [_mechanism(condition) for condition in conditions],
        },
        "estimands": said["estimands"],
        "methods": [_method(method) for method in methods] + baselines,
        "performance_measures": said["performance_measures"],
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
    told = {name: getattr(method, name) for name in ("label", "idea", "supervised", "scale")}
    simple = {
        name: value
        for name, value in method.get_params().items()
        if isinstance(value, str | int | float | bool | None)
    }
    return {"method": method.name, **told, "parameters": simple}
