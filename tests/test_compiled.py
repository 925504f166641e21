"""What is compiled says the same as the Python that it was compiled from."""

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

import intravar
from intravar.estimators import CommonEstimator, Estimator
from intravar.latent import families
from intravar.latent.rule_learners import BoostedTrees, SplineLogit
from intravar.learning import boosted_trees
from intravar.observed import Observed

pytestmark = pytest.mark.usefixtures("learned_once")


def cohort(n: int, n_physicians: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make patients of physicians who follow rules of their own."""
    random = np.random.default_rng(8)
    x = random.normal(size=(n, 2))
    who = np.arange(n) % n_physicians
    turned = np.where(who % 2 == 0, x[:, 0], x[:, 1])
    y = (random.random(n) < np.where(turned > 0, 0.9, 0.05)).astype(int)
    return x, y, who


def plain(patch: pytest.MonkeyPatch) -> Counter[str]:
    """Put the Python behind every compiled function in its place, wherever it is used.

    Returns how often each is called from now on, 0 for those that are not.
    """
    calls: Counter[str] = Counter()

    def counted(work: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{work.__module__}.{work.__name__}"
        calls[name] += 0

        def call(*given: Any) -> Any:
            calls[name] += 1
            return work(*given)

        return call

    for name, module in list(sys.modules.items()):
        if name.startswith("intravar"):
            for attribute, found in list(vars(module).items()):
                if isinstance(found, CPUDispatcher):
                    patch.setattr(module, attribute, counted(found.py_func))
    return calls


def latent_rule() -> intravar.LatentRule:
    """Few small trees: every kernel runs, and none longer than it takes to compare it."""
    learners = [BoostedTrees(trees=12), SplineLogit()]
    return intravar.LatentRule(n_folds=3, learners=learners)


#: Loops that the Latent Rule goes through; others of these modules serve Predictability.
OF_LATENT_RULE = (
    "intravar.latent.",
    *(f"intravar.learning.boosted_trees.{name}" for name in ("_", "score_rows")),
    *(f"intravar.learning.personal_rules_kernel.{name}" for name in ("draw", "fit")),
)


@pytest.mark.parametrize(
    ("make", "n_patients", "tolerance", "all_of"),
    [
        # The draws of its forests come from the compiler's own generator.
        (lambda: intravar.Predictability(n_folds=3), 48, 0.005, ()),
        # So many patients that rules of their own compete.
        (latent_rule, 160, 1e-7, OF_LATENT_RULE),
        (intravar.estimators.RFProximity, 48, 1e-12, ("intravar.matching.assignment.",)),
        (lambda: intravar.estimators.LPAGuided(n_init=1), 48, 1e-12, ()),
    ],
)
def test_scores_do_not_depend_on_the_compiler(
    make: Callable[[], Estimator],
    n_patients: int,
    tolerance: float,
    all_of: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Chains need not be long to be compared.
    monkeypatch.setattr(families, "SAMPLING", replace(families.SAMPLING, rounds=4))
    monkeypatch.setattr(families, "KEPT", 2)
    table = cohort(n_patients, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = make().fit(*table).score_
        with monkeypatch.context() as patch:
            calls = plain(patch)
            interpreted = make().fit(*table).score_
    assert not [name for name in calls if name.startswith(all_of or "-") and not calls[name]]
    np.testing.assert_allclose(interpreted, compiled, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (lambda: intravar.Predictability(n_folds=3), 0.01),
        (lambda: intravar.LatentRule(personal_rules="never"), 1e-9),
    ],
)
def test_others_are_read_the_same_without_the_compiler(
    make: Callable[[], CommonEstimator], tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, who = cohort(160, 4)
    sample, others = (Observed.of(x[rows], y[rows], who[rows]) for rows in (who > 0, who == 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        light = make().fit_observed(sample).reader()
        compiled = light.read(others).score_
        with monkeypatch.context() as patch:
            plain(patch)
            interpreted = light.read(others).score_
    np.testing.assert_allclose(interpreted, compiled, rtol=0, atol=tolerance)


def test_columns_are_chosen_the_same_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    table = random.normal(size=(150, 12))
    table[random.random(table.shape) < 0.1] = np.nan
    y = (np.nan_to_num(table[:, 3]) > 0).astype(int)
    given = boosted_trees.coarse_bins(table), y, np.arange(150), 4
    compiled = boosted_trees.telling(*given)
    with monkeypatch.context() as patch:
        plain(patch)
        np.testing.assert_array_equal(boosted_trees.telling(*given), compiled)
