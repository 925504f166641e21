"""The oracle by its definition: every pair of eligible patients, one after the other."""

from __future__ import annotations

from collections.abc import Sequence


def discordance_by_pairs(eligible: Sequence[bool], decision: Sequence[int]) -> float | None:
    """Return the share of discordant pairs of eligible patients; None if there is no pair."""
    pairs = discordant = 0
    for first in range(len(decision)):
        for second in range(first + 1, len(decision)):
            if eligible[first] and eligible[second]:
                pairs += 1
                if decision[first] != decision[second]:
                    discordant += 1
    return discordant / pairs if pairs else None


def oracle_by_pairs(
    physician: Sequence[str], eligible: Sequence[bool], decision: Sequence[int]
) -> dict[str, float | None]:
    """Return the oracle's estimate of every physician."""
    found: dict[str, float | None] = {}
    for name in sorted(set(physician)):
        rows = [row for row, other in enumerate(physician) if other == name]
        found[name] = discordance_by_pairs(
            [eligible[row] for row in rows], [decision[row] for row in rows]
        )
    return found
