"""How far an unrecorded reason could go: scales, edges, hidden covariates of known strength."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

from intravar.arrays import FloatArray
from intravar.measurement.unrecorded import (
    _turned_round,
    discordance_at,
    share_explained,
    unrecorded_reasons,
)
from intravar.observed import Observed
from intravar.publication.results import LeftOut
from intravar.publication.sentences import unrecorded_line
from intravar.wording import Words

STRENGTHS = np.array([1.5, 1.5, 0.8, 0.8, 0.0])


def left_out(covariate: str, lowered: float) -> LeftOut:
    return LeftOut(covariate, None, lowered)


@given(st.floats(0.02, 0.95), st.floats(0.15, 0.85), st.floats(0.0, 0.1))
def test_the_scale_can_be_read_both_ways(explained: float, share: float, turned: float) -> None:
    value = discordance_at(explained, share, turned)
    assert share_explained(value, share, turned) == pytest.approx(explained, abs=1e-6)


@pytest.mark.parametrize(("explained", "share"), [(0.3, 0.5), (0.8, 0.2), (0.5, 0.7)])
def test_two_decisions_differ_as_two_correlated_normals(explained: float, share: float) -> None:
    cut = norm.isf(share)
    both = multivariate_normal([0, 0], [[1, explained], [explained, 1]]).cdf([-cut, -cut])
    assert discordance_at(explained, share) == pytest.approx(2 * (share - both), abs=1e-5)
    # Two answers differ if the reasons do, or if one of them is turned round.
    before, turned = discordance_at(explained, (share - 0.1) / 0.8), 0.1
    one = 2 * turned * (1 - turned)
    assert discordance_at(explained, share, turned) == pytest.approx(
        before * (1 - one) + (1 - before) * one
    )


@pytest.mark.parametrize(("turned", "share"), [(0.0, 0.5), (0.05, 0.3), (0.1, 0.6)])
def test_decisions_turned_round_are_found_where_sums_tell(turned: float, share: float) -> None:
    """Losses made from strengths that add up: the share turned round is read off them."""
    explained, strength = 0.9, {"a": 0.25, "b": 0.2, "c": 0.15}

    def losses(*left_out: str) -> FloatArray:
        rest = explained - sum(strength[name] for name in left_out)
        return np.full(10, discordance_at(rest, share, turned))

    sets: list[tuple[str, ...]] = [(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
    found = _turned_round({each: losses(*each) for each in sets}, float(losses()[0]), share)
    assert found == pytest.approx(turned, abs=0.02)


def _cohort(seed: int, hidden: int) -> tuple[Observed, float, float]:
    """Return a record without a covariate, and discordance without it and with it, in truth."""
    random = np.random.default_rng(seed)
    n = 3200
    x = random.normal(size=(n, len(STRENGTHS)))
    code = random.integers(0, 10, n)
    p = expit(x @ STRENGTHS)
    y = (random.random(n) < p).astype(int)
    kept = [at for at in range(len(STRENGTHS)) if at != hidden]
    other = random.normal(size=200) * STRENGTHS[hidden]
    q = expit((x[:, kept] @ STRENGTHS[kept])[:, None] + other).mean(axis=1)
    record = Observed.of(x[:, kept], y, code)
    return record, float(np.mean(2 * q * (1 - q))), float(np.mean(2 * p * (1 - p)))


@pytest.mark.parametrize("hidden", [0, 2])
def test_what_is_claimed_of_the_twin_is_what_the_hidden_one_does(hidden: int) -> None:
    record, without, truth = _cohort(hidden, hidden)
    names = [f"c{at}" for at in range(len(STRENGTHS)) if at != hidden]
    found = unrecorded_reasons(record, names, names, without)
    assert found is not None
    lowered = {reason.covariate: reason.lowered for reason in found.reasons}
    assert lowered[f"c{hidden + 1}"] == pytest.approx(truth, abs=0.25 * (without - truth) + 0.01)
    assert "c4" not in lowered  # it tells nothing
    assert all(reason.without > without > reason.lowered for reason in found.reasons)
    assert [reason.lowered for reason in found.reasons] == sorted(lowered.values())


def test_it_depends_on_the_patients_and_not_on_their_order() -> None:
    record, without, _ = _cohort(1, 0)
    order = np.random.default_rng(0).permutation(300)
    names = ["a", "a", "b", "b"]
    rows = (record.covariates[:300], record.decision[:300], record.code[:300])
    one = unrecorded_reasons(Observed.of(*rows), names, ["a", "b"], without)
    other = unrecorded_reasons(
        Observed.of(*(each[order] for each in rows)), names, ["a", "b"], without
    )
    assert one == other


def test_little_to_go_by() -> None:
    """Too few patients, one decision for all, nothing to leave out, noise, constant, one column."""
    random = np.random.default_rng(0)
    x, y, code = random.normal(size=(400, 1)), random.integers(0, 2, 400), [0, 1] * 200
    few = Observed.of(x[:50], y[:50], code[:50])
    assert unrecorded_reasons(few, ["x"], ["x"], 0.4) is None
    assert unrecorded_reasons(Observed.of(x, np.ones(400), code), ["x"], ["x"], 0.0) is None
    assert unrecorded_reasons(Observed.of(x, y, code), ["x"], [], 0.4) is None
    for column in (x, np.zeros((400, 1))):
        found = unrecorded_reasons(Observed.of(column, y, code), ["x"], ["x"], 0.5)
        assert found is not None
        assert found.reasons == ()
        assert "cannot be said" in unrecorded_line(0.5, [], 1)
    gaps = np.where(random.random((400, 2)) < 0.2, np.nan, random.normal(size=(400, 2)))
    follows = (np.nan_to_num(gaps[:, 0]) > 0).astype(int)
    holed = Observed.of(gaps, follows, ["one"] * 400, keep_missing=True)
    found = unrecorded_reasons(holed, ["x", "z"], ["x", "z"], 0.0)
    assert found is not None
    assert [(reason.covariate, reason.lowered) for reason in found.reasons] == [("x", 0.0)]


@pytest.mark.parametrize(
    ("lowered", "words"),
    [
        (0.17, "would bring the estimate of 23 of 100 down to about 17."),
        (0.24, "would hardly lower the estimate of 23 of 100."),
        (0.001, "would bring the estimate of 23 of 100 down to about 0."),
    ],
)
def test_words(lowered: float, words: str) -> None:
    reasons = [left_out("severity", lowered)]
    told = unrecorded_line(0.23, reasons, 4)
    assert told == f"An unrecorded reason as strong as severity {words}"


def test_several_in_one_sentence() -> None:
    reasons = [
        left_out(name, lowered)
        for name, lowered in {"nihss": 0.17, "age": 0.2, "sex": 0.229}.items()
    ]
    assert unrecorded_line(0.23, reasons, 4, Words(labels=(("nihss", "severity"),))) == (
        "An unrecorded reason as strong as severity would bring the estimate of 23 of 100 down to "
        "about 17; one as strong as age, to about 20; one as strong as sex would hardly lower it."
    )
