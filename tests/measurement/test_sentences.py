"""What is compared is said in the sentence itself, and so is what goes with the rate of "yes"."""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar import documents
from intravar.estimators.evidence import RepeatedCases
from intravar.inference import Interval
from intravar.measurement.scores import FEWEST_TOGETHER, Scores, with_rates
from intravar.measurement.sentences import (
    MAY_BE_READ,
    TOGETHER,
    differences_sentence,
    rates_in_words,
)
from intravar.measurement.verdict import RULE_FOUND, Verdict, compared_in
from intravar.publication.disclosure import published_of
from intravar.wording import Words

pytestmark = pytest.mark.usefixtures("learned_once")

RNG = np.random.default_rng(5)


def scores_with(rate: np.ndarray, discordance: np.ndarray) -> Scores:
    n = len(rate)
    size = np.full(n, 200)
    error = np.full(n, 0.02)
    return Scores(
        pl.Series([f"P{at}" for at in range(n)]),
        size,
        np.rint(rate * size).astype(np.int64),
        discordance,
        [None] * n,
        Interval(discordance - 0.04, discordance + 0.04, error),
        {},
    )


def test_scores_that_go_with_the_rate_are_said_to() -> None:
    rate = np.linspace(0.05, 0.45, 20)
    found = with_rates(scores_with(rate, 2 * rate * (1 - rate)))
    assert found == pytest.approx((1.0, 1.0))
    assert "say yes more often have the higher score" in str(rates_in_words(*found))
    rate = np.linspace(0.05, 0.95, 21)
    found = with_rates(scores_with(rate, 2 * rate * (1 - rate)))
    assert found is not None
    assert abs(found[0]) < TOGETHER < found[1]
    nearer = "physicians whose rate is nearer to one half have the higher score"
    assert nearer in str(rates_in_words(*found))


def test_scores_that_do_not_are_not() -> None:
    rate = np.linspace(0.05, 0.95, 40)
    found = with_rates(scores_with(rate, RNG.permutation(np.linspace(0.1, 0.4, 40))))
    assert found is not None
    assert rates_in_words(*found) is None
    few = np.linspace(0.1, 0.4, FEWEST_TOGETHER - 1)
    assert with_rates(scores_with(few, few)) is None
    assert with_rates(scores_with(rate, np.full(40, 0.2))) is None


def test_without_a_rule_any_two_patients_are_compared() -> None:
    n = 360
    table = pl.DataFrame(
        {
            "doctor": np.repeat(["a", "b", "c"], n // 3),
            "statin": RNG.integers(0, 2, n),
            "age": RNG.normal(60, 10, n),
        }
    )
    found = intravar.measure(
        table, physician="doctor", decision="statin", decider_word="judge,judges"
    )
    assert found.judged is not None
    assert found.judged.rule_found < RULE_FOUND
    decision = published_of(found, {name: name for name in "abc"}).first
    told = "pairs of patients alike in what is recorded, which hardly tells patients apart"
    assert decision.compared == told
    lines = documents.summary_lines(decision, found.request.words)
    assert f"Of 100 {told}, at most" in lines[0]
    no_rule = Verdict("group only", (), 0.0)
    assert compared_in(RepeatedCases(*np.ones((2, 3), int)), no_rule) == "cases seen twice"


def test_whether_deciders_differ_is_said_with_the_size() -> None:
    about = (
        "chance aside, their {} typically lie {} of 100 from the average (95 % interval {} to {})."
    )
    limits = differences_sentence("differ", 0.018, 0.001, 0.18, claim="at most")
    assert limits == f"Physicians differ: {about.format('limits', 1.8, 0.1, 18)}"
    assert differences_sentence("differ", None, 0.0, 0.0) == "Physicians differ."
    little = differences_sentence("less than matters", 0.006, 0.005, 0.008)
    begin = (
        "Physicians are estimated to differ by less than the smallest relevant difference "
        "(2 of 100): "
    )
    assert little == begin + about.format("figures", 0.6, 0.5, 0.8)


def test_sentences_suit_institutions() -> None:
    hospitals = Words(decider="hospital", deciders="hospitals")
    rates = (rates_in_words(-0.9, 0.2), rates_in_words(0.1, 0.9))
    for told in (*MAY_BE_READ.values(), *(each or "" for each in rates)):
        assert " who " not in f" {hospitals.said(told).lower()} "
