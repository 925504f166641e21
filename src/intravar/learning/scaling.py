"""Robust scaling of covariates: centred on the median, divided by the interquartile range."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from intravar.arrays import BoolArray, FloatArray

ZeroRangePolicy = Literal["unit", "z-score"]


@dataclass(frozen=True)
class RobustScaling:
    """Centre and scale per column.

    Attributes
    ----------
    centre, scale : ndarray of shape (p,)
        A column becomes ``(x - centre) / scale``.
    constant : ndarray of bool, shape (p,)
        Columns without any variance; they become zero.
    """

    centre: FloatArray
    scale: FloatArray
    constant: BoolArray

    def transform(self, x: npt.ArrayLike) -> FloatArray:
        """Scale the columns of ``x``."""
        rows = np.asarray(x, dtype=np.float64)
        return np.asarray((rows - self.centre) / self.scale)


def fit_robust_scaling(x: npt.ArrayLike, *, zero_range: ZeroRangePolicy = "unit") -> RobustScaling:
    """Medians and interquartile ranges, with a fallback for columns that have no range.

    The method is worded "median-centred, IQR-scaled; z-score fallback for columns with zero
    post-scaling variance". A binary column such as a smoking status of 20 % has an interquartile
    range of zero but is not constant. The usual robust scaler (scikit-learn's) then divides by
    one, so that the column keeps a variance after scaling and the fallback, read literally, is not
    for it: the column stays 0/1 around its median. The fallback is left for constant columns,
    whose z-score is zero everywhere. This literal reading is the default (``"unit"``).
    ``zero_range="z-score"`` takes the wider reading, in which every column without an
    interquartile range is standardised; it gives rare binary covariates more weight in a distance.

    Parameters
    ----------
    x : array-like of shape (n, p)
        Covariates without missing values.
    zero_range : {"unit", "z-score"}, default "unit"
        What to do with a column of zero interquartile range that is not constant.

    Returns
    -------
    RobustScaling
        Centres and scales, all scales positive.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0, 7.0], [2.0, 0.0, 7.0], [3.0, 0.0, 7.0], [4.0, 0.0, 7.0],
    ...               [5.0, 1.0, 7.0]])
    >>> fit_robust_scaling(x).transform(x)[-1].tolist()
    [1.0, 1.0, 0.0]
    >>> fit_robust_scaling(x, zero_range="z-score").transform(x)[-1].round(6).tolist()
    [1.0, 2.0, 0.0]
    """
    if zero_range not in ("unit", "z-score"):
        raise ValueError(f'zero_range must be "unit" or "z-score", got {zero_range!r}')
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ValueError(f"x must have shape (patients, covariates), got {rows.shape}")
    lower, centre, upper = np.percentile(rows, [25.0, 50.0, 75.0], axis=0)
    scale = upper - lower
    # Comparing extremes is exact, where a variance of equal numbers may round above zero.
    constant = rows.max(axis=0) == rows.min(axis=0)
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    no_range = scale <= 10.0 * np.finfo(np.float64).eps * magnitude
    scale[no_range] = 1.0
    if zero_range == "z-score":
        standardised = no_range & ~constant
        centre[standardised] = rows[:, standardised].mean(axis=0)
        scale[standardised] = rows[:, standardised].std(axis=0)
    return RobustScaling(centre, scale, constant)
