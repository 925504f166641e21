"""How well reviewers agree, and what their answers say besides: reasons, and who was unsure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from intravar.inference.intervals import LEVEL
from intravar.review.design import Design
from intravar.review.store import ANSWERS, Answer, Answers
from intravar.seeds import stream

#: Counts of a judged pair: comparable, different; a pair that nobody is sure of has none.
JUDGED = {"comparable": 1.0, "different": 0.0}
DRAWS = 4_000


@dataclass(frozen=True)
class Agreement:
    """How often two reviewers say the same of a pair.

    Attributes
    ----------
    kappa, low, high
        Cohen's kappa with its 95 % interval: 1 always, 0 as often as by chance.
    n_pairs, n_same
        Pairs that two reviewed, and those of which they said the same.
    """

    kappa: float
    low: float
    high: float
    n_pairs: int
    n_same: int


def judgement(answers: Iterable[Answer]) -> float | None:
    """Return what the answers to a pair come to: 1 comparable, 0 different; None if all unsure.

    Examples
    --------
    >>> judgement([Answer("comparable"), Answer("different")])
    0.5
    >>> judgement([Answer("unsure")]) is None
    True
    """
    known = [JUDGED[each.answer] for each in answers if each.answer in JUDGED]
    return sum(known) / len(known) if known else None


def by_pair(answers: Answers) -> dict[str, list[Answer]]:
    """Return the answers to every pair, reviewers in the order of their names."""
    found: dict[str, list[Answer]] = {}
    for reviewer in sorted(answers):
        for pair, given in answers[reviewer].items():
            found.setdefault(pair, []).append(given)
    return found


def agreement(answers: Answers) -> Agreement | None:
    """Return how well reviewers agree; None where no pair was reviewed twice."""
    twice = [given for given in by_pair(answers).values() if len(given) > 1]
    if not twice:
        return None
    table = np.zeros((len(ANSWERS), len(ANSWERS)))
    for first, second, *_ in twice:
        table[ANSWERS.index(first.answer), ANSWERS.index(second.answer)] += 1
    # Which of two people is the first means nothing.
    table = (table + table.T) / 2
    random = stream(0, "review", "kappa")
    cells = table.ravel()
    drawn = random.dirichlet(cells + 0.5 / len(cells), size=DRAWS).reshape(-1, *table.shape)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(_kappa(drawn), [tail, 1 - tail])
    middle = float(_kappa(table[None])[0])
    same = int(np.trace(table))
    return Agreement(middle, min(float(low), middle), max(float(high), middle), len(twice), same)


def _kappa(
    tables: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    share = tables / tables.sum(axis=(1, 2), keepdims=True)
    same = np.einsum("kii->k", share)
    chance = np.einsum("ki,ki->k", share.sum(axis=1), share.sum(axis=2))
    return np.asarray(np.where(chance < 1, (same - chance) / np.maximum(1 - chance, 1e-12), 1.0))


def reasons(answers: Answers, design: Design) -> dict[str, int]:
    """Count the reasons why pairs that were decided differently are not comparable.

    A pair counts once for every reason that is given; the most frequent come first.
    """
    different = {p.pair for p in design.pairs if p.different}
    found: Counter[str] = Counter()
    for pair, given in by_pair(answers).items():
        if pair in different:
            found.update(
                {each.reason or "no reason given" for each in given if each.answer == "different"}
            )
    return dict(found.most_common())
