"""Array types that signatures share: one name each for what holds numbers, positions and marks.

Examples
--------
>>> import numpy as np
>>> from intravar.arrays import FloatArray
>>> def mean(values: FloatArray) -> float:
...     return float(values.mean())
>>> mean(np.array([1.0, 2.0]))
1.5
"""

import numpy as np
import numpy.typing as npt

#: Measurements, probabilities, scores.
FloatArray = npt.NDArray[np.float64]
#: Positions, codes and counts.
IntArray = npt.NDArray[np.int64]
#: One mark per patient, physician or column.
BoolArray = npt.NDArray[np.bool_]
