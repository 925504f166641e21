"""The time of a decision: changes of a physician's own rule are no inconsistency."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import intravar
from intravar.arrays import FloatArray
from intravar.estimators import make_estimator
from intravar.observed import Observed
from intravar.preparation.coding import days_since_1970

N_DAYS = 730
ASKED = {"physician": "physician", "decision": "decision", "date": "seen"}


def _drifting(seed: int = 0, pace: float = 2.0) -> tuple[Observed, FloatArray]:
    """Return ten physicians whose thresholds move, each its own way, and their true discordance."""
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(10), 120)
    x = random.normal(size=(len(code), 3))
    time = np.floor(random.uniform(0, N_DAYS, len(code)))
    own = random.normal(0.0, pace, 10)
    p = expit(4 * (x[:, 0] + own[code] * (time / N_DAYS - 0.5)))
    decision = (random.random(len(p)) < p).astype(np.int64)
    return Observed.of(x, decision, code, time=time), np.bincount(code, 2 * p * (1 - p)) / 120


def _fitted(observed: Observed) -> intravar.Predictability:
    return intravar.Predictability().fit_observed(observed)


@pytest.fixture(scope="module")
def drifting() -> tuple[Observed, FloatArray, intravar.Predictability, intravar.Predictability]:
    observed, truth = _drifting()
    without = _fitted(replace(observed, time=None, _learned={}))
    return observed, truth, without, _fitted(observed)


def test_own_drift_is_explained_by_the_time(drifting):
    _, truth, without, with_time = drifting
    assert without.score_.mean() > truth.mean() + 0.06
    assert with_time.score_.mean() < truth.mean() + 0.04
    assert (with_time.high_ >= truth).all()


def test_the_time_is_no_covariate(drifting):
    observed, _, _, with_time = drifting
    assert list(with_time.feature_names_in_) == ["x0", "x1", "x2"]
    assert set(with_time.weights_["covariate"]) == {"x0", "x1", "x2"}
    euclidean = make_estimator("euclidean")
    alone = replace(observed, time=None, _learned={})
    found, same = (euclidean.fit_observed(each).score_.copy() for each in (observed, alone))
    assert (found == same).all()


def test_the_order_of_rows_changes_nothing(drifting):
    observed, _, _, with_time = drifting
    order = np.random.default_rng(3).permutation(observed.n_patients)
    assert (_fitted(observed.take(order)).score_ == with_time.score_).all()


def test_a_date_that_only_one_decision_has_is_no_leak():
    observed, _ = _drifting(pace=0.0)
    assert observed.time is not None
    recorded = np.where(observed.decision == 1, observed.time, np.nan)
    without, gaps = (
        _fitted(replace(observed, time=time, _learned={})) for time in (None, recorded)
    )
    assert gaps.score_.mean() > without.score_.mean() - 0.02


def test_days_are_whole_and_missing_dates_are_kept():
    hours = pl.Series("t", ["1970-01-02T23:00", None]).str.to_datetime()
    assert days_since_1970(hours).tolist() == pytest.approx([1.0, np.nan], nan_ok=True)
    assert days_since_1970(pl.Series("y", [1971, 1970])).tolist() == [365.0, 0.0]
    assert np.isnan(days_since_1970(pl.Series("t", [None, None], dtype=pl.Date))).all()


def test_a_date_that_goes_with_rates_is_no_leak():
    """Everybody decides for all patients of the second year, and for none of the first."""
    random = np.random.default_rng(1)
    n = 400
    seen = pl.Series("seen", random.integers(0, N_DAYS, n))
    decision = (seen >= N_DAYS // 2).cast(pl.Int64).to_numpy() ^ (random.random(n) < 0.02)
    table = pl.DataFrame(
        {
            "physician": [f"P{number % 5}" for number in range(n)],
            "decision": decision,
            "age": random.normal(60, 10, n),
            "seen": pl.select(pl.date(2023, 1, 1) + pl.duration(days=pl.lit(seen))).to_series(),
        }
    )
    prepared = intravar.check(table, **ASKED).prepared
    assert prepared.leaks == ()
    assert prepared.covariates == ("age",)
    assert prepared.observed.time is not None
