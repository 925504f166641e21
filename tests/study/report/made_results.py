"""Results that look like a study's, made in a moment: no cohort is drawn, no method is run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intravar.estimators import PAPER_METHODS, make_estimator
from intravar.study.benchmark import manifest
from intravar.study.simulation.conditions import find_condition
from intravar.study.simulation.physicians import Continuum
from intravar.study.simulation.scenario import Scenario
from intravar.study.tables import build_tables
from intravar.study.units import OTHER_SCALE, RUN_SCHEMA, SCORE_SCHEMA

BIAS = {
    "oracle": 0.0,
    "constant": 0.08,
    "euclidean": 0.08,
    "mahalanobis": 0.081,
    "learned-weights": 0.028,
    "genetic-mahalanobis": 0.078,
    "rf-proximity": -0.03,
    "lpa-guided": 0.088,
    "mutual-information": 0.029,
}


def make_results(
    folder: Path,
    conditions: Iterable[str] = ("score2",),
    *,
    methods: Sequence[str] = tuple(PAPER_METHODS),
    replicates: int = 1,
    rename: dict[str, str] | None = None,
    undefined: bool = False,
) -> Path:
    """Write a results folder; `rename` gives physicians or conditions other names."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [find_condition(name) for name in conditions]
    frames, details, runs = [], {}, []
    for condition in chosen:
        for replicate in range(replicates):
            frames.append(_scores(condition, replicate, methods))
            details[f"{condition.name}.r{replicate:03d}"] = _details(condition, methods)
            runs += [_run(condition.name, replicate, method) for method in methods]
    scores = pl.concat(frames).with_columns(pl.col("replicate").cast(pl.Int32))
    if undefined:
        first = (pl.col("physician") == scores["physician"][0]) & (pl.col("method") == methods[0])
        scores = scores.with_columns(
            pl.when(first).then(None).otherwise(pl.col("score")).alias("score"),
            pl.when(first).then(pl.lit("no pair within the caliper")).alias("reason"),
        )
    told = manifest(
        chosen,
        [make_estimator(name) for name in methods if name in PAPER_METHODS],
        replicates,
        "fresh",
        "intravar benchmark",
    )
    for old, new in (rename or {}).items():
        scores = scores.with_columns(pl.col("physician", "condition", "method").replace({old: new}))
        for row in told["data_generating_mechanisms"]["conditions"]:
            row["condition"] = new if row["condition"] == old else row["condition"]
            row["rule"] = f"{row['rule']} {new}"
    write(folder, scores, pl.DataFrame(runs, schema=RUN_SCHEMA), details, told)
    return folder


def write(
    folder: Path,
    scores: pl.DataFrame,
    runs: pl.DataFrame,
    details: dict[str, Any],
    told: dict[str, Any],
) -> None:
    scores.write_parquet(folder / "scores.parquet")
    runs.write_parquet(folder / "runs.parquet")
    (folder / "tables").mkdir(exist_ok=True)
    for name, table in build_tables(scores, runs).items():
        table.write_parquet(folder / "tables" / f"{name}.parquet")
    for name, content in {"details": details, "manifest": told, "summary": {}}.items():
        (folder / f"{name}.json").write_text(json.dumps(content, default=str), "utf-8")


def _scores(condition: Scenario, replicate: int, methods: Sequence[str]) -> pl.DataFrame:
    random = np.random.default_rng([condition.seed % 2**32, replicate])
    physicians = condition.physicians.draw(condition.n_physicians, random)
    d_star = 2 * physicians.p_high * (1 - physicians.p_high)
    truth = np.clip(d_star + random.normal(0, 0.01, d_star.size) * (d_star > 0), 0, 1)
    noise = 0.08 if isinstance(condition.physicians, Continuum) else 0.02
    rows = []
    for method in ("oracle", "constant", *methods):
        bias = BIAS.get(method, 0.05) * (1 + 0.2 * random.normal())
        score = truth + bias * (1.6 - 2.4 * truth) + random.normal(0, noise, truth.size)
        if method == "oracle":
            score = truth
        elif method == "constant":
            score = np.full(truth.size, 0.42)
        elif method == "glmm":
            score = 0.5 + 2.5 * truth + random.normal(0, 0.05, truth.size)
        score = np.clip(score, 0, None)
        rows.append(_rows(condition, replicate, method, physicians, score, truth, d_star))
    return pl.concat(rows)


def _rows(
    condition: Scenario,
    replicate: int,
    method: str,
    physicians: Any,
    score: Any,
    truth: Any,
    d_star: Any,
) -> pl.DataFrame:
    panel = condition.n_patients // condition.n_physicians
    return pl.DataFrame(
        {
            "condition": condition.name,
            "replicate": replicate,
            "method": method,
            "physician": physicians.names,
            "group": physicians.group,
            "score": score,
            "low": None if method == "constant" else np.clip(score - 0.04, 0, None),
            "high": None if method == "constant" else score + 0.04,
            "oracle": truth,
            "delta": None if method in OTHER_SCALE else score - truth,
            "d_star": d_star,
            "comparable": 0.8 * d_star,
            "n_patients": panel,
            "n_pairs": None if method in ("glmm", "constant") else panel // 3,
            "reason": None,
        },
        schema=SCORE_SCHEMA,
    )


def _details(condition: Scenario, methods: Sequence[str]) -> dict[str, Any]:
    centres = (np.arange(10) + 0.5) / 10
    edges = np.linspace(-6, 6, 49)
    counts = (1000 * np.exp(-(((edges[:-1] + 0.1) / 1.2) ** 2))).astype(int)
    found: dict[str, Any] = {
        "cohort": {
            "share_eligible": 0.4905,
            "target_share": None,
            "rule": condition.realised_rule().describe(),
            "share_decided_for": 0.44,
            "smallest_panel": 90,
            "largest_panel": 540,
            "notes": [],
        }
    }
    if "glmm" in methods:
        found["glmm"] = {
            "calibration": [
                {"bin": k, "fitted": c, "observed": min(1, c * 1.04), "n_patients": 400 + 100 * k}
                for k, c in enumerate(centres.tolist())
            ],
            "residuals": {"edges": edges.tolist(), "counts": counts.tolist()},
            "converged": True,
        }
    return found


def _run(condition: str, replicate: int, method: str) -> dict[str, Any]:
    return {
        "condition": condition,
        "replicate": replicate,
        "method": method,
        "seconds": 1.25,
        "memory_mb": 300.0,
        "versions": "{}",
        "error": None,
    }
