"""Small cohorts with the marginals of the reference experiment, shared by the learning tests."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class SmallCohort(NamedTuple):
    """Covariates, decisions and physician codes of a simulated cohort."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    physician: npt.NDArray[np.intp]


def small_cohort(n_patients: int, n_physicians: int, seed: int) -> SmallCohort:
    """Nine covariates, a threshold rule, and physicians who follow it to different degrees."""
    rng = np.random.default_rng(seed)

    def clipped(mean: float, sd: float, low: float, high: float) -> npt.NDArray[np.float64]:
        return np.clip(rng.normal(mean, sd, n_patients), low, high)

    x: npt.NDArray[np.float64] = np.column_stack(
        (
            np.round(clipped(60, 12, 40, 90)),
            clipped(6.5, 1.5, 4, 12),
            clipped(3.6, 0.95, 1, 8),
            clipped(1.35, 0.38, 0.4, 2.8),
            clipped(1.3, 0.35, 0.4, 2.2),
            np.round(clipped(130, 20, 90, 200)),
            clipped(90, 25, 15, 140),
            rng.random(n_patients) < 0.2,
            rng.random(n_patients) < 0.6,
        )
    )
    physician = rng.integers(0, n_physicians, n_patients)
    eligible = (x[:, 0] > 60) & (x[:, 5] > 125)
    high = rng.uniform(0.5, 1.0, n_physicians)[physician]
    low = rng.uniform(0.0, 0.2, n_physicians)[physician]
    y = (rng.random(n_patients) < np.where(eligible, high, low)).astype(float)
    return SmallCohort(x, y, physician)
