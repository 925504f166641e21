"""Who draws the line elsewhere, and who decides otherwise for the same patients."""

import numpy as np
import pytest
from scipy.special import expit

from intravar.arrays import FloatArray
from intravar.latent.calibration import MOST_PHYSICIANS, rates_over_limits
from intravar.observed import Observed

N_PHYSICIANS, PANEL = 12, 150


def dealt(
    seed: int, sharp: float, shift: FloatArray, p_high: FloatArray
) -> tuple[FloatArray, Observed]:
    """Return scores and decisions of physicians with limits and rates of their own."""
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(shift)), PANEL)
    score = sharp * random.normal(size=len(who))
    chance = p_high[who] * expit(score + shift[who])
    y = (random.random(len(who)) < chance).astype(np.int64)
    return score, Observed.of(score[:, None], y, who)


@pytest.mark.parametrize("seed", range(3))
def test_limits_of_their_own_are_no_rates_of_their_own(seed: int):
    shift = 3 * np.linspace(-1, 1, N_PHYSICIANS)
    assert rates_over_limits(*dealt(seed, 6.0, shift, np.ones(N_PHYSICIANS)), 0) <= 0


@pytest.mark.parametrize("seed", range(3))
def test_clear_cases_tell_rates_apart(seed: int):
    p_high = np.linspace(0.6, 1.0, N_PHYSICIANS)
    alone = dealt(seed, 6.0, np.zeros(N_PHYSICIANS), p_high)
    assert rates_over_limits(*alone, 0) > 5
    shift = 3 * np.random.default_rng(seed).permutation(np.linspace(-1, 1, N_PHYSICIANS))
    assert rates_over_limits(*dealt(seed, 6.0, shift, p_high), 0) > 5


def test_of_many_physicians_some_are_asked():
    n = MOST_PHYSICIANS + 20
    score, decided = dealt(0, 6.0, np.zeros(n), np.linspace(0.6, 1.0, n))
    assert rates_over_limits(score, decided, 0) == rates_over_limits(score, decided, 0) > 5
