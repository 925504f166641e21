"""Blind review of pairs: whether its interval holds the truth, and what reviewers' errors do.

    python -m benchmarks review [draws] [pairs]

Every draw simulates a cohort whose physicians know reasons that the table does not hold, pairs
patients who are alike in the table, draws pairs, and lets a reviewer judge them: without errors,
and with 10 % errors either way. Nothing is fitted. Beside the estimate stands what the record alone
says of the same pairs, and the plain rate 2r(1 - r).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.measurement.cases import AlikeScale, pairs_to_review
from intravar.observed import Observed
from intravar.publication.results import Figure
from intravar.review.drawing import draw_pairs
from intravar.review.estimate import Kind, estimate, pooled_estimates
from intravar.review.store import Stored
from intravar.seeds import stream
from intravar.study.cohort import Truth
from intravar.study.simulation.conditions import conditions_of

DRAWS, PAIRS = 200, 120
ERRORS = 0.1


@dataclass(frozen=True)
class PairTruth:
    """What is true of pairs of patients, given everything that matters.

    Attributes
    ----------
    comparable
        Whether the physician would decide on both with the same probability.
    differ
        Probability that the two are decided differently.
    """

    comparable: BoolArray
    differ: FloatArray

    @classmethod
    def of(cls, truth: Truth, first: IntArray, second: IntArray) -> PairTruth:
        """Return the truth of pairs by the positions of their patients."""
        one, two = truth.probability[first], truth.probability[second]
        return cls(np.abs(one - two) < 1e-9, one * (1 - two) + two * (1 - one))

    @property
    def discordance(self) -> float:
        """Discordance among comparable pairs: what a review without errors aims at."""
        return float(self.differ[self.comparable].mean())


@dataclass(frozen=True)
class Reviewer:
    """Somebody who judges pairs, with errors.

    Parameters
    ----------
    sensitivity
        How often two patients who differ in something that matters are found different.
    specificity
        How often two comparable patients are found comparable.
    """

    sensitivity: float = 1.0
    specificity: float = 1.0

    def judge(self, comparable: BoolArray, random: np.random.Generator) -> BoolArray:
        """Return which pairs are found comparable.

        Examples
        --------
        >>> Reviewer().judge(np.array([True, False]), np.random.default_rng(0)).tolist()
        [True, False]
        """
        chance = np.where(comparable, self.specificity, 1 - self.sensitivity)
        return np.asarray(random.random(len(comparable)) < chance)


class Drawn(NamedTuple):
    """One draw: truth, record, rate, estimates, and how many physicians' intervals hold."""

    truth: float
    record: float
    rate: float
    perfect: Figure
    erring: Figure
    expected_lean: float
    held: int
    n_physicians: int
    pooled_error: float


def run(draws: str = str(DRAWS), pairs: str = str(PAIRS)) -> None:
    head = (
        "condition                truth record   rate  estimate  error  held  half  "
        "lean (10 % errors)  expected  physicians held"
    )
    print(head)
    for name in conditions_of("review"):
        found = [one_draw(name, number, int(pairs)) for number in range(int(draws))]
        print(_line(name, found), flush=True)


def _line(name: str, found: list[Drawn]) -> str:
    truth = np.array([each.truth for each in found])
    middle = np.array([each.perfect.value for each in found])
    low = np.array([each.perfect.low for each in found])
    high = np.array([each.perfect.high for each in found])
    erring = np.array([each.erring.value for each in found])
    held = np.mean((low <= truth) & (truth <= high))
    own = sum(each.held for each in found) / max(sum(each.n_physicians for each in found), 1)
    record, rate = (np.mean([getattr(each, of) for each in found]) for of in ("record", "rate"))
    expected = np.mean([each.expected_lean for each in found])
    return (
        f"{name:24} {truth.mean():.3f}  {record:.3f}  {rate:.3f}     {middle.mean():.3f} "
        f"{(middle - truth).mean():+.4f} {100 * held:5.1f} {(high - low).mean() / 2:.3f}"
        f"              {(erring - truth).mean():+.3f}    {expected:+.3f}            "
        f"{100 * own:5.1f}"
    )


def one_draw(name: str, number: int, n_pairs: int) -> Drawn:
    """Simulate a cohort, draw pairs of it, let them be judged, and estimate."""
    condition = conditions_of("review")[name]
    cohort = condition.simulate(condition.replicate_seed(number))
    assert cohort.truth is not None
    observed = Observed.of(*cohort.observed())
    table = pairs_to_review(observed, AlikeScale.of(observed, cohort.covariates.columns, {}))
    first, second = (table[side].to_numpy() for side in ("first", "second"))
    truth = PairTruth.of(cohort.truth, first, second)
    # A pair is found again by its position.
    frame = pl.DataFrame(
        {
            "physician": table["panel"].cast(pl.String),
            "first": np.arange(len(first)),
            "second": np.arange(len(first)) + len(first),
            "different": table["discordant"],
            "weight": np.ones(len(first)),
        }
    )
    random = stream(number, name, "review")
    design = draw_pairs(frame, n_pairs, random, Stored())
    at = np.array([min(pair.row_a, pair.row_b) for pair in design.pairs])
    different = table["discordant"].to_numpy()
    record = float(different.mean())
    rates = np.array([observed.decision[panel].mean() for panel in observed.panels])

    def estimated(reviewer: Reviewer) -> tuple[Figure, FloatArray]:
        judged = reviewer.judge(truth.comparable[at], random).astype(np.float64)
        ones, own = np.ones(len(at)), different[at]
        kinds = Kind.of(judged[own], ones[own]), Kind.of(judged[~own], ones[~own])
        return estimate(record, *kinds, len(first)), judged

    perfect, judged = estimated(Reviewer())
    erring, _ = estimated(Reviewer(1 - ERRORS, 1 - ERRORS))
    shares = [float(truth.comparable[different == kind].mean()) for kind in (True, False)]
    held, n, error = _physicians(table["panel"].to_numpy(), at, judged, different, truth)
    return Drawn(
        truth.discordance,
        record,
        float((2 * rates * (1 - rates)).mean()),
        perfect,
        erring,
        leaning(shares[0], shares[1], record, (ERRORS, ERRORS)),
        held,
        n,
        error,
    )


def _physicians(
    panel: IntArray, at: IntArray, judged: FloatArray, different: np.ndarray, truth: PairTruth
) -> tuple[int, int, float]:
    """Return how many physicians' intervals hold, of how many, and their mean error."""
    n = int(panel.max()) + 1
    frame = tuple(
        np.bincount(panel[different == kind], minlength=n).astype(np.float64)
        for kind in (True, False)
    )

    def counted(own: BoolArray) -> tuple[FloatArray, FloatArray]:
        of = panel[at][own]
        comparable = np.bincount(of, weights=judged[own], minlength=n)
        return comparable.astype(np.float64), np.bincount(of, minlength=n).astype(np.float64)

    kinds = counted(different[at]), counted(~different[at])
    middle, low, high = pooled_estimates((frame[0], frame[1]), *kinds, draws=1_000)
    alike = truth.comparable
    total = np.bincount(panel[alike], weights=truth.differ[alike], minlength=n)
    truly = total / np.maximum(np.bincount(panel[alike], minlength=n), 1)
    return int(((low <= truly) & (truly <= high)).sum()), n, float((middle - truly).mean())


def leaning(
    share_different: float, share_alike: float, record: float, wrong: tuple[float, float]
) -> float:
    """Return by how much reviewers' errors move the discordance.

    Parameters
    ----------
    share_different, share_alike
        True shares of comparable pairs among those decided differently, and alike.
    record
        Share of pairs decided differently.
    wrong
        How often a comparable pair is called different, and one that differs comparable.

    Examples
    --------
    >>> round(leaning(0.4, 0.75, 0.28, (0.1, 0.1)), 3)
    0.017
    """

    def value(first: float, second: float) -> float:
        return record * first / (record * first + (1 - record) * second)

    def judged(share: float) -> float:
        return share * (1 - wrong[0]) + (1 - share) * wrong[1]

    return value(judged(share_different), judged(share_alike)) - value(share_different, share_alike)
