"""Target encoding: shrinkage, no own decision, no dependence on the names of levels."""

import numpy as np
from numpy.testing import assert_array_equal
from scipy.special import expit

from intravar.learning.level_encoding import learn_encoding, prior_strength


def drawn(seed, n_levels=100, n_rows=3000, spread=2.0):
    random = np.random.default_rng(seed)
    levels = random.integers(0, n_levels, n_rows)
    chance = expit(random.normal(0, spread, n_levels))
    y = (random.random(n_rows) < chance[levels]).astype(np.int64)
    return levels, y, random.integers(0, 5, n_rows), chance


def test_a_level_with_many_patients_is_shrunk_less() -> None:
    levels, y, group, _ = drawn(1)
    levels = np.concatenate([levels, [100], np.full(500, 101)])
    y = np.concatenate([y, np.ones(501, dtype=np.int64)])
    group = np.concatenate([group, np.arange(501) % 5])

    encoding, _ = learn_encoding(levels, y, group)

    one_patient, many_patients = encoding.values[100:]
    assert encoding.unknown < one_patient < many_patients


def test_a_row_is_encoded_without_the_decisions_of_its_group() -> None:
    levels, y, group, _ = drawn(2)
    first = group == 0
    turned = y.copy()
    # The overall share stays the same.
    turned[first] = y[first][::-1]

    _, encoded = learn_encoding(levels, y, group)
    _, after = learn_encoding(levels, turned, group)

    # The strength of the prior, estimated from all rows, may move a step.
    assert np.corrcoef(encoded[first], after[first])[0, 1] > 0.995
    assert np.abs(encoded[~first] - after[~first]).max() > 0.1


def test_encoded_shares_are_right_on_average() -> None:
    levels, y, group, chance = drawn(3, n_levels=400, n_rows=8000)

    _, encoded = learn_encoding(levels, y, group)

    for low, high in ((-9, -1), (-1, 0), (0, 1), (1, 9)):
        rows = (encoded > low) & (encoded <= high)
        error = 4 * 0.5 / np.sqrt(rows.sum())
        assert abs(expit(encoded[rows]).mean() - chance[levels[rows]].mean()) < error


def test_levels_that_carry_nothing_are_not_told_apart() -> None:
    found = []
    for seed in range(200):
        levels, y, _, _ = drawn(seed, n_rows=1000, spread=0.0)
        counts = np.bincount(levels, minlength=100)
        yes = np.bincount(levels, y, minlength=100).astype(np.int64)
        found.append(np.isfinite(prior_strength(counts, yes, y.mean())))

    # At most 2.5 % by chance; four standard errors of 200 draws.
    assert np.mean(found) <= 0.025 + 4 * np.sqrt(0.025 * 0.975 / 200)


def test_numbers_of_levels_are_only_names() -> None:
    levels, y, group, _ = drawn(4)
    renamed = np.random.default_rng(0).permutation(100)

    one, encoded = learn_encoding(levels, y, group)
    other, again = learn_encoding(renamed[levels], y, group)

    assert_array_equal(encoded, again)
    assert_array_equal(one.values, other.values[renamed])


def test_unnumbered_levels_have_the_overall_share() -> None:
    levels, y, group, _ = drawn(5)
    levels[::7] = -1 - np.arange(len(levels[::7]))

    encoding, encoded = learn_encoding(levels, y, group)

    assert set(encoded[::7]) == {encoding.unknown}
