"""A method that knows p_high, p_low and a core: all of it arrives in the results."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.estimators import METHODS, Estimator, Observed, default_method
from intravar.estimators.evidence import EligibleRates
from intravar.inference import Interval
from intravar.latent.anchors import Anchors

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
    table = intravar.simulate("score2", n_patients=1500, n_physicians=5, seed=1).to_polars()
    found = intravar.measure(
        table, physician="physician", decision="decision", method="latent-rule"
    )
    assert found.method == "latent-rule"
    np.testing.assert_allclose(found.physicians["p_high"], np.linspace(0.6, 0.95, 5))
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
    assert "Anchor mass of the latent rule: 25 % of the eligible are surely so" in page
