"""Lloyd's iterations of k-means, compiled: blocks of patients at a time, sums of who moved alone.

The labels are those of scikit-learn. Where its rounding would decide, because a patient lies as far
from two centres, or where a centre loses all patients, this says so and stops.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Squared distances that differ by less, as a share of the largest squared norm, are a tie.
TIE = 1e-13
#: Patients at a time: what is known of them stays in registers and the nearest cache.
BLOCK = 256


@njit(cache=True, nogil=True)
def _distances(columns, start, centre, norm, distance):  # type: ignore[no-untyped-def]
    """Fill in squared distances to a centre, less the patients' own squared norms."""
    width, end = columns.shape[0], start + distance.size
    for t in range(distance.size):
        distance[t] = norm
    c = 0
    # Several covariates at a time: a distance is fetched and put back less often.
    while c + 2 < width:
        f, g, h = -2.0 * centre[c], -2.0 * centre[c + 1], -2.0 * centre[c + 2]
        one, two = columns[c, start:end], columns[c + 1, start:end]
        three = columns[c + 2, start:end]
        for t in range(distance.size):
            distance[t] += f * one[t] + g * two[t] + h * three[t]
        c += 3
    while c < width:
        f, one = -2.0 * centre[c], columns[c, start:end]
        for t in range(distance.size):
            distance[t] += f * one[t]
        c += 1


@njit(cache=True, nogil=True)
def _nearest(columns, start, centres, norms, label, best, second, distance):  # type: ignore[no-untyped-def]
    """Fill in, per patient of a block, the nearest centre and distances to it and to the next."""
    size = label.size
    _distances(columns, start, centres[0], norms[0], best)
    for t in range(size):
        second[t] = np.inf
        label[t] = 0.0
    for k in range(1, centres.shape[0]):
        _distances(columns, start, centres[k], norms[k], distance)
        number = float(k)
        for t in range(size):
            label[t] = number if distance[t] < best[t] else label[t]
        for t in range(size):
            d, b = distance[t], best[t]
            low = d if d < b else b
            high = b if d < b else d
            best[t] = low
            second[t] = high if high < second[t] else second[t]


@njit(cache=True, nogil=True)
def _assign(columns, centres, labels, sums, tie):  # type: ignore[no-untyped-def]
    """Give everybody the nearest centre; return how many changed, -1 where a tie was met.

    `sums` holds sums of covariates by centre, and numbers.
    """
    width, n = columns.shape
    norms = (centres**2).sum(axis=1)
    room = np.zeros((4, BLOCK))
    changed = 0
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        label, best = room[0, :size], room[1, :size]
        second, distance = room[2, :size], room[3, :size]
        _nearest(columns, start, centres, norms, label, best, second, distance)
        if (second - best).min() <= tie:
            return -1
        for t in range(size):
            i, old, new = start + t, labels[start + t], int(label[t])
            if new != old:
                changed += 1
                labels[i] = new
                for c in range(width):
                    sums[new, c] += columns[c, i]
                sums[new, width] += 1.0
                if old >= 0:
                    for c in range(width):
                        sums[old, c] -= columns[c, i]
                    sums[old, width] -= 1.0
    return changed


@njit(cache=True, nogil=True)
def lloyd(columns, centres, tolerance, max_iterations):  # type: ignore[no-untyped-def]
    """Iterate until nobody changes or centres hardly move; return labels, and whether they hold.

    Parameters
    ----------
    columns
        Centred covariates, one row per covariate.
    centres
        Where to begin, one row each, at least two; they are moved.
    tolerance
        Sum of squared shifts of the centres that ends the iterations.
    max_iterations
        Most of them.
    """
    width, n = columns.shape
    labels = np.full(n, -1, np.int64)
    sums = np.zeros((centres.shape[0], width + 1))
    tie = TIE * (columns**2).sum(axis=0).max()
    for _ in range(max_iterations):
        changed = _assign(columns, centres, labels, sums, tie)
        if changed == 0:
            return labels, True
        if changed < 0 or sums[:, width].min() < 0.5:
            return labels, False
        shift = 0.0
        for k in range(centres.shape[0]):
            for c in range(width):
                moved = sums[k, c] / sums[k, width]
                shift += (moved - centres[k, c]) ** 2
                centres[k, c] = moved
        if shift <= tolerance:
            break
    # Labels belong to the centres as they are now.
    return labels, _assign(columns, centres, labels, sums, tie) >= 0
