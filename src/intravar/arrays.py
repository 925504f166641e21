"""Names for the arrays that pass between modules."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Numbers: covariates, distances, scores.
FloatArray = npt.NDArray[np.float64]
#: Positions and counts.
IntArray = npt.NDArray[np.int64]
#: Which of them.
BoolArray = npt.NDArray[np.bool_]
