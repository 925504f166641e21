"""Halves of the patients are read by what the whole taught: as good as fits anew, and far fewer."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import intravar
from intravar.arrays import FloatArray
from intravar.estimators.base import Estimator
from intravar.estimators.noise import noise_of
from intravar.inference.intervals import TwoHalves
from intravar.measurement import halves
from intravar.observed import Observed
from intravar.prediction import held_out


@cache
def cohort() -> Observed:
    simulated = intravar.simulate("score2", n_patients=1200, n_physicians=6)
    return Observed.of(*simulated.observed())


@pytest.fixture(autouse=True)
def _once(learned_once: None) -> None:
    """One deal, as with many patients."""


def test_the_whole_the_halves_and_noise_train_candidates_25_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained = []
    learn = held_out.learn_candidates  # type: ignore[attr-defined]

    def counted(*given: Any) -> Any:
        trained.append(given)
        return learn(*given)

    monkeypatch.setattr(held_out, "learn_candidates", counted)
    observed = cohort().take(np.arange(600))
    model = intravar.Predictability().fit_observed(observed)
    assert halves.compare_halves(model, observed, 0) is not None
    noise_of(observed)
    # 5 folds and 10 pairs of them; then every fold from either half. Before, it was 55.
    assert len(trained) == 15 + 10


def test_halves_say_what_fits_anew_say() -> None:
    observed = cohort()
    model = intravar.Predictability().fit_observed(observed)
    read = model.two_halves(observed, 0)
    fitted = halves._both_fitted(model, observed, np.random.default_rng(0))
    assert read is not None
    assert fitted is not None
    assert read.whole == pytest.approx(model.score_)

    def mean(given: TwoHalves) -> FloatArray:
        return np.asarray(given.score.mean(axis=0))

    # Both lie a little above the whole, which has learned from twice as many.
    assert abs(float((mean(read) - mean(fitted)).mean())) < 0.015
    assert float((mean(read) - read.whole).mean()) > 0
    error = fitted.interval.standard_error[0]
    assert (np.abs(mean(read) - mean(fitted)) < 2.5 * error).all()


def test_methods_that_cannot_read_halves_are_fitted_anew() -> None:
    observed = cohort()
    model = intravar.estimators.Euclidean().fit_observed(observed)
    assert model.two_halves(observed, 0) is None
    assert halves.compare_halves(model, observed, 0) is not None


def test_threads_change_nothing() -> None:
    some = cohort().take(np.arange(500))
    again = cohort().take(np.arange(500))
    one = intravar.Predictability().fit_observed(some)
    two = intravar.Predictability(n_jobs=2).fit_observed(again)
    assert one.score_.tolist() == two.score_.tolist()
    first, second = (each.two_halves(given, 0) for each, given in ((one, some), (two, again)))
    assert first is not None
    assert second is not None
    assert first.score.tolist() == second.score.tolist()


def test_without_a_rule_halves_are_fitted_for_themselves() -> None:
    """Too few patients for predictions: shares of the others take their place."""
    few = cohort().take(np.arange(36))
    model = intravar.Predictability().fit_observed(few)
    assert model.two_halves(few, 0) is None
    assert isinstance(model, Estimator)
