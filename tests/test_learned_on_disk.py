"""What tests keep on disk is what would be learned, and is never used where tests meddle."""

import pickle
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import intravar
from intravar.estimators import predictability
from intravar.estimators.latent_rule import OwnRulesWarning
from intravar.latent.rule_learners import BoostedTrees, KeptSplines
from intravar.measurement import halves
from intravar.observed import Observed
from intravar.prediction import held_out
from learned_on_disk import NotOursError, digest, kept

FROM_DISK = -1.0


def cohort() -> Observed:
    simulated = intravar.simulate("score2", n_patients=200, n_physicians=5)
    return Observed.of(*simulated.observed())


def fit() -> intravar.Predictability:
    return intravar.Predictability(n_folds=3).fit_observed(cohort())


def is_from_disk(model: intravar.Predictability) -> bool:
    return bool((model.score_ == FROM_DISK).all())


@pytest.fixture
def another_test(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Go on as if another test had begun."""
    number = count()
    return lambda: monkeypatch.setenv("PYTEST_CURRENT_TEST", f"test_{next(number)} (call)")


@pytest.fixture
def store(tmp_path: Path, another_test: Callable[[], None]) -> Path:
    """A fit and its predictions on disk; the scores that are stored say where they come from."""
    another_test()
    with kept(tmp_path):
        fit()
    (stored,) = tmp_path.glob("*/Predictability-*")
    said, learned = pickle.loads(stored.read_bytes())
    assert (learned["score_"] > 0).all()
    learned["score_"] = np.full(5, FROM_DISK)
    stored.write_bytes(pickle.dumps((said, learned)))
    another_test()
    return tmp_path


def test_another_test_and_the_next_run_find_it(
    store: Path, another_test: Callable[[], None]
) -> None:
    with kept(store):
        assert is_from_disk(fit())
        another_test()
        assert is_from_disk(fit())
        # The whole is what a method needs to go on, with what else it learned.
        model, observed = fit(), cohort()
        assert model.two_halves(observed, 0) is not None
        assert model.profile_.height == 5
    with kept(store, "a run of its own"):
        assert not is_from_disk(fit())


def test_the_same_test_computes_it_again(store: Path) -> None:
    with kept(store):
        assert is_from_disk(fit())
        for path in store.glob("*/_held_out-*"):
            path.write_bytes(pickle.dumps(([], None)))  # nothing below is taken either
        assert not is_from_disk(fit())


def test_who_replaces_a_part_gets_it(
    store: Path, monkeypatch: pytest.MonkeyPatch, another_test: Callable[[], None]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with kept(store):
        with monkeypatch.context() as patch:
            patch.setattr(held_out, "learn_candidates", broken)
            with pytest.raises(ZeroDivisionError):
                fit()
        assert is_from_disk(fit())
        another_test()
        # Numbers are a part of what is asked for.
        monkeypatch.setattr(predictability, "REPETITIONS", 1)
        assert not is_from_disk(fit())
        another_test()
        monkeypatch.setattr(predictability, "REPETITIONS", 3)
        monkeypatch.undo()
        assert is_from_disk(fit())


def test_what_lies_above_a_method_cannot_reach_it(
    store: Path, monkeypatch: pytest.MonkeyPatch, another_test: Callable[[], None]
) -> None:
    with kept(store):
        monkeypatch.setattr(halves, "SPLITS", 1)
        monkeypatch.setattr(halves, "doubts", lambda *_: None)
        assert is_from_disk(fit())
        another_test()
        # The method itself is another one; its predictions are not.
        monkeypatch.setattr(predictability, "REPETITIONS", 1)
        predictions = set(store.glob("*/_held_out-*"))
        assert not is_from_disk(fit())
        assert set(store.glob("*/_held_out-*")) == predictions


def test_what_differs_is_learned(store: Path) -> None:
    class Own(intravar.Predictability):
        pass

    observed = cohort()
    with kept(store):
        fitted = fit()
        assert not is_from_disk(fitted.fit_observed(observed))
        assert not is_from_disk(Own(n_folds=3).fit_observed(observed))
        assert not is_from_disk(intravar.Predictability(n_folds=4).fit_observed(observed))
        turned = observed.take(np.arange(200)[::-1])
        assert not is_from_disk(intravar.Predictability(n_folds=3).fit_observed(turned))


def test_warnings_are_given_again(tmp_path: Path, another_test: Callable[[], None]) -> None:
    random = np.random.default_rng(26)
    x, who = random.normal(size=(200, 3)), np.repeat(np.arange(2), 100)
    y = (random.random(200) < np.where(x[:, 0] > 0, 0.7, 0.3)).astype(int)
    trees = [BoostedTrees(trees=60)]
    with kept(tmp_path):
        said = []
        for _ in range(2):
            another_test()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                intravar.LatentRule(learners=trees, anchor_share=1.0).fit(x, y, who)
            assert {each.filename for each in caught} == {__file__}
            said.append([(each.category, str(each.message)) for each in caught])
    assert said[0] == said[1]
    assert OwnRulesWarning in {category for category, _ in said[0]}
    assert len(list(tmp_path.glob("*/LatentRule-*"))) == 1


def test_names_of_content() -> None:
    first, second = (digest(*cohort_and_trees(each)) for each in (60, 61))
    assert first == digest(*cohort_and_trees(60))
    assert first != second
    assert digest(np.arange(4)) != digest(np.arange(4.0)) != digest(np.arange(4.0)[:, None])
    with pytest.raises(NotOursError):
        digest(KeptSplines, object())
    with pytest.raises(NotOursError):
        digest(cohort)


def cohort_and_trees(trees: int) -> tuple[Observed, list[BoostedTrees]]:
    return cohort(), [BoostedTrees(trees=trees)]
