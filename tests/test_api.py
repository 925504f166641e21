"""The public names: few at the top, old ones for one more release, scikit-learn's words."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils.estimator_checks import check_estimator

import intravar
from intravar import InputError, estimators
from intravar.estimators import METHODS, predictability
from intravar.latent.rule_learners import SplineLogit

MOVED = {
    "Euclidean": estimators.Euclidean,
    "GLMM": estimators.GLMM,
    "Means": intravar.RunSettings,
    "Scenario": intravar.study.Scenario,
    "Study": intravar.study.Study,
    "Truth": intravar.study.Truth,
    "fit_methods": estimators.fit_methods,
    "oracle_by_group": intravar.study.oracle_by_group,
    "several": estimators.several_decisions,
}


def test_few_names_stand_at_the_top() -> None:
    assert len(intravar.__all__) <= 24
    for name in intravar.__all__:
        assert getattr(intravar, name) is not None


@pytest.mark.parametrize("name", MOVED)
def test_a_name_that_moved_is_found_with_a_warning(name: str) -> None:
    assert name not in intravar.__all__
    with pytest.warns(DeprecationWarning, match=rf"'intravar\.{name}' is called") as caught:
        assert getattr(intravar, name) is MOVED[name]
    assert caught[0].filename == __file__


def test_no_other_name_is_made_up() -> None:
    with pytest.raises(AttributeError, match="measurement_of"):
        _ = intravar.measurement_of  # type: ignore[attr-defined]


def test_old_words_are_taken_with_a_warning() -> None:
    told = "'seed' is called 'random_state' now"
    with pytest.warns(DeprecationWarning, match=told):
        old = intravar.simulate("score2", n_patients=60, n_physicians=5, seed=3)  # type: ignore[call-arg]
    new = intravar.simulate("score2", n_patients=60, n_physicians=5, random_state=3)
    assert old.to_polars().equals(new.to_polars())
    with pytest.warns(DeprecationWarning, match="'workers' is called 'n_jobs' now"):
        assert intravar.RunSettings(workers=2).n_jobs == 2  # type: ignore[call-arg]


def test_groups_stand_for_the_physician() -> None:
    cohort = intravar.simulate("score2", n_patients=200, n_physicians=5, random_state=3)
    X, y, physician = cohort.observed()
    third = estimators.Euclidean().fit(X, y, physician)
    named = estimators.Euclidean().fit(X, y, groups=physician)
    np.testing.assert_array_equal(named.score_, third.score_)
    with pytest.raises(InputError, match="neither physician nor groups is given"):
        estimators.Euclidean().fit(X, y)
    with pytest.raises(InputError, match="both are given"):
        estimators.Euclidean().fit(X, y, physician, groups=physician)


def test_pandas_in_pandas_out() -> None:
    cohort = intravar.simulate("multi-interacting", n_patients=400, n_physicians=5, random_state=3)
    X, y, physician = (part.to_pandas() for part in _frames(cohort))
    decisions = cohort.decisions[:, :2].to_pandas()
    told = intravar.noise(X, y, physician)
    several = estimators.several_decisions(X, decisions, physician)
    repeats = intravar.Repeats().fit(pd.Series(range(400)) // 2, y, ["A"] * 400)
    model = intravar.Predictability().fit(X, y, physician)
    beside = repeats.beside(model.profile_)
    frames = [told.table, several.by_decision, several.pairs, repeats.profile_, beside]
    table = X.assign(y=y, who=physician)
    found = intravar.measure(table, physician="who", decision="y", by="smoker")
    assert found.noise is not None
    assert found.by is not None
    who = found.physicians["physician"][0]
    frames += [found.physicians, found.noise.table, found.by.levels, found.by.cells]
    frames += [intravar.explain(found, who)]
    for frame in frames:
        assert isinstance(frame, pd.DataFrame)
    assert "pairs of comparable patients" in several.describe()
    assert found.levels is not None
    assert found.levels.levels["n_patients"].to_list() == list(found.by.levels["n_patients"])


def _frames(cohort: intravar.Cohort) -> tuple[pl.DataFrame, pl.Series, pl.Series]:
    table = cohort.to_polars()
    return table.select(cohort.covariate_names), table["decision"], table["physician"].cast(str)


#: What scikit-learn asks for and these estimators do otherwise, and why.
OTHERWISE = {
    "check_complex_data": "refused, in words that name the column",
    "check_dtype_object": "refused by a ValueError that names the column, not a TypeError",
    "check_estimators_empty_data_messages": "refused, in words of ours",
    "check_estimators_nan_inf": "refused, in words that name column and row",
}
#: Settings under which a method takes a second instead of a minute; the checks ask for no score.
QUICK: dict[str, dict[str, Any]] = {
    "learned-weights": {"n_trees": 5},
    "rf-proximity": {"n_trees": 5},
    "lpa-guided": {"max_profiles": 2, "n_init": 1},
    "latent-rule": {
        "learners": (SplineLogit(iterations=2),),
    },
    "predictability": {"n_folds": 3},
}


def for_scikit_learn(method: type[estimators.Estimator]) -> type[estimators.Estimator]:
    """Return the method with a `fit(X, y)`, which is all that scikit-learn's checks call.

    All patients are of one physician, and the first of their three classes counts as yes.
    """

    class OnePhysician(method):  # type: ignore[misc, valid-type]
        def fit(self, X: Any, y: Any = None) -> Any:
            yes = y if y is None or not len(y) else np.asarray(y) == np.ravel(y)[0]
            return super().fit(X, yes, groups=np.zeros(0 if y is None else len(y)))

    OnePhysician.__qualname__ = f"OnePhysician{method.__name__}"
    globals()[OnePhysician.__qualname__] = OnePhysician  # where pickle looks for it
    return OnePhysician


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_every_method(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictability, "REPETITIONS", 1)
    estimator = for_scikit_learn(METHODS[name])(**QUICK.get(name, {}))
    checks = check_estimator(
        estimator,
        legacy=name != "predictability",  # it learns for seconds, and those fit dozens of times
        expected_failed_checks=OTHERWISE,
        on_skip=None,
    )
    assert sum(each["status"] == "passed" for each in checks) > 10
