"""A forest of one's own, one patient at a time: every threshold counted by itself."""

from __future__ import annotations

from collections.abc import Sequence

TRIES, DEEPEST, LEAST = 2, 12, 4
ALL_BITS = 2**64 - 1


class Chance:
    """Xorshift: whole numbers that look random."""

    def __init__(self, state: int) -> None:
        self.state = state

    def below(self, n: int) -> int:
        """Draw a number below n."""
        self.state ^= (self.state << 13) & ALL_BITS
        self.state ^= self.state >> 7
        self.state ^= (self.state << 17) & ALL_BITS
        return self.state % n


def shares(
    known: Sequence[Sequence[float]],
    y: Sequence[int],
    asked: Sequence[Sequence[float]],
    trees: int,
    seed: int,
) -> list[float]:
    """Return the mean of the trees' shares for every patient asked about."""
    chance, base = Chance(seed), sum(y) / len(y)
    total = [0.0] * len(asked)
    for _ in range(trees):
        nodes = [(list(range(len(y))), list(range(len(asked))), 0)]
        while nodes:
            rows, goes, depth = nodes.pop()
            if not goes:
                continue
            yes = sum(y[row] for row in rows)
            split = None
            if depth < DEEPEST and len(rows) >= 2 * LEAST and 0 < yes < len(rows):
                split = _best(known, y, rows, chance)
            if split is None:
                for at in goes:
                    total[at] += (yes + base) / (len(rows) + 1)
                continue
            mine, theirs = _parted(known, rows, *split), _parted(asked, goes, *split)
            nodes += [(mine[0], theirs[0], depth + 1), (mine[1], theirs[1], depth + 1)]
    return [each / trees for each in total]


def _best(
    known: Sequence[Sequence[float]], y: Sequence[int], rows: list[int], chance: Chance
) -> tuple[int, float] | None:
    n, yes = len(rows), sum(y[row] for row in rows)
    best, found = 1e-9, None
    for column in range(len(known[0])):
        for _ in range(TRIES):
            a = known[rows[chance.below(n)]][column]
            b = known[rows[chance.below(n)]][column]
            if a == b:
                continue
            limit = 0.5 * a + 0.5 * b
            inside = [row for row in rows if known[row][column] <= limit]
            left, left_yes = len(inside), sum(y[row] for row in inside)
            right, right_yes = n - left, yes - left_yes
            if left < LEAST or right < LEAST:
                continue
            gain = yes * (n - yes) / n - left_yes * (left - left_yes) / left
            gain -= right_yes * (right - right_yes) / right
            if gain > best:
                best, found = gain, (column, limit)
    return found


def _parted(
    table: Sequence[Sequence[float]], rows: list[int], column: int, limit: float
) -> tuple[list[int], list[int]]:
    """Bring rows at or below the limit to the front, each by changing places."""
    rows, front = list(rows), 0
    for t in range(len(rows)):
        if table[rows[t]][column] <= limit:
            rows[front], rows[t] = rows[t], rows[front]
            front += 1
    return rows[:front], rows[front:]
