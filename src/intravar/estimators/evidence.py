"""What stands behind the scores of a method: pairs, rates, predictions or repeated cases.

Whoever assesses, explains or publishes a score asks its method for the evidence and looks at
nothing else of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from polars._typing import PolarsDataType

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.anchors import Anchors

#: Values of every physician by name, and their type.
ByPhysician: TypeAlias = dict[str, tuple[Sequence[Any] | npt.NDArray[Any], PolarsDataType]]

#: What a score aims at; see docs/glossary.md. "order" ranks physicians on a scale of its own.
Estimand = Literal["comparable", "eligible", "repeated", "order"]

PAIR_SCHEMA = {
    "panel": pl.Int64,
    "first": pl.Int64,
    "second": pl.Int64,
    "distance": pl.Float64,
    "discordant": pl.Boolean,
}


@dataclass(frozen=True, eq=False)
class Decisions:
    """Nothing but the decisions themselves: a method that has no more to show."""

    #: The events that are counted, in words.
    events = "decisions of one kind"

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of comparable patients.

    Attributes
    ----------
    n_pairs, n_discordant
        Per physician.
    table
        One row per pair: position of the panel, positions of both patients, distance, discordant.
    caliper
        Per physician; NaN where no pair can be formed.
    attrition
        Per physician: patients paired, and why the others are not.
    """

    n_pairs: IntArray
    n_discordant: IntArray
    table: pl.DataFrame
    caliper: FloatArray
    attrition: pl.DataFrame

    events = "discordant or concordant pairs"

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {"n_pairs": self.n_pairs.astype(np.float64)}


@dataclass(frozen=True, eq=False)
class EligibleRates:
    """How often a physician decides for an eligible patient, and for another.

    Attributes
    ----------
    p_high, p_low
        Per physician; p_low is NaN where no rule was found.
    n_eligible, n_eligible_for
        Per physician: patients expected to be eligible, and those of them who were decided for.
    core
        Per patient: whether the rule surely applies.
    anchors
        What pins the level of the rates; None where no rule was found.
    follows
        Whether the rule explains what physicians do differently; if not, another rule may look
        like inconsistency.
    probability
        Per patient: of being eligible, not informed by the patient's own decision; None where a
        method knows no more than the core.
    """

    p_high: FloatArray
    p_low: FloatArray
    n_eligible: FloatArray
    n_eligible_for: FloatArray
    core: BoolArray
    anchors: Anchors | None
    follows: bool = True
    probability: FloatArray | None = None

    events = "eligible patients decided one way or the other"

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {
            "p_high": self.p_high,
            "p_low": self.p_low,
            "discrimination": self.p_high - self.p_low,
            **({} if self.anchors is None else self.anchors.columns()),
        }

    def by_physician(self) -> ByPhysician:
        """Return all that is known of every physician."""
        known = {
            "p_high": self.p_high,
            "p_low": self.p_low,
            "n_eligible": self.n_eligible,
            "n_eligible_for": self.n_eligible_for,
            **({} if self.anchors is None else self.anchors.columns()),
        }
        return {name: (values, pl.Float64()) for name, values in known.items()}

    def with_physicians(self, known: pl.DataFrame) -> EligibleRates:
        """Return the same about other physicians; patients stay those that were learned from."""
        anchors = self.anchors
        if anchors is not None:
            anchors = replace(
                anchors,
                identified_low=known["identified_low"].to_numpy(),
                identified_high=known["identified_high"].to_numpy(),
            )
        return replace(
            self,
            p_high=known["p_high"].to_numpy(),
            p_low=known["p_low"].to_numpy(),
            n_eligible=known["n_eligible"].to_numpy(),
            n_eligible_for=known["n_eligible_for"].to_numpy(),
            anchors=anchors,
        )


def no_differences() -> pl.DataFrame:
    """Return a table in which nobody weighs anything otherwise."""
    return pl.DataFrame(schema=dict.fromkeys(("physician", "covariate", "how"), pl.String))


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of every decision that were made without it.

    Attributes
    ----------
    probability
        Per patient: predicted of this physician.
    pooled
        Per patient: predicted of the physicians on the whole.
    expected
        Per physician: what the average colleague would score on the same patients.
    gain
        Per physician: how much better, in nats a patient, the personal prediction is.
    words
        Per physician: in what way the physician's rule differs.
    differences
        The same as a table, the surest first: physician, covariate, how it is weighed.
    """

    probability: FloatArray
    pooled: FloatArray
    expected: FloatArray
    gain: FloatArray
    words: tuple[str | None, ...] = ()
    differences: pl.DataFrame = field(default_factory=no_differences)

    events = "decisions of one kind"

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {"expected": self.expected, "gain": self.gain}

    def by_physician(self) -> ByPhysician:
        """Return all that is known of every physician."""
        return {
            "expected": (self.expected, pl.Float64()),
            "gain": (self.gain, pl.Float64()),
            "words": (self.words, pl.String()),
        }

    def with_physicians(self, known: pl.DataFrame) -> Predictions:
        """Return the same about other physicians; patients stay those that were learned from."""
        return replace(
            self,
            expected=known["expected"].to_numpy(),
            gain=known["gain"].to_numpy(),
            words=tuple(known["words"].to_list()),
        )


@dataclass(frozen=True, eq=False)
class RepeatedCases:
    """Cases that the same physician decided more than once.

    Attributes
    ----------
    n_repeats, n_contradictions
        Per physician: pairs of decisions on one case, and those that differ.
    """

    n_repeats: IntArray
    n_contradictions: IntArray

    events = "cases decided differently, or alike, the second time"

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {"n_repeats": self.n_repeats.astype(np.float64)}


Evidence: TypeAlias = Decisions | Pairs | EligibleRates | Predictions | RepeatedCases
