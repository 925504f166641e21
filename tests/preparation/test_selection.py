"""Questions about how rows were selected: sampling weights, and sampling by the decision."""

import numpy as np
import polars as pl
import pytest

from intravar.preparation.check import Check, check
from intravar.preparation.selection import (
    TOO_ALIKE,
    ask_about_sampling,
    ask_about_weights,
    probability_of_alike,
)
from intravar.publication.checks import check_lines, published_check
from intravar.request import Request

REQUEST = Request(physician="doctor", decision="drug")


def table(n_each: int = 40, n_physicians: int = 8, **columns: object) -> pl.DataFrame:
    random = np.random.default_rng(4)
    n = n_each * n_physicians
    return pl.DataFrame(
        {
            "doctor": np.repeat(np.arange(n_physicians), n_each),
            "drug": (random.random(n) < 0.37).astype(int),
            "age": random.normal(60, 9, n),
        }
        | columns
    )


def checked(patients: pl.DataFrame, **options: object) -> Check:
    return check(patients, physician="doctor", decision="drug", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    ["survey_weight", "sampling_weight", "ipw", "IPTW", "sampleWeight", "design wt", "pweight"],
)
def test_a_sampling_weight_is_asked_about(name: str) -> None:
    weights = np.random.default_rng(1).exponential(size=320)
    found = checked(table().with_columns(pl.Series(name, weights)))
    (question,) = found.questions
    assert f"column '{name}' looks like a sampling weight" in question
    assert question in check_lines(found)
    assert published_check(found).questions == (question,)


@pytest.mark.parametrize(
    "name", ["weight", "body_weight", "birthWeight", "weight_kg", "wt", "shipwreck", "cardweight"]
)
def test_the_weight_of_a_body_is_not(name: str) -> None:
    assert ask_about_weights([name], REQUEST) == []


def test_an_excluded_weight_is_not_asked_about() -> None:
    weights = np.random.default_rng(1).exponential(size=320)
    found = checked(table().with_columns(ipw=pl.Series(weights)), exclude=["ipw"])
    assert found.questions == ()


def test_one_yes_for_each_no_in_every_panel_is_asked_about() -> None:
    (question,) = checked(table(drug=np.tile([0, 1], 160))).questions
    assert "case-control" in question


def test_exactly_two_controls_for_each_case_are_asked_about() -> None:
    n_patients = np.full(10, 120)
    n_for = 40 + np.array([3, -3, 7, -7, 12, -12, 1, -1, 5, -5])
    assert ask_about_sampling(n_patients, n_for, REQUEST, same_cases=False)
    assert not ask_about_sampling(
        n_patients, n_for + np.eye(10, dtype=int)[0], REQUEST, same_cases=False
    )


def test_shares_that_are_too_much_alike_are_asked_about() -> None:
    random = np.random.default_rng(2)
    n_patients = random.integers(80, 300, 20)
    n_for = np.rint(0.3 * n_patients).astype(int)
    assert ask_about_sampling(n_patients, n_for, REQUEST, same_cases=False)
    assert not ask_about_sampling(n_patients, n_for, REQUEST, same_cases=True)


def test_usual_tables_are_asked_about_as_rarely_as_promised() -> None:
    """Independent decisions with one share for all physicians: the hardest case."""
    random = np.random.default_rng(7)
    n_runs, n_asked = 4_000, 0
    for _ in range(n_runs):
        n_patients = random.integers(30, 300, random.integers(5, 40))
        n_for = random.binomial(n_patients, random.uniform(0.1, 0.9))
        n_asked += probability_of_alike(n_patients, n_for) < TOO_ALIKE
    assert n_asked / n_runs <= TOO_ALIKE + 4 * np.sqrt(TOO_ALIKE / n_runs)


def test_an_exact_ratio_is_rarely_an_accident() -> None:
    """Any share of "yes", and physicians with levels of their own."""
    random = np.random.default_rng(8)
    n_runs, n_asked = 4_000, 0
    for _ in range(n_runs):
        n_patients = random.integers(60, 200, random.integers(10, 40))
        level = random.beta(8, 8, len(n_patients)) - 0.5 + random.uniform(0.3, 0.7)
        n_for = random.binomial(n_patients, np.clip(level, 0, 1))
        n_asked += bool(ask_about_sampling(n_patients, n_for, REQUEST, same_cases=False))
    assert n_asked / n_runs <= 0.01
