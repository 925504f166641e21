"""Components of noise: split where the data identify them, else the sum with its limits."""

import numpy as np
import pytest

import intravar
from intravar.estimators.noise import Noise, Unidentified
from reference.noise_worlds import NoiseWorld, make_noise_world


def decomposed(world: NoiseWorld) -> Noise:
    return intravar.noise(world.X, world.y, [f"P{number:03d}" for number in world.physician])


def interval(noise: Noise, component: str) -> tuple[float, float]:
    (row,) = [row for row in noise.table.iter_rows() if row[0] == component]
    return row[2], row[3]


def holds(noise: Noise, component: str, truth: float) -> bool:
    low, high = interval(noise, component)
    return low - 1e-9 <= truth <= high + 1e-9


def test_small_panels_with_personal_rules_are_not_split() -> None:
    world = make_noise_world("personal", n_physicians=60, panel=40, n_covariates=6, seed=0)
    found = decomposed(world)
    assert found.reason == Unidentified.SMALL_PANELS
    assert found.pattern is None
    assert found.occasion is None
    assert found.system == found.level + found.pattern_and_occasion
    assert holds(found, "pattern", world.truth["pattern"])
    assert holds(found, "occasion", world.truth["occasion"])


def test_small_panels_are_described_with_limits_and_the_patients_needed() -> None:
    world = make_noise_world("shared", n_physicians=30, panel=40, n_covariates=6, seed=0)
    told = decomposed(world).describe()
    assert "These two cannot be told apart" in told
    assert "it takes about 96 of each" in told
    assert "at most" in told


@pytest.mark.parametrize("rules", ["personal", "shared"])
def test_large_panels_are_split(rules: str) -> None:
    world = make_noise_world(rules, n_physicians=10, panel=240, n_covariates=3, seed=0)
    found = decomposed(world)
    assert found.identified
    assert found.pattern is not None
    assert found.occasion is not None
    assert found.system == found.level + found.pattern + found.occasion
    for component, truth in world.truth.items():
        assert holds(found, component, truth), component


#: Rules, physicians, patients of each and covariates: those that must be split, those that must
#: not, and those that may.
MUST_SPLIT = [
    ("personal", 40, 500, 9),
    ("shared", 40, 500, 9),
    ("conjunctions", 40, 500, 9),
    ("coins", 10, 200, 6),
    ("explained", 30, 200, 6),
]
MUST_NOT_SPLIT = [
    ("personal", 200, 40, 9),
    ("partly personal", 200, 40, 9),
    ("conjunctions", 100, 40, 9),
    ("exclusive", 60, 80, 6),
]
MAY_SPLIT = [
    ("shared", 200, 40, 9),
    ("personal", 10, 200, 9),
    ("partly personal", 40, 150, 9),
    ("half personal", 30, 300, 9),
    ("exclusive", 12, 600, 6),
    ("sharp", 30, 150, 9),
    ("sharp", 100, 40, 6),
    ("rates", 30, 150, 6),
]
#: Draws of every world; none of them served to choose a constant.
DRAWS = range(1_000, 1_005)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_95_of_100_draws() -> None:
    held: dict[str, list[bool]] = {
        component: [] for component in ("system", "level", "pattern", "occasion")
    }
    held_where_split: list[bool] = []
    for rules, n_physicians, panel, n_covariates in MUST_SPLIT + MUST_NOT_SPLIT + MAY_SPLIT:
        for seed in DRAWS:
            world = make_noise_world(
                rules,
                n_physicians=n_physicians,
                panel=panel,
                n_covariates=n_covariates,
                seed=seed,
            )
            found = decomposed(world)
            about = (rules, n_physicians, panel, seed)
            if (rules, n_physicians, panel, n_covariates) in MUST_SPLIT:
                assert found.identified, about
            if (rules, n_physicians, panel, n_covariates) in MUST_NOT_SPLIT:
                assert not found.identified, about
            for component, truth in world.truth.items():
                held[component].append(holds(found, component, truth))
            if found.identified:
                both = [holds(found, name, world.truth[name]) for name in ("pattern", "occasion")]
                held_where_split.append(all(both))
    assert np.mean(held_where_split) >= 0.95
    for component, each in held.items():
        assert np.mean(each) >= 0.95, component
