"""What stands behind the scores of a method: pairs, rates, predictions or repeated cases.

Whoever assesses, explains or publishes a score asks its method for the evidence and looks at
nothing else of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from polars._typing import PolarsDataType
from scipy.special import logit

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.anchors import NEAR
from intravar.latent.anchors import Anchors as Anchors
from intravar.observed import Observed
from intravar.panels import PanelDecisions
from intravar.wording import Sentence

#: Values of every physician by name, and their type.
ByPhysician: TypeAlias = dict[str, tuple[Sequence[Any] | npt.NDArray[Any], PolarsDataType]]

#: What a score aims at; see docs/glossary.md. "order" ranks physicians on a scale of its own.
Estimand = Literal["comparable", "eligible", "repeated", "order"]

_TINY = 1e-9
#: Kinds of cases: a decision that surprises, one against the rule, a discordant pair.
SURPRISE, AGAINST, PAIR = "surprise", "against the rule", "pair"

PAIR_SCHEMA = {
    "panel": pl.Int64,
    "first": pl.Int64,
    "second": pl.Int64,
    "distance": pl.Float64,
    "discordant": pl.Boolean,
}


class Told(NamedTuple):
    """Counts of patients, or of pairs, that can be worked out from what is shown.

    Attributes
    ----------
    score
        From the score beside the panel's size and number of decisions for.
    others
        From what is said of patients who are not eligible.
    rate
        From the rate of decisions for, beside the score.
    size
        From the panel's size, beside the score.
    least
        How many patients a panel has at least, where its size is not shown.
    """

    score: tuple[IntArray | FloatArray, ...]
    others: tuple[IntArray | FloatArray, ...]
    rate: tuple[IntArray | FloatArray, ...]
    size: tuple[IntArray | FloatArray, ...]
    least: IntArray


class Evidence:
    """What stands behind scores; it answers for itself what may be said of them.

    Attributes
    ----------
    events
        The events that are counted, in words.
    compared
        Which pairs of patients the discordance is of, in words.
    upper_limit
        Whether scores are upper limits of what is compared.
    of_pairs
        Whether scores are shares of pairs that were counted.
    learned
        Whether scores rest on something that was learned, and may change as patients are added.
    by_rate
        Whether scores rest on rates alone, and no covariate is looked at.
    of_eligible
        Whether scores are those of patients whom a rule makes eligible.
    anchors, follows, core
        Of a rule: what pins the level of the rates, whether it explains what physicians do
        differently, and to which patients it surely applies.
    caliper, attrition
        Of pairs: the largest distance, and why patients are in no pair.
    differences
        Which covariates each physician weighs otherwise; None where nobody looked.
    raw
        Per physician: scores as they are, where others hold chance back.
    """

    events: ClassVar[str] = "decisions of one kind"
    compared: ClassVar[str] = Sentence("pairs of comparable {cases}")
    upper_limit: ClassVar[bool] = False
    of_pairs: ClassVar[bool] = False
    learned: ClassVar[bool] = True
    by_rate: ClassVar[bool] = False
    of_eligible: ClassVar[bool] = False
    anchors: Anchors | None = None
    follows: bool = True
    core: BoolArray | None = None
    caliper: FloatArray | None = None
    attrition: pl.DataFrame | None = None
    differences: pl.DataFrame | None = None
    raw: FloatArray | None = None

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {}

    def by_physician(self) -> ByPhysician:
        """Return all that is known of every physician."""
        return {}

    def with_physicians(self, known: pl.DataFrame) -> Evidence:
        """Return the same about other physicians; patients stay those that were learned from."""
        return self

    def with_differences(self, differences: pl.DataFrame) -> Evidence:
        """Return the same with another table of what physicians weigh otherwise."""
        return self

    def trials(self, n_patients: IntArray) -> IntArray | FloatArray:
        """Return how many pairs or patients stand behind every score."""
        return n_patients

    def told(self, n: IntArray, n_for: IntArray) -> Told:
        """Return the counts that can be worked out from what is shown of every physician.

        By default a score is taken to tell how many were decided for.

        Parameters
        ----------
        n, n_for
            Patients, and those decided for, of every physician.
        """
        return Told((n_for, n - n_for), (), (), (), np.zeros_like(n))

    def cases(self) -> tuple[str, FloatArray, float] | None:
        """Return which decisions show scores at work: their kind, P(yes), and how far it is off.

        None where these are discordant pairs.
        """
        return None

    def over_limits(self, observed: Observed, seed: int) -> float:
        """Return by how much own rates predict decisions better than own limits would.

        Infinite where a method has no rates.

        Parameters
        ----------
        observed
            The patients.
        seed
            Of how they are dealt.
        """
        return float("inf")

    def predicted(self) -> tuple[FloatArray, FloatArray] | None:
        """Return P(yes) of every patient by predictions that know the physician, and that do not.

        None where a method does not predict: then it cannot compare subgroups or periods.
        """
        return None

    def pairs(self) -> pl.DataFrame | None:
        """Return the pairs that scores are shares of; None where they are of none."""
        return None


@dataclass(frozen=True, eq=False)
class Decisions(Evidence):
    """Nothing but the decisions themselves: a method that has no more to show."""

    by_rate = True


@dataclass(frozen=True, eq=False)
class Pairs(Evidence):
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
    compared = Sentence("pairs of similar {cases}")
    of_pairs = True

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {"n_pairs": self.n_pairs.astype(np.float64)}

    def trials(self, n_patients: IntArray) -> IntArray | FloatArray:
        """See :class:`Evidence`."""
        return self.n_pairs

    def told(self, n: IntArray, n_for: IntArray) -> Told:
        """See :class:`Evidence`.

        A share of pairs is the number of discordant ones over that of all: both, and the concordant
        rest, can be worked out from it. Panel size and number of pairs together tell how many
        patients stayed without a pair. How many were decided for, less the discordant pairs, are
        the patients decided for who have no discordant pair.
        """
        pairs, discordant = self.n_pairs, self.n_discordant
        return Told(
            (pairs, discordant, pairs - discordant),
            (),
            (n_for - discordant, n - n_for - discordant),
            (n - 2 * pairs,),
            2 * pairs,
        )

    def pairs(self) -> pl.DataFrame:
        """See :class:`Evidence`."""
        return self.table.cast(PAIR_SCHEMA)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class EligibleRates(Evidence):
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

    events = "eligible decisions of one kind"
    compared = Sentence("pairs of eligible {cases}")
    of_eligible = True

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

    def trials(self, n_patients: IntArray) -> IntArray | FloatArray:
        """See :class:`Evidence`."""
        return self.n_eligible

    def told(self, n: IntArray, n_for: IntArray) -> Told:
        """See :class:`Evidence`.

        p_high, and the score that follows from it, are the eligible patients decided for over the
        eligible; p_low is the same of the others. The panel's size tells the others by subtraction.
        """
        eligible, eligible_for = self.n_eligible, self.n_eligible_for
        others, others_for = n - eligible, n_for - eligible_for
        of_others = (others_for, others - others_for)
        return Told(
            (n_for, n - n_for, eligible_for, eligible - eligible_for),
            of_others,
            of_others,
            (others,),
            np.floor(eligible).astype(np.int64),
        )

    def over_limits(self, observed: Observed, seed: int) -> float:
        """See :class:`Evidence`."""
        if self.anchors is None or self.probability is None or len(observed.physicians) < 2:
            return float("inf")
        # Loaded where it is asked for: other evidence needs nothing of the latent rule.
        from intravar.latent.leniency import rates_over_limits

        probability = np.clip(self.probability, _TINY, 1 - _TINY)
        decision = observed.decision.astype(np.int64)
        decided = PanelDecisions(decision, observed.code, len(observed.physicians))
        return rates_over_limits(logit(probability), decided, seed)

    def cases(self) -> tuple[str, FloatArray, float] | None:
        """See :class:`Evidence`."""
        if self.anchors is None:
            return None
        # A method that only knows a core is sure of it.
        known = np.where(self.core, 1.0, 0.5) if self.probability is None else self.probability
        return AGAINST, known, 1 - NEAR


def no_differences() -> pl.DataFrame:
    """Return a table in which nobody weighs anything otherwise."""
    return pl.DataFrame(schema=dict.fromkeys(("physician", "covariate", "how"), pl.String))


@dataclass(frozen=True, eq=False)
class Predictions(Evidence):
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
    raw
        Per physician: the score as it is, chance not held back; how much physicians differ is read
        off it.
    """

    probability: FloatArray
    pooled: FloatArray
    expected: FloatArray
    gain: FloatArray
    words: tuple[str | None, ...] = ()
    differences: pl.DataFrame = field(default_factory=no_differences)
    raw: FloatArray | None = None

    compared = Sentence("pairs of {cases} alike in what is recorded")
    upper_limit = True

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {"expected": self.expected, "gain": self.gain}

    def by_physician(self) -> ByPhysician:
        """Return all that is known of every physician."""
        return {
            "expected": (self.expected, pl.Float64()),
            "gain": (self.gain, pl.Float64()),
            "words": (self.words, pl.String()),
            "raw": (
                np.full(len(self.gain), np.nan) if self.raw is None else self.raw,
                pl.Float64(),
            ),
        }

    def with_physicians(self, known: pl.DataFrame) -> Predictions:
        """Return the same about other physicians; patients stay those that were learned from."""
        return replace(
            self,
            expected=known["expected"].to_numpy(),
            gain=known["gain"].to_numpy(),
            words=tuple(known["words"].to_list()),
            raw=known["raw"].to_numpy(),
        )

    def with_differences(self, differences: pl.DataFrame) -> Predictions:
        """See :class:`Evidence`."""
        return replace(self, differences=differences)

    def predicted(self) -> tuple[FloatArray, FloatArray]:
        """See :class:`Evidence`."""
        return self.probability, self.pooled

    def cases(self) -> tuple[str, FloatArray, float]:
        """See :class:`Evidence`."""
        return SURPRISE, self.probability, 0.5


@dataclass(frozen=True, eq=False)
class RepeatedCases(Evidence):
    """Cases that the same physician decided more than once.

    Attributes
    ----------
    n_repeats, n_contradictions
        Per physician: pairs of decisions on one case, and those that differ.
    """

    n_repeats: IntArray
    n_contradictions: IntArray

    events = "cases decided differently, or alike, the second time"
    compared = "cases seen twice"
    of_pairs = True
    learned = False

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return {"n_repeats": self.n_repeats.astype(np.float64)}

    def trials(self, n_patients: IntArray) -> IntArray | FloatArray:
        """See :class:`Evidence`."""
        return self.n_repeats

    def told(self, n: IntArray, n_for: IntArray) -> Told:
        """See :class:`Evidence`."""
        seen, differ = self.n_repeats, self.n_contradictions
        return Told((seen, differ, seen - differ), (), (), (), np.zeros_like(n))
