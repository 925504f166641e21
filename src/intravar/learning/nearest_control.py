"""The nearest control of every treated patient, for many weightings of the same covariates."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from intravar.arrays import FloatArray, IntArray

SingleArray = NDArray[np.float32]

# Covariates with so few values (smoker, sex) sort the patients into cells with real gaps between
# them.
FEW_VALUES = 3
MOST_CELLS = 16
# Products of about this size (1 MB in single precision) stay in the cache.
TILE_ENTRIES = 250_000
# A tile with more near-ties than this per row is evaluated in full precision at once.
MANY_PER_ROW = 4


class NearestControl:
    """Find the nearest control under diag(weights), as a search through all distances would.

    Distances come from products in single precision, a cache-sized tile at a time, and whatever
    lies within rounding of the smallest is compared again in double precision. Patients are sorted
    into cells by their covariates of few values; cells too far apart to hold a nearest control are
    left out. Ties go to the lowest control.

    Parameters
    ----------
    treated, controls : ndarray of shape (n, p)
        Covariates, at least one control.

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.learning.nearest_control import NearestControl
    >>> search = NearestControl(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> search(np.array([0.9, 0.1]))
    array([1])
    """

    def __init__(self, treated: FloatArray, controls: FloatArray) -> None:
        treated_cell, control_cell = _cells(treated, controls)
        # Stable sorting keeps the lowest control first within a cell.
        self._row = np.argsort(treated_cell, kind="stable")
        self._column = np.argsort(control_cell, kind="stable")
        self._treated = treated[self._row]
        self._controls = controls[self._column]
        # A common shift leaves distances alone and keeps the products small.
        self._middle = controls.mean(axis=0)
        self._row_start, row_low, row_high = _boxes(self._treated, treated_cell[self._row])
        self._column_start, low, high = _boxes(self._controls, control_cell[self._column])
        gap = np.maximum(row_low[:, None] - high[None], low[None] - row_high[:, None])
        self._squared_gap = gap.clip(min=0.0) ** 2

    def __call__(self, weights: FloatArray) -> IntArray:
        """Return for each treated patient the position of the nearest control."""
        scale = np.sqrt(weights)
        search = _WeightedSearch(
            self._treated * scale, self._controls * scale, self._middle * scale
        )
        bound = self._squared_gap @ weights
        for i in range(len(bound)):
            for j in np.argsort(bound[i], kind="stable").tolist():
                rows = slice(int(self._row_start[i]), int(self._row_start[i + 1]))
                columns = slice(int(self._column_start[j]), int(self._column_start[j + 1]))
                search.visit(rows, columns, float(bound[i, j]))
        row, column = search.candidates()
        distance = search.distances(row, column)
        return _nearest_of(self._row[row], self._column[column], distance, len(self._row))


class _WeightedSearch:
    """The state of one search: the smallest product so far and all pairs close to it."""

    def __init__(self, treated: FloatArray, controls: FloatArray, middle: FloatArray) -> None:
        self._treated, self._controls = treated, controls
        rows, columns = treated - middle, controls - middle
        row_norm, column_norm = (rows**2).sum(axis=1), (columns**2).sum(axis=1)
        ones = np.ones(len(rows))
        self._left = np.column_stack([rows, ones, row_norm]).astype(np.float32)
        ones = np.ones(len(columns))
        self._right = np.vstack([-2.0 * columns.T, column_norm, ones]).astype(np.float32)
        # Rounding of the inputs and of a sum of p + 2 products, none of which exceeds the norms.
        largest = float(row_norm.max(initial=0.0) + column_norm.max(initial=0.0))
        terms = self._left.shape[1] + 4
        self._slack = np.float32(4.0 * terms * float(np.finfo(np.float32).eps) * largest)
        self._best = np.full(len(rows), np.inf, dtype=np.float32)
        self._buffer = np.empty(max(TILE_ENTRIES, len(columns)), dtype=np.float32)
        self._found: list[tuple[IntArray, IntArray, SingleArray]] = []

    def visit(self, rows: slice, columns: slice, bound: float) -> None:
        """Compare these treated with these controls unless the bound rules out that it helps."""
        open_rows = np.flatnonzero(self._best[rows] + self._slack >= bound) + rows.start
        height = max(1, TILE_ENTRIES // (columns.stop - columns.start))
        for start in range(0, len(open_rows), height):
            self._found.append(self._tile(open_rows[start : start + height], columns))

    def _tile(self, rows: IntArray, columns: slice) -> tuple[IntArray, IntArray, SingleArray]:
        """Lower the best by one tile and return the pairs that are within rounding of it."""
        width = columns.stop - columns.start
        # One buffer for all tiles: fresh memory would cost more than the product itself.
        squared = self._buffer[: len(rows) * width].reshape(len(rows), width)
        np.matmul(self._left[rows], self._right[:, columns], out=squared)
        lowest = np.minimum(self._best[rows], squared.min(axis=1))
        self._best[rows] = lowest
        flat = np.flatnonzero(squared <= (lowest + self._slack)[:, None])
        if len(flat) > MANY_PER_ROW * len(rows):
            nearest = cdist(self._treated[rows], self._controls[columns]).argmin(axis=1)
            return rows, nearest + columns.start, squared[np.arange(len(rows)), nearest]
        row, column = np.divmod(flat, width)
        return rows[row], column + columns.start, squared.ravel()[flat]

    def candidates(self) -> tuple[IntArray, IntArray]:
        """Return pairs that include the nearest control of every treated patient."""
        row, column, value = (np.concatenate(part) for part in zip(*self._found, strict=True))
        near = value <= self._best[row] + self._slack
        return row[near], column[near]

    def distances(self, row: IntArray, column: IntArray) -> FloatArray:
        """Return the distances of the pairs in double precision."""
        total = np.zeros(len(row))
        # Coordinate by coordinate, because that is the order in which cdist adds up.
        for own, other in zip(self._treated.T, self._controls.T, strict=True):
            difference = own[row] - other[column]
            total += difference * difference
        return np.sqrt(total)


def _cells(treated: FloatArray, controls: FloatArray) -> tuple[IntArray, IntArray]:
    """Give a number to each combination of the covariates that take few values."""
    both = np.concatenate([treated, controls])
    number = np.zeros(len(both), dtype=np.int64)
    cells = 1
    for covariate in both.T:
        # Most covariates show at once, on a few patients, that they take many values.
        if len(np.unique(covariate[:100])) > FEW_VALUES:
            continue
        values, code = np.unique(covariate, return_inverse=True)
        if len(values) <= FEW_VALUES and cells * len(values) <= MOST_CELLS:
            number = number * len(values) + code
            cells *= len(values)
    return number[: len(treated)], number[len(treated) :]


def _boxes(points: FloatArray, cell: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return where each cell in use starts, and its bounding box."""
    _, start = np.unique(cell, return_index=True)
    low = np.minimum.reduceat(points, start, axis=0)
    high = np.maximum.reduceat(points, start, axis=0)
    return np.append(start, len(points)), low, high


def _nearest_of(first: IntArray, second: IntArray, distance: FloatArray, n: int) -> IntArray:
    """Return for each treated patient the second of its nearest pair, the lowest among equals."""
    nearest = np.empty(n, dtype=np.int64)
    nearest[first] = second
    contested = np.flatnonzero((np.bincount(first, minlength=n) > 1)[first])
    order = contested[np.lexsort((second[contested], distance[contested], first[contested]))]
    leader = np.unique(first[order], return_index=True)
    nearest[leader[0]] = second[order[leader[1]]]
    return nearest
