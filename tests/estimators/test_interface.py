"""What a user of scikit-learn expects, and every edge of the input."""

import pickle
import warnings
from functools import cache, partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import intravar
from intravar.errors import InputError
from intravar.estimators import DESCRIBED, METHODS, PAPER_METHODS, make_estimator, predictability
from intravar.estimators.matching import MatchingEstimator
from intravar.latent.rule_learners import SplineLogit
from intravar.learning import mixed_model
from intravar.measurement.measure import fit_method
from intravar.observed import Observed

# Settings under which the whole matrix of tests takes seconds; the logic is the same.
QUICK = {
    "learned-weights": {"n_trees": 20},
    "rf-proximity": {"n_trees": 20},
    "lpa-guided": {"max_profiles": 3, "n_init": 2},
    "latent-rule": {
        "learners": (SplineLogit(iterations=15),),
    },
}
NAMES = list(METHODS)


def quick(name, **parameters):
    return make_estimator(name, **{**QUICK.get(name, {}), **parameters})


@pytest.fixture(scope="module", autouse=True)
def two_deals():
    """Two deals of the patients into folds are several already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictability, "REPETITIONS", 2)
        yield


@pytest.fixture(scope="module")
def cohort():
    return intravar.simulate("score2", n_patients=400, n_physicians=5, random_state=5)


@pytest.fixture(scope="module")
def plain(cohort):
    X, y, physician = cohort.observed()
    return X.to_numpy(), np.asarray(y), physician.cast(pl.String).to_numpy()


@pytest.fixture(scope="module")
def fitted(cohort):
    """Every method on the cohort, fitted once; only to be looked at."""
    return cache(lambda name: quick(name).fit(*cohort.observed()))


@pytest.mark.parametrize("name", NAMES)
def test_results(name, cohort, fitted):
    model = fitted(name)
    assert model.physicians_.tolist() == ["P01", "P02", "P03", "P04", "P05"]
    assert model.n_patients_.sum() == 400
    assert np.isfinite(model.score_).all()
    profile = model.profile_
    assert profile.columns[:3] == ["physician", "n_patients", "score"]
    assert profile.columns[-1] == "reason"
    assert profile["reason"].null_count() == 5
    if isinstance(model, MatchingEstimator):
        assert model.pairs_.columns == ["physician", "first", "second", "distance", "discordant"]
        assert model.pairs_.height == model.n_pairs_.sum()
        _, y, physician = cohort.observed()
        first, second = model.pairs_["first"].to_numpy(), model.pairs_["second"].to_numpy()
        assert ((y[first] != y[second]) == model.pairs_["discordant"].to_numpy()).all()
        who = physician.cast(pl.String).to_numpy()
        assert (who[first] == model.pairs_["physician"].to_numpy()).all()
        assert (who[first] == who[second]).all()
        assert (
            model.attrition_.drop("physician", "n_patients").sum_horizontal()
            == model.attrition_["n_patients"]
        ).all()
        assert (model.caliper_ > 0).all()
        caliper = dict(zip(model.physicians_, model.caliper_, strict=True))
        assert all(row["distance"] <= caliper[row["physician"]] for row in model.pairs_.to_dicts())


@pytest.mark.parametrize("name", NAMES)
def test_scikit_learn_interface(name, fitted):
    unfitted = quick(name)
    copy = clone(unfitted)
    assert copy.get_params() == unfitted.get_params()
    model = fitted(name)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.score_, model.score_)
    assert type(model).__name__ in repr(model)
    assert type(model).__name__ in model._repr_html_()
    assert not hasattr(clone(model), "score_")
    if "caliper" in unfitted.get_params():
        assert unfitted.set_params(caliper=0.1).caliper == 0.1


@pytest.mark.parametrize("name", NAMES)
def test_kinds_of_tables_give_the_same(name, cohort, plain, fitted, monkeypatch):
    X, y, physician = cohort.observed()
    x, y_plain, who = plain
    assert np.array_equal(quick(name).fit(x, y_plain, who).score_, fitted(name).score_)
    # All that a method learns from is the same whatever the table: what it finds is then, too.
    seen = []
    monkeypatch.setattr(type(quick(name)), "_fit", lambda _, observed: seen.append(observed))
    for given in (
        (X, y, physician),
        (x, y_plain, who),
        (x.tolist(), y_plain.tolist(), who.tolist()),
        (pd.DataFrame(x, columns=X.columns), pd.Series(y_plain), pd.Series(who)),
        (X.lazy(), pl.Series(y_plain), pl.Series(who)),
        (X.to_arrow(), pa.chunked_array([y_plain]), pa.chunked_array([who.tolist()])),
        (X, y_plain.astype(bool), pd.Categorical(who)),
        (X, y_plain.astype(float), who),
    ):
        quick(name).fit(*given)
    assert len(seen) == 8
    for other in seen[1:]:
        for part in ("covariates", "decision", "code", "physicians"):
            one, two = (np.asarray(getattr(each, part)) for each in (seen[0], other))
            assert one.dtype.kind == two.dtype.kind
            assert np.array_equal(one, two)
        assert other.blocks == seen[0].blocks


@pytest.mark.parametrize("name", NAMES)
def test_relabelling_physicians_changes_nothing(name, plain, fitted):
    x, y, who = plain
    names = {"P01": "zeta", "P02": "alpha", "P03": "mü", "P04": "7", "P05": "<b>"}
    before = fitted(name)
    after = quick(name).fit(x, y, np.array([names[each] for each in who]))
    by_name = dict(zip(after.physicians_, after.score_, strict=True))
    renamed = [by_name[names[str(each)]] for each in before.physicians_]
    # These two sum over physicians, in another order after relabelling.
    summed = name in ("glmm", "latent-rule")
    tolerance = {"rtol": 1e-6} if summed else {"rtol": 0, "atol": 0}
    np.testing.assert_allclose(renamed, before.score_, **tolerance)


@pytest.mark.parametrize("name", ["euclidean", "mahalanobis", "glmm", "genetic-mahalanobis"])
def test_order_of_rows_changes_nothing(name, plain):
    x, y, who = plain
    order = np.random.default_rng(1).permutation(len(y))
    before = quick(name).fit(x, y, who)
    after = quick(name).fit(x[order], y[order], who[order])
    np.testing.assert_allclose(after.score_, before.score_, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_small_and_degenerate_panels(name):
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 3))
    y = random.integers(0, 2, 60)
    who = np.array(["one", "two", "two"] + ["many"] * 57)
    model = quick(name).fit(x, y, who)
    score = dict(zip(model.physicians_, model.score_, strict=True))
    reason = dict(zip(model.physicians_, model.reason_, strict=True))
    if isinstance(model, MatchingEstimator):
        assert np.isnan(score["one"])
        assert reason["one"] == "fewer than two decisions"
        assert score["two"] in (0.0, 1.0)
        assert model.profile_.filter(physician="one")["score"].item() is None
    assert np.isfinite(score["many"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "change",
    [
        lambda x, y: (x, np.zeros_like(y)),
        lambda x, y: (x, np.ones_like(y)),
        lambda x, y: (np.column_stack([x, np.full(len(x), 7.0)]), y),
        lambda x, y: (np.full_like(x, 3.0), y),
        lambda x, y: (np.repeat(x[:20], 4, axis=0), y),
        lambda x, y: (x[:, :1], y),
        lambda x, y: (np.round(x).astype(int), y),
        lambda x, y: (x > 0, y),
        lambda x, y: (1e9 * x, y),
    ],
    ids=[
        "nobody prescribed",
        "everyone prescribed",
        "constant column",
        "all constant",
        "duplicated patients",
        "one covariate",
        "whole numbers",
        "booleans",
        "huge",
    ],
)
def test_odd_cohorts(name, change):
    random = np.random.default_rng(2)
    x, y = change(random.normal(size=(80, 3)), random.integers(0, 2, 80))
    model = quick(name).fit(x, y, np.repeat(["a", "b"], 40))
    assert np.isfinite(model.score_).all()
    if y.min() == y.max() and isinstance(model, MatchingEstimator):
        assert (model.score_ == 0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_one_physician_and_one_patient(name):
    random = np.random.default_rng(3)
    x, y = random.normal(size=(40, 2)), random.integers(0, 2, 40)
    assert np.isfinite(quick(name).fit(x, y, ["only"] * 40).score_).all()
    alone = quick(name).fit(x[:1], y[:1], ["only"])
    assert alone.n_patients_.tolist() == [1]
    if isinstance(alone, MatchingEstimator):
        assert alone.reason_ == ["fewer than two decisions"]


BAD = {
    "missing covariate": (
        lambda x, y, who: (
            pl.DataFrame(x, schema=["age", "bmi"]).with_columns(
                bmi=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("bmi")
            ),
            y,
            who,
        ),
        "column 'bmi' is missing in row 3",
    ),
    "infinite covariate": (
        lambda x, y, who: (np.where(np.arange(x.size).reshape(x.shape) == 4, np.inf, x), y, who),
        "column 'x0' is infinite in row 2",
    ),
    "text covariate": (
        lambda x, y, who: (pl.DataFrame({"sex": ["m"] * len(y)}), y, who),
        "column 'sex' is String, not a number",
    ),
    "decision not binary": (
        lambda x, y, who: (x, np.where(np.arange(len(y)) == 5, 2, y), who),
        "column 'decision' has 2 in row 5; it takes 0 and 1 only",
    ),
    "decision missing": (
        lambda x, y, who: (x, [None, *y[1:].tolist()], who),
        "column 'decision' is missing in row 0",
    ),
    "physician missing": (
        lambda x, y, who: (x, y, [*who[:-1], None]),
        "column 'physician' is missing in row 9",
    ),
    "physician blank": (
        lambda x, y, who: (x, y, [*who[:-1], " "]),
        "column 'physician' is blank in row 9",
    ),
    "too large for squares": (
        lambda x, y, who: (x * 1e155, y, who),
        r"column 'x0' has 9e\+155 in row 9; give it in a unit",
    ),
    "too small for squares": (
        lambda x, y, who: (x * 1e-200, y, who),
        "column 'x0' spans only 9e-200; give it in a smaller unit",
    ),
    "labels in another order": (
        lambda x, y, who: (pd.DataFrame(x), pd.Series(y, index=range(9, -1, -1)), who),
        "the rows of X and y carry the same labels in another order",
    ),
    "lengths differ": (lambda x, y, who: (x, y[:-1], who), "decision has 9 entries for 10"),
    "no patients": (lambda x, y, who: (x[:0], y[:0], who[:0]), "there are no rows"),
    "no columns": (lambda x, y, who: (x[:, :0], y, who), "X has no columns"),
    "one dimension": (lambda x, y, who: (x[:, 0], y, who), "X has 1 dimension"),
    "not a table": (lambda x, y, who: ("x.csv", y, who), "X is a str"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    change, words = BAD[case]
    x, y = np.zeros((10, 2)) + np.arange(10)[:, None], np.arange(10) % 2
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        intravar.estimators.Euclidean().fit(*change(x, y, ["a"] * 10))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("power", [-90, 80])
def test_units_do_not_matter_within_the_limits(name, power, plain, fitted):
    x, y, who = plain
    extreme = quick(name).fit(np.ldexp(x, power), y, who)
    assert np.isfinite(extreme.score_).all()
    # LPA takes columns without an interquartile range in their unit; a search may end elsewhere.
    if name != "lpa-guided":
        assert extreme.score_ == pytest.approx(fitted(name).score_, abs=1e-6)


def test_labels_of_mixed_kinds(plain):
    x, y, who = (part[:6] for part in plain)
    frame = pd.DataFrame(x, index=[1, "a", 2, "c", "d", "b"])
    intravar.estimators.Euclidean().fit(frame, pd.Series(y), who)
    with pytest.raises(InputError, match="X and physician carry the same labels"):
        intravar.estimators.Euclidean().fit(
            frame, y, pd.Series(who, index=["a", 1, 2, "c", "d", "b"])
        )
    with pytest.raises(InputError, match="y and physician carry the same labels"):
        intravar.estimators.Euclidean().fit(x, pd.Series(y), pd.Series(who, index=range(5, -1, -1)))


def test_other_labels_are_taken_by_position(plain):
    x, y, who = plain
    expected = intravar.estimators.Euclidean().fit(x, y, who)
    rows = range(1_000, 1_000 + len(y))
    model = intravar.estimators.Euclidean().fit(
        pd.DataFrame(x, index=rows), pd.Series(y), pd.Series(who)
    )
    np.testing.assert_array_equal(model.score_, expected.score_)


@pytest.mark.parametrize("name", NAMES)
def test_an_unfitted_estimator_says_so(name):
    with pytest.raises(NotFittedError):
        _ = quick(name).profile_
    with pytest.raises(NotFittedError):
        quick(name).interval()


def test_bad_parameters_are_named(plain):
    with pytest.raises(InputError, match="unknown strategy 'hungarian'"):
        intravar.estimators.Euclidean(strategy="hungarian").fit(*plain)
    with pytest.raises(InputError, match="caliper 1.5"):
        intravar.estimators.Euclidean(caliper=1.5).fit(*plain)
    with pytest.raises(InputError, match="unknown method 'euclid'; did you mean 'euclidean'"):
        make_estimator("euclid")


def test_weights_fall_back_with_a_warning():
    x = np.random.default_rng(0).normal(size=(60, 3))
    for name in ("mutual-information", "learned-weights"):
        with pytest.warns(UserWarning, match="no covariate tells anything"):
            model = quick(name).fit(x, np.ones(60), ["a"] * 60)
        assert model.weights_ == pytest.approx([1 / 3] * 3)


def test_no_warning_on_ordinary_data(cohort):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in NAMES:
            quick(name).fit(*cohort.observed())


def test_a_wider_caliper_keeps_more_pairs(cohort):
    few = intravar.estimators.Euclidean(caliper=0.001).fit(*cohort.observed())
    many = intravar.estimators.Euclidean(caliper=0.5).fit(*cohort.observed())
    assert few.n_pairs_.sum() < many.n_pairs_.sum()
    assert (few.caliper_ < many.caliper_).all()


def test_strategies(cohort):
    pytest.importorskip("rustworkx")
    fits = {
        strategy: intravar.estimators.Euclidean(strategy=strategy).fit(*cohort.observed())
        for strategy in ("algorithm-1", "exact", "greedy")
    }
    assert fits["exact"].n_pairs_.sum() >= fits["algorithm-1"].n_pairs_.sum()


@pytest.mark.parametrize("unit", ["datetime64[h]", "timedelta64[s]", "datetime64[ns]"])
def test_dates_of_arrays(unit):
    days, y = np.arange(4).astype(unit), [0, 1, 0, 1]
    for X in (days[:, None], pd.DataFrame({"x0": days}) if "h" not in unit else days[:, None]):
        with pytest.raises(InputError, match="column 'x0' is .*, not a number; encode or drop it"):
            Observed.of(X, y, y)
    with pytest.raises(InputError, match="column 'decision' is .* it takes 0 and 1 only"):
        Observed.of([[1], [2], [3], [4]], days, y)
    assert len(Observed.of([[1], [2], [3], [4]], y, days).physicians) == 4
    with pytest.raises(InputError, match="column 'physician' is missing in row 0"):
        Observed.of([[1], [2]], [0, 1], np.array(["NaT", 1], unit))


def test_a_glmm_that_did_not_converge_warns(cohort, monkeypatch):
    early = partial(mixed_model.fit_mixed_model, max_iterations=2)
    monkeypatch.setattr(mixed_model, "fit_mixed_model", early)
    with pytest.warns(UserWarning, match="GLMM: the fit did not converge"):
        model = intravar.estimators.GLMM().fit(*cohort.observed())
    assert not model.details()["converged"]
    _, said = fit_method("glmm", Observed.of(*cohort.observed()), seed=0)
    assert any("did not converge" in each for each in said)


def test_glmm_keeps_what_appendices_plot(cohort):
    model = intravar.estimators.GLMM().fit(*cohort.observed())
    table = model.calibration()
    assert table["n_patients"].sum() == 400
    assert table["fitted"].is_between(0, 1).all()
    assert model.residuals_.shape == (400,)
    details = model.details()
    assert sum(details["residuals"]["counts"]) == 400


def test_integer_physicians_keep_their_order():
    x, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model = intravar.estimators.Euclidean().fit(x, y, np.repeat([10, 9, 2], 10))
    assert model.physicians_.tolist() == [2, 9, 10]
    assert model.profile_.schema["physician"] == pl.Int64


def test_methods_are_listed_under_their_own_names():
    assert [DESCRIBED[name].name for name in DESCRIBED] == list(DESCRIBED)
    assert set(PAPER_METHODS) < set(METHODS) < set(DESCRIBED)
