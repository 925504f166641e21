"""How well the best cut of one column parts what is to be explained, cut by cut."""

from __future__ import annotations

from collections.abc import Sequence


def best_gain(
    bins: Sequence[int],
    gradient: Sequence[float],
    curvature: Sequence[float],
    missing: int,
    ridge: float,
    least: float,
) -> float:
    """Try every cut with missing values on either side; 0 if no cut leaves enough on both."""

    def step(rows: list[int]) -> tuple[float, float]:
        return sum(gradient[i] for i in rows), sum(curvature[i] for i in rows)

    everybody = list(range(len(bins)))
    whole = step(everybody)
    best = 0.0
    for cut in sorted({b for b in bins if b != missing}):
        for missing_left in (False, True):
            left = [
                i for i in everybody if (missing_left if bins[i] == missing else bins[i] <= cut)
            ]
            right = [i for i in everybody if i not in left]
            one, other = step(left), step(right)
            if one[1] < least or other[1] < least:
                continue
            gain = sum(g * g / (h + ridge) for g, h in (one, other))
            best = max(best, gain - whole[0] ** 2 / (whole[1] + ridge))
    return best
