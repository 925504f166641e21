"""Measurements made once for all tests of documents."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar.documents.measurement.handover import write_measurement
from intravar.publication.disclosure import published_of
from intravar.publication.results import Published

HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(A1)",
    "#panic() $x$ <script>alert(1)</script>",
    "http://example.org",
    "Dr. " + "Very" * 40,
    "\u05d0\u05d1\u05d2 \U0001fa7a",
    "{{ 7 * 7 }} *_`",
]


@pytest.fixture(scope="session")
def published() -> Published:
    """Six physicians, nothing hidden."""
    cohort = intravar.simulate("score2", n_patients=900, n_physicians=6, random_state=2)
    measured = intravar.measure(
        cohort.to_polars(),
        physician="physician",
        decision="decision",
        method="euclidean",
        methods=["mahalanobis"],
        min_reliability=0,
        smallest_cell=1,
    )
    return published_of(measured, {name: name for name in cohort.panel_sizes["physician"]})


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored measurement with names that try to be something else."""
    cohort = intravar.simulate("score2", n_patients=960, n_physicians=8, random_state=2)
    names = dict(zip([f"P0{n}" for n in range(1, 9)], HOSTILE, strict=True))
    measured = intravar.measure(
        cohort.to_polars()
        .with_columns(pl.col("physician").replace_strict(names))
        .rename({"physician": "who"}),
        physician="who",
        decision="decision",
        method="euclidean",
        methods=["mahalanobis"],
        min_reliability=0,
        decider_word="hospital,hospitals",
        labels={"sbp": "=blood pressure"},
        title="Statins & more",
    )
    out = tmp_path_factory.mktemp("hostile") / "out"
    write_measurement(measured, out, show_names=True)
    return out
