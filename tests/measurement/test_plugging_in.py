"""A method that knows p_high, p_low and a core: all of it arrives in the results."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.estimators import METHODS, Estimator, Observed, default_method
from intravar.estimators.base import described
from intravar.estimators.evidence import EligibleRates
from intravar.inference import Interval
from intravar.latent.rates import Anchors

pytestmark = pytest.mark.usefixtures("learned_once")


class KnowsTheRule(Estimator):
    """Stands for the latent rule: no pairs, but probabilities, intervals and a core."""

    name = "latent-rule"
    label = "Latent Rule"
    idea = "knows the rule"
    supervised = True

    def _fit(self, observed: Observed) -> None:
        n = len(observed.physicians)
        self.p_high_ = np.linspace(0.6, 0.95, n)
        self.p_low_ = np.full(n, 0.05)
        self.score_ = 2 * self.p_high_ * (1 - self.p_high_)
        self.reason_ = [None] * n
        self.core_ = observed.covariates[:, 0] > np.median(observed.covariates[:, 0])

    def evidence(self, observed: Observed) -> EligibleRates:
        n = len(observed.physicians)
        eligible = np.bincount(observed.code, self.core_, minlength=n).astype(np.float64)
        anchors = Anchors(0.2, 0.2, 0.25, 0.5, self.score_, self.score_)
        return EligibleRates(self.p_high_, self.p_low_, eligible, eligible / 2, self.core_, anchors)

    def _interval(self, level: float) -> Interval:
        error = np.full(len(self.score_), 0.02)
        return Interval(self.score_ - 0.04, self.score_ + 0.04, error)


@pytest.fixture
def latent_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "latent-rule", KnowsTheRule)


@pytest.mark.usefixtures("latent_rule")
def test_it_measures_by_default_and_all_it_knows_is_written(tmp_path: Path) -> None:
    assert default_method() == "predictability"
    table = intravar.simulate("score2", n_patients=1500, n_physicians=5, random_state=1).to_polars()
    found = intravar.measure(
        table, physician="physician", decision="decision", method="latent-rule"
    )
    assert found.method == "latent-rule"
    np.testing.assert_allclose(found.physicians["p_high"].sort(), np.linspace(0.6, 0.95, 5))
    assert found.physicians["n_pairs"].null_count() == 5
    score = found.physicians["discordance"].to_numpy()
    np.testing.assert_allclose(found.physicians["low"], score - 0.04)
    # Two decisions differ with probability one half at the most.
    np.testing.assert_allclose(found.physicians["high"], np.minimum(score + 0.04, 0.5))
    assert intravar.explain(found, found.physicians["physician"][0]).height > 0
    intravar.write_measurement(found, tmp_path / "out")
    written = pl.read_parquet(tmp_path / "out" / "physicians.parquet").filter(pl.col("reportable"))
    assert written.height == 5
    assert written.select("p_high", "p_low", "discrimination").null_count().sum_horizontal()[0] == 0
    assert "p high" in (tmp_path / "out" / "physicians.html").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Of the patients for which the rule says yes, 25 % are clear cases" in page


class PlainRate(Estimator):
    """Two of a physician's patients, drawn without looking: the fewest lines a method takes."""

    name = "plain-rate"
    label = "Plain rate"
    idea = "how often two patients of one physician are decided differently"
    supervised = False

    def __init__(self, *, added: float = 0.0) -> None:
        self.added = added

    def _fit(self, observed: Observed) -> None:
        rate = np.array([observed.decision[panel].mean() for panel in observed.panels])
        self.score_ = 2 * rate * (1 - rate) + self.added
        self.reason_ = [None] * len(rate)


@pytest.mark.usefixtures("methods_as_before")
def test_a_method_of_ones_own_measures_as_it_was_given(tmp_path: Path) -> None:
    table = intravar.simulate("score2", n_patients=300, n_physicians=6).to_polars()
    columns = {"physician": "physician", "decision": "decision"}
    found = intravar.measure(table, **columns, method=PlainRate(added=0.01))
    beside = intravar.measure(table, **columns, method="euclidean", methods=[PlainRate()])
    assert found.method == "plain-rate"
    rates = table.group_by("physician").agg(r=pl.col("decision").cast(pl.Float64).mean())
    expected = rates.select("physician", score=2 * pl.col("r") * (1 - pl.col("r")) + 0.01)
    joined = found.physicians.with_columns(pl.col("physician").cast(pl.String)).join(
        expected.with_columns(pl.col("physician").cast(pl.String)), on="physician"
    )
    np.testing.assert_allclose(joined["discordance"], joined["score"])
    assert list(beside.fitted) == ["euclidean", "plain-rate"]
    intravar.write_measurement(found, tmp_path / "out")
    assert (tmp_path / "out" / "report.html").is_file()


def test_documents_of_an_unknown_method_are_refused() -> None:
    with pytest.raises(intravar.InputError, match="'plain-rate' is not one of intravar's"):
        described("plain-rate")
