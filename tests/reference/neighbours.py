"""Clusters of neighbours, computed literally."""

from itertools import permutations


def merge_pairs(
    pairs: list[tuple[int, int]], copies: list[int], largest: int
) -> list[frozenset[int]]:
    """Merge clusters pair by pair unless they become too large; return them."""
    clusters = [
        {row for row, copied in enumerate(copies) if copied == number}
        for number in dict.fromkeys(copies)
    ]
    for left, right in pairs:
        one = next(cluster for cluster in clusters if left in cluster)
        other = next(cluster for cluster in clusters if right in cluster)
        if one is not other and len(one) + len(other) <= largest:
            clusters.remove(other)
            one |= other
    return [frozenset(cluster) for cluster in clusters]


def closest_pairs(points: list[list[float]]) -> list[tuple[int, int]]:
    """Return all ordered pairs of rows, the closest first."""

    def distance(pair: tuple[int, int]) -> float:
        left, right = (points[row] for row in pair)
        return sum((a - b) ** 2 for a, b in zip(left, right, strict=True))

    return sorted(permutations(range(len(points)), 2), key=lambda pair: (distance(pair), pair))


def standard_error_of_mean(values: list[float], unit: list[int]) -> float:
    """Return the standard error of a mean over independent units of rows."""
    mean = sum(values) / len(values)
    sums: dict[int, float] = {}
    for value, number in zip(values, unit, strict=True):
        sums[number] = sums.get(number, 0.0) + value - mean
    variance = sum(total**2 for total in sums.values()) * len(sums) / (len(sums) - 1)
    return float(variance**0.5 / len(values))
