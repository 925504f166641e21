import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from intravar import InputError, simulate
from intravar.seeds import stream
from intravar.study.simulation import (
    PAPER_COVARIATES,
    Bernoulli,
    CovariateModel,
    GaussianCopula,
    LogNormal,
    Marginal,
    Normal,
)
from reference.simulation import BINARY_COVARIATES, NORMAL_COVARIATES

N = 200_000


def draw(model: CovariateModel, n: int = N, seed: int = 1) -> pl.DataFrame:
    return model.draw(n, lambda name: stream(seed, name))


@pytest.fixture(scope="module")
def base() -> pl.DataFrame:
    return draw(PAPER_COVARIATES)


def test_nine_covariates_in_the_papers_order() -> None:
    assert PAPER_COVARIATES.names == (
        "age",
        "hba1c",
        "non_hdl",
        "hdl",
        "ldl",
        "sbp",
        "egfr",
        "smoker",
        "male",
    )


@pytest.mark.parametrize("name", NORMAL_COVARIATES)
def test_normal_covariates_are_those_of_table_2(base: pl.DataFrame, name: str) -> None:
    mean, sd, lowest, highest, whole = NORMAL_COVARIATES[name]
    values = base[name].to_numpy()
    assert values.min() >= lowest
    assert values.max() <= highest
    assert bool((values == np.rint(values)).all()) == whole
    # Compare the distribution away from the clipped ends.
    for z in (-1.2, -0.5, 0.0, 0.7, 1.5):
        limit = mean + z * sd
        if whole:
            limit = math.floor(limit) + 0.5
        expected = stats.norm.cdf(limit, mean, sd)
        error = math.sqrt(expected * (1 - expected) / N)
        assert abs((values <= limit).mean() - expected) < 4.5 * error


@pytest.mark.parametrize("name", BINARY_COVARIATES)
def test_binary_covariates_are_those_of_table_2(base: pl.DataFrame, name: str) -> None:
    share = BINARY_COVARIATES[name]
    assert set(base[name].unique()) == {0.0, 1.0}
    assert abs(base[name].to_numpy().mean() - share) < 4 * math.sqrt(share * (1 - share) / N)


def test_covariates_are_independent(base: pl.DataFrame) -> None:
    ranks = stats.spearmanr(base.to_numpy()).statistic
    apart = np.abs(ranks[~np.eye(9, dtype=bool)])
    assert apart.max() < 4.5 / math.sqrt(N)


def test_copula_gives_the_rank_correlation_of_its_formula() -> None:
    model = PAPER_COVARIATES.replace((GaussianCopula("non_hdl", "ldl", 0.8),))
    table = draw(model)
    realised = stats.spearmanr(table["non_hdl"], table["ldl"]).statistic
    assert 6 / math.pi * math.asin(0.4) == pytest.approx(0.7859, abs=5e-5)
    assert realised == pytest.approx(0.7859, abs=0.004)


def test_copula_condition_realises_what_the_paper_reports() -> None:
    table = simulate("copula").covariates
    assert stats.spearmanr(table["non_hdl"], table["ldl"]).statistic == pytest.approx(
        0.786, abs=0.015
    )


def test_copula_leaves_the_marginals_and_the_others_alone(base: pl.DataFrame) -> None:
    table = draw(PAPER_COVARIATES.replace((GaussianCopula("non_hdl", "ldl", 0.8),)))
    assert table.drop("ldl").equals(base.drop("ldl"))
    assert stats.ks_2samp(table["ldl"], base["ldl"]).pvalue > 1e-4
    ranks = stats.spearmanr(table.drop("non_hdl").to_numpy()).statistic
    assert np.abs(ranks[~np.eye(8, dtype=bool)]).max() < 4.5 / math.sqrt(N)


def test_copula_made_from_a_rank_correlation_meets_it() -> None:
    copula = GaussianCopula.from_spearman("non_hdl", "ldl", 0.8)
    table = draw(PAPER_COVARIATES.replace((copula,)))
    assert copula.spearman == pytest.approx(0.8, abs=1e-12)
    assert stats.spearmanr(table["non_hdl"], table["ldl"]).statistic == pytest.approx(
        0.8, abs=0.004
    )


@given(st.floats(-1, 1))
def test_rank_correlation_and_correlation_invert_each_other(spearman: float) -> None:
    assert GaussianCopula.from_spearman("a", "b", spearman).spearman == pytest.approx(
        spearman, abs=1e-9
    )


def test_lognormal_is_skewed_as_the_paper_reports() -> None:
    """Skewness 0.70, mean 6.48 and SD 1.48, within the error of the paper's 10,000 patients."""
    values = draw(PAPER_COVARIATES.replace(hba1c=LogNormal(1.846, 0.228, 4, 12)))["hba1c"]
    array = values.to_numpy()
    assert array.min() >= 4
    assert array.max() <= 12
    assert array.mean() == pytest.approx(6.48, abs=0.03)
    assert array.std() == pytest.approx(1.48, abs=0.03)
    assert stats.skew(array) == pytest.approx(0.70, abs=0.08)


def test_lognormal_condition_uses_it() -> None:
    values = simulate("lognormal").covariates["hba1c"].to_numpy()
    assert values.mean() == pytest.approx(6.48, abs=0.06)
    assert values.std() == pytest.approx(1.48, abs=0.06)
    assert stats.skew(values) == pytest.approx(0.70, abs=0.15)


marginals: st.SearchStrategy[Marginal] = st.one_of(
    st.builds(Normal, st.just(60), st.just(12), st.just(40), st.just(90), st.booleans()),
    st.just(LogNormal(1.846, 0.228, 4, 12)),
    st.builds(Bernoulli, st.floats(0.05, 0.95)),
)


@given(marginals, st.floats(0.01, 0.99))
def test_quantile_is_the_smallest_value_with_that_share(
    marginal: Marginal, probability: float
) -> None:
    """Over a fine grid of the normal: enough below the quantile's value, too little before it."""
    grid = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    values = marginal.from_normal(grid)
    threshold = marginal.quantile(probability)
    # The grid, and rounding in exp(), leave one part in 20,000 open.
    assert (values <= threshold + 1e-9).mean() >= probability - 1e-4
    assert (values < threshold - 1e-9).mean() <= probability + 1e-4


@pytest.mark.parametrize("marginal", [Normal(0, 1, -3, 3), LogNormal(0, 1, 0.1, 9), Bernoulli(0.5)])
@pytest.mark.parametrize("probability", [-0.1, 1.01, math.nan, math.inf])
def test_impossible_quantiles_are_refused(marginal: Marginal, probability: float) -> None:
    with pytest.raises(InputError, match="impossible"):
        marginal.quantile(probability)


def test_quantiles_at_the_ends_are_the_range() -> None:
    normal = Normal(60, 12, 40, 90, whole=True)
    assert (normal.quantile(0), normal.quantile(1)) == (40, 90)
    lognormal = LogNormal(1.846, 0.228, 4, 12)
    assert (lognormal.quantile(0), lognormal.quantile(1)) == (4, 12)
    assert (Bernoulli(0.6).quantile(0), Bernoulli(0.6).quantile(1)) == (0, 1)


def test_one_covariate_does_not_depend_on_the_others() -> None:
    """A covariate added or left out shifts no other."""
    few = CovariateModel({"hdl": PAPER_COVARIATES.marginal("hdl"), "extra": Bernoulli(0.5)})
    assert draw(few, 100)["hdl"].equals(draw(PAPER_COVARIATES, 100)["hdl"])


def test_more_patients_begin_with_the_same_ones() -> None:
    assert draw(PAPER_COVARIATES, 200).head(100).equals(draw(PAPER_COVARIATES, 100))


@pytest.mark.parametrize("correlation", [1.2, -1.01, math.nan])
def test_impossible_correlations_are_refused(correlation: float) -> None:
    with pytest.raises(InputError, match="impossible"):
        GaussianCopula("a", "b", correlation)


def test_copula_over_an_absent_covariate_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'ldl'"):
        PAPER_COVARIATES.replace((GaussianCopula("non_hdl", "ldll", 0.8),))


@pytest.mark.parametrize(
    "pairs",
    [
        [("hdl", "ldl"), ("ldl", "hba1c")],  # a chain
        [("hdl", "ldl"), ("hba1c", "ldl")],  # two to follow
        [("hdl", "hdl")],  # itself
    ],
)
def test_copulas_that_would_not_hold_their_correlation_are_refused(
    pairs: list[tuple[str, str]],
) -> None:
    with pytest.raises(InputError, match="cannot follow"):
        PAPER_COVARIATES.replace(tuple(GaussianCopula(one, two, 0.8) for one, two in pairs))


def test_one_covariate_may_be_followed_by_several() -> None:
    copulas = (GaussianCopula("hdl", "ldl", 0.8), GaussianCopula("hdl", "non_hdl", -0.5))
    table = draw(PAPER_COVARIATES.replace(copulas))
    for copula in copulas:
        realised = stats.spearmanr(table[copula.first], table[copula.second]).statistic
        assert realised == pytest.approx(copula.spearman, abs=0.01)


def test_replacing_an_absent_covariate_is_refused() -> None:
    with pytest.raises(InputError, match="unknown covariate 'weight'"):
        PAPER_COVARIATES.replace(weight=Normal(70, 10, 40, 150))
