"""Cases behind a score: who is set beside whom, against literal twins and the truth."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from intravar.arrays import FloatArray
from intravar.estimators.evidence import Decisions, EligibleRates, Predictions
from intravar.latent.rates import Anchors
from intravar.measurement.cases import (
    MOST_ALIKE,
    MOST_CASES,
    AlikeScale,
    _difference,
    cases_behind,
    nearest_within,
    pairs_behind,
    side_by_side,
)
from intravar.measurement.rule import suggest_rule
from intravar.observed import Observed
from intravar.preparation.check import checked
from intravar.request import Request
from reference import alike as reference

#: Few values: ties, constant columns and gaps turn up.
NUMBERS = st.sampled_from([0.0, 0.0, 1.0, 2.0, 2.25, 7.0, float("nan")])
CHANCES = st.sampled_from([0.0, 0.02, 0.3, 0.45, 0.55, 0.6, 0.9, 0.97, 1.0])


@st.composite
def cohorts(draw: st.DrawFn) -> dict[str, Any]:
    n, p = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    lists = {
        "table": st.lists(NUMBERS, min_size=p, max_size=p),
        "decision": st.integers(0, 1),
        "physician": st.integers(0, 2),
        "probability": CHANCES,
    }
    found: dict[str, Any] = {
        name: draw(st.lists(each, min_size=n, max_size=n)) for name, each in lists.items()
    }
    found["importance"] = {at: draw(st.sampled_from([-0.1, 0.0, 0.1, 0.4])) for at in range(p)}
    return found


def observed_of(cohort: dict[str, Any]) -> tuple[Observed, dict[str, float]]:
    observed = Observed.of(
        np.array(cohort["table"]), cohort["decision"], cohort["physician"], keep_missing=True
    )
    importance = {observed.names[at]: value for at, value in cohort["importance"].items()}
    return observed, importance


def predictions(probability: npt.ArrayLike, n: int) -> Predictions:
    nothing = np.zeros(n)
    return Predictions(np.asarray(probability, dtype=np.float64), nothing, nothing, nothing)


@given(cohorts())
@settings(max_examples=150, deadline=None)
def test_distances_are_those_of_the_twin(cohort: dict[str, Any]) -> None:
    observed, importance = observed_of(cohort)
    probability = np.array(cohort["probability"])
    for known in (None, probability):
        scale = AlikeScale.of(observed, observed.names, importance)
        points = scale.points(observed.covariates, known)
        for at in range(observed.n_patients):
            expected = reference.distance(
                0, at, cohort["table"], cohort["importance"], None if known is None else list(known)
            )
            assert np.linalg.norm(points[0] - points[at]) == pytest.approx(expected, abs=1e-9)


#: A patient who lies just at the limit.
AT_THE_LIMIT = {
    "table": [[np.nan], [0.0], [np.nan], [np.nan], [2.25], [0.0], [0.0], [np.nan], [np.nan], [0.0]],
    "decision": [0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    "physician": [0] * 10,
    "probability": [0.3, 0.0, 0.0, 0.3, 0.0, 0.3, 0.3, 0.3, 0.3, 0.3],
    "importance": {0: -0.1},
}


@example(AT_THE_LIMIT, False)
@given(cohorts(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_cases_are_those_of_the_twin(cohort: dict[str, Any], rule: bool) -> None:
    """Empty panels, one patient, ties, one decision for all, constant columns and gaps."""
    observed, importance = observed_of(cohort)
    evidence: Predictions | EligibleRates = predictions(cohort["probability"], 3)
    if rule:
        none, nobody = np.zeros(3), np.zeros(observed.n_patients, dtype=np.bool_)
        anchors = Anchors(0.1, 0.1, 0.5, 0.5, none, none)
        evidence = EligibleRates(
            none, none, none, none, nobody, anchors, probability=np.array(cohort["probability"])
        )
    scale = AlikeScale.of(observed, observed.names, importance)
    cases = cases_behind(evidence, observed, scale, pl.DataFrame())
    given_names = observed.named.to_list()
    found = [
        (given_names[panel], number, patient, other)
        for panel, number, patient, other in cases.select(
            "panel", "case", "patient", "other"
        ).iter_rows()
    ]
    twin = reference.surprises(
        cohort["table"],
        cohort["decision"],
        cohort["physician"],
        cohort["importance"],
        cohort["probability"],
        0.95 if rule else 0.5,
    )
    assert [each[:3] for each in found] == [each[:3] for each in twin]
    points = scale.points(observed.covariates, np.array(cohort["probability"]))
    for (_, _, patient, other), (*_, expected) in zip(found, twin, strict=True):
        if other != expected:  # equally far, but for the last digit
            assert other is not None
            assert expected is not None
            apart = [np.linalg.norm(points[patient] - points[at]) for at in (other, expected)]
            assert apart[0] == pytest.approx(apart[1], abs=1e-9)


def test_nobody_alike_is_said_and_shown() -> None:
    """One patient far from all others stands alone; one with a twin stands beside it."""
    x = np.array([[0.0], [0.0], [9.0]] + [[float(at % 2)] for at in range(30)])
    y = np.array([0, 1, 0] + [1] * 30)
    observed = Observed.of(x, y, ["a"] * 33)
    chance = np.where(np.arange(33) == 2, 0.99, 0.9)
    scale = AlikeScale.of(observed, ("x0",), {})
    cases = cases_behind(predictions(chance, 1), observed, scale, pl.DataFrame())
    assert cases["patient"].to_list() == [2, 0, 0, 0]
    assert cases["other"].to_list() == [None, 1, 3, 5]
    patients = pl.DataFrame(
        {"row": range(33), "physician": "a", "decision": y, "x0": x[:, 0]},
    )
    named = cases.with_columns(pl.lit("a").alias("physician"))
    shown = side_by_side(named, patients, "a", most=1)
    assert shown.select("row", "row_for", "row_against", "difference").rows() == [
        (2, None, 2, None)
    ]
    assert (
        side_by_side(named, patients, "a", most=2)["difference"].to_list() == [None] + ["same"] * 3
    )


def test_cases_are_bounded_and_pairs_serve_where_nothing_is_predicted() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    observed = Observed.of(random.normal(size=(300, 2)), y, ["a"] * 300)
    chance = np.full(300, 0.6)
    scale = AlikeScale.of(observed, observed.names, {})
    cases = cases_behind(predictions(chance, 1), observed, scale, pl.DataFrame())
    assert cases["case"].max() == MOST_CASES
    assert cases.group_by("case").len()["len"].max() == MOST_ALIKE
    pairs = pairs_behind(Decisions(), observed)
    by_pair = cases_behind(Decisions(), observed, scale, pairs)
    assert by_pair.height == pairs["discordant"].sum()
    assert by_pair["distance"].is_sorted()


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (71.0, 64.0, "+7"),
        (1, 3, "-2"),
        (2.5, 2.5, "same"),
        ("f", "m", "differs"),
        (None, 3.0, "differs"),
        (True, False, "differs"),
    ],
)
def test_differences_have_the_covariates_own_units(one: Any, other: Any, told: str) -> None:
    assert _difference(one, other) == told


def test_alike_patients_would_truly_be_decided_alike() -> None:
    """Weights and prediction bring patients together whom the truth holds alike."""
    random = np.random.default_rng(4)
    n, p = 2500, 10
    x = random.normal(size=(n, p))
    truth = 1 / (1 + np.exp(-2.0 * (x[:, 0] + x[:, 1])))
    y = (random.random(n) < truth).astype(int)
    table = pl.DataFrame(x, schema=[f"x{at}" for at in range(p)]).with_columns(
        physician=pl.Series(np.arange(n) % 5).cast(pl.String), decision=pl.Series(y)
    )
    prepared = checked(table, Request(physician="physician", decision="decision")).prepared
    observed, truth = prepared.observed, truth[prepared.rows]
    rule = suggest_rule(prepared)
    predicted = cross_val_predict(
        LogisticRegression(), observed.covariates, observed.decision, method="predict_proba"
    )[:, 1]
    weighed, alike = (AlikeScale.of(observed, prepared.origin, by) for by in (rule.weights, {}))
    ours = weighed.points(observed.covariates, predicted)
    even = alike.points(observed.covariates)
    near, nearest, beside = [], [], 0
    panel = observed.panels[0]
    for patient in panel.tolist():
        others = panel[observed.decision[panel] != observed.decision[patient]]
        for other, _ in nearest_within(ours, patient, others, 1):
            near.append(abs(truth[patient] - truth[other]))
            nearest.append(_unweighted(even, patient, others, truth))
        beside += len(nearest_within(ours, patient, others, 1))
    assert beside > 0.3 * len(panel)
    assert np.mean(near) < 0.08
    assert np.mean(near) < 0.5 * np.mean(nearest)


def _unweighted(points: FloatArray, patient: int, among: Any, truth: FloatArray) -> float:
    """Return how far the nearest by all covariates alike is from the patient in truth."""
    apart = np.square(points[among] - points[patient]).sum(axis=1)
    return float(abs(truth[patient] - truth[among[np.argmin(apart)]]))
