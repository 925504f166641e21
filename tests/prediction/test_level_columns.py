"""Predictions from categories with many levels: used, and not overfitted."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit

from intravar.estimators import Predictability
from intravar.observed import Observed
from intravar.panels import Layout, in_content_order
from intravar.prediction.held_out import losses_without


class World(NamedTuple):
    observed: Observed
    chance: np.ndarray

    @property
    def truth(self) -> np.ndarray:
        noise = 2 * self.chance * (1 - self.chance)
        code = self.observed.code
        return np.bincount(code, noise) / np.bincount(code)


def world(
    seed: int,
    *,
    n_physicians: int = 10,
    n_patients: int = 120,
    n_levels: int = 60,
    strength: float = 2.5,
    reading: float = 0.0,
    zipf: bool = False,
) -> World:
    """Draw decisions by a code, read with a weight of each physician's own, and an age."""
    random = np.random.default_rng(seed)
    weight = 1 / np.arange(1, n_levels + 1) if zipf else np.ones(n_levels)
    who = np.repeat(np.arange(n_physicians), n_patients)
    levels = random.choice(n_levels, len(who), p=weight / weight.sum())
    effect = random.normal(0, strength, n_levels)
    own = 1 + reading * random.normal(size=n_physicians)
    age, other = random.normal(size=(2, len(who)))
    chance = expit(own[who] * effect[levels] + 0.5 * age)
    y = (random.random(len(who)) < chance).astype(np.int8)
    return World(observed(np.column_stack([age, other]), y, who, levels), chance)


def observed(x: np.ndarray, y: np.ndarray, who: np.ndarray, levels: np.ndarray) -> Observed:
    names = pl.Series(np.arange(who.max() + 1))
    columns = ("age", "other")
    return Observed(x, columns, y, who, names, categories=levels[:, None], category_names=("dx",))


def without_levels(given: Observed) -> Observed:
    return replace(given, categories=None, category_names=(), _learned={})


def test_levels_lower_the_limit_and_it_holds() -> None:
    drawn = world(1)

    used = Predictability().fit_observed(drawn.observed)
    unused = Predictability().fit_observed(without_levels(drawn.observed))

    assert used.score_.mean() < unused.score_.mean() - 0.1
    assert (used.high_ >= drawn.truth).mean() >= 0.9


def test_levels_that_carry_nothing_change_little_and_the_limit_holds() -> None:
    drawn = world(2, n_levels=400, strength=0.0)

    used = Predictability().fit_observed(drawn.observed)
    unused = Predictability().fit_observed(without_levels(drawn.observed))

    assert abs(used.score_.mean() - unused.score_.mean()) < 0.01
    assert (used.high_ >= drawn.truth).mean() >= 0.9


def test_neither_the_order_of_rows_nor_the_names_of_levels_matter() -> None:
    drawn = world(3, n_physicians=4, n_levels=40).observed
    random = np.random.default_rng(0)
    order = random.permutation(drawn.n_patients)
    renamed = random.permutation(40)
    assert drawn.categories is not None
    other = replace(drawn.take(order), categories=renamed[drawn.categories[order]])

    one = Predictability().fit_observed(drawn)
    again = Predictability().fit_observed(other)

    assert_array_equal(one.score_, again.score_)
    assert_array_equal(one.predicted_[order], again.predicted_)


def test_a_physician_beyond_the_sample_has_one_result_whoever_else_is_read() -> None:
    drawn = world(4).observed
    learned = drawn.take(np.flatnonzero(drawn.code < 8))
    others = drawn.take(np.flatnonzero(drawn.code >= 8))
    # A level that nobody who was learned from has.
    assert others.categories is not None
    others.categories[::50] = 999
    last = others.take(np.flatnonzero(others.code == 1))
    reader = Predictability().fit_observed(learned).reader()

    together = reader.read(others)
    alone = reader.read(last)

    assert alone.score_[0] == together.score_[1]
    assert_array_equal(alone.predicted_, together.predicted_[others.code == 1])


def test_a_covariate_that_is_left_out_leaves_its_encoding_out_too() -> None:
    drawn = world(5).observed

    losses = losses_without(drawn, ("age", "other"), [("dx",), ("age",)], 5, [0])

    assert losses[("dx",)].mean() > losses[()].mean() + 0.05
    assert losses[("age",)].mean() < losses[("dx",)].mean()
    bare = losses_without(without_levels(drawn), ("age", "other"), [], 5, [0])
    assert losses[("dx",)].mean() == pytest.approx(bare[()].mean(), abs=0.01)


def test_patients_who_differ_in_a_level_alone_are_no_copies() -> None:
    x = np.zeros((6, 2))
    levels = np.array([0, 1, 1, -5, -6, -6])
    given = observed(x, np.zeros(6, dtype=np.int8), np.zeros(6, dtype=np.int64), levels)

    panels = Layout.of(given).panels(given)

    pattern = panels.as_given(panels.pattern)
    assert len(np.unique(pattern)) == 4
    assert pattern[1] == pattern[2]
    assert pattern[4] == pattern[5]


def test_levels_stay_with_their_patients_in_the_order_by_content() -> None:
    drawn = world(6, n_physicians=3, n_patients=40).observed
    assert drawn.categories is not None

    ordered, rows = in_content_order(drawn)
    panels = Layout.of(drawn).panels(drawn)

    assert_array_equal(ordered.categories, drawn.categories[rows])
    assert panels.categories is not None
    assert_array_equal(panels.take(np.arange(9)).categories, panels.categories[:9])


def test_a_level_that_stands_for_a_patient_does_not_lower_the_limit_below_the_truth() -> None:
    # Three visits of every patient; the previous decision is mostly kept, whatever the covariates.
    random = np.random.default_rng(7)
    patient = np.repeat(np.arange(600), 3)
    x = random.normal(size=(1800, 2))
    chance = expit(x[:, 0])
    y = (random.random(1800) < chance).astype(np.int8)
    for visit in (1, 2):
        rows = np.arange(600) * 3 + visit
        kept = random.random(600) < 0.8
        y[rows] = np.where(kept, y[rows - 1], y[rows])
    given = observed(x, y, patient // 60, patient)
    truth = np.bincount(given.code, 2 * chance * (1 - chance)) / np.bincount(given.code)

    found = Predictability().fit_observed(given)

    assert (found.high_ >= truth).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_levels", "strength", "reading", "zipf"),
    [
        (300, 2.5, 0.0, False),
        (300, 2.5, 0.0, True),
        (300, 2.5, 0.7, False),
        (1000, 0.0, 0.0, False),
        (2000, 0.0, 0.0, False),
    ],
)
def test_upper_ends_hold_with_many_levels(
    n_levels: int, strength: float, reading: float, zipf: bool
) -> None:
    held, trivial, limits = [], [], []
    for seed in (11, 12, 13):
        drawn = world(
            seed,
            n_physicians=30,
            n_patients=200,
            n_levels=n_levels,
            strength=strength,
            reading=reading,
            zipf=zipf,
        )
        found = Predictability().fit_observed(drawn.observed)
        held.append(found.high_ >= drawn.truth)
        share = drawn.observed.y.mean()
        trivial.append(2 * share * (1 - share))
        limits.append(found.score_.mean() - drawn.truth.mean())

    assert np.mean(held) >= 0.95
    if strength and not reading:
        # A plain booster on leave-one-out encodings is 0.03 to 0.05 above the truth.
        assert np.mean(limits) < 0.05
