"""What stands behind the scores of a method: pairs, rates, predictions or repeated cases.

Whoever assesses, explains or publishes a score asks its method for the evidence and looks at
nothing else of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from scipy.special import logit

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.observed import Observed
from intravar.wording import Sentence

if TYPE_CHECKING:
    from intravar.latent.rates import Anchors as Anchors

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


class RevealedCounts(NamedTuple):
    """Counts of patients, or of pairs, that can be worked out from what is shown.

    From the score beside the panel's size and number of decisions for; from what is said of
    patients who are not eligible; from the rate of decisions for, and from the panel's size, beside
    the score. `least` is how many patients a panel has at least, where its size is not shown.
    """

    score: tuple[IntArray | FloatArray, ...]
    others: tuple[IntArray | FloatArray, ...]
    rate: tuple[IntArray | FloatArray, ...]
    size: tuple[IntArray | FloatArray, ...]
    least: IntArray


class Evidence:
    """What stands behind scores; it answers for itself what may be said of them."""

    #: The events that are counted, and the pairs of patients the discordance is of, in words.
    events: ClassVar[str] = "decisions of one kind"
    compared: ClassVar[str] = Sentence("pairs of comparable {cases}")
    #: Whether scores are upper limits of what is compared.
    upper_limit: ClassVar[bool] = False
    #: Whether scores are shares of pairs that were counted.
    of_pairs: ClassVar[bool] = False
    #: Whether scores rest on something that was learned, and may change as patients are added.
    learned: ClassVar[bool] = True
    #: Whether scores rest on rates alone, and no covariate is looked at.
    by_rate: ClassVar[bool] = False
    #: Whether scores are those of patients whom a rule makes eligible.
    of_eligible: ClassVar[bool] = False
    #: What is known of every physician, result columns among it, and what is counted as trials.
    known: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[str, ...]] = ()
    counted: ClassVar[str | None] = None
    #: Of a rule: what pins the level of the rates, whether it explains what physicians do
    #: differently, and to which patients it surely applies.
    anchors: Anchors | None = None
    follows: bool = True
    core: BoolArray | None = None
    #: Of pairs: all of them, the largest distance, and why patients are in no pair.
    pairs: pl.DataFrame | None = None
    caliper: FloatArray | None = None
    attrition: pl.DataFrame | None = None
    #: Which covariates each physician weighs otherwise, None where nobody looked.
    differences: pl.DataFrame | None = None
    #: Per physician: scores as they are, where others hold chance back.
    raw: FloatArray | None = None
    #: Per row: number of the independent unit, the patient usually. None if rows are independent.
    unit: IntArray | None = None
    #: Per physician of a weighted sample: the rate of "yes" in the population, the sum of weights,
    #: and the number of patients whose rate would be as sure; None without weights.
    rate: FloatArray | None = None
    total_weight: FloatArray | None = None
    effective_size: FloatArray | None = None

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that this evidence fills, one entry per physician."""
        return self._columns(self.shown)

    def by_physician(self) -> Mapping[str, FloatArray]:
        """Return all that is known of every physician."""
        return self._columns(self.known)

    def _columns(self, names: Iterable[str]) -> Mapping[str, FloatArray]:
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        columns = {name: np.asarray(values, dtype=np.float64) for name, values in given.items()}
        return columns if self.anchors is None else columns | self.anchors.columns()

    def with_physicians(self, known: pl.DataFrame) -> Self:
        """Return the same about other physicians; patients stay those that were learned from."""
        names = [name for name in self.known if name in known.columns]
        changes: dict[str, Any] = {name: known[name].to_numpy() for name in names}
        if self.anchors is not None:
            ends = (known[name].to_numpy() for name in self.anchors.columns())
            changes["anchors"] = self.anchors.with_ranges(*ends)
        return replace(self, **changes)  # type: ignore[type-var]

    def trials(self, n_patients: IntArray) -> IntArray | FloatArray:
        """Return how many pairs or patients stand behind every score."""
        counted: IntArray | FloatArray = getattr(self, self.counted) if self.counted else n_patients
        return counted

    def represented(self, n: IntArray) -> IntArray | FloatArray:
        """Return what every physician counts in a mean over patients, given the patients of each.

        With sampling weights that is the sum of weights, in units of the mean weight.
        """
        if self.total_weight is None:
            return n
        return np.asarray(self.total_weight * (n.sum() / max(self.total_weight.sum(), _TINY)))

    def effective_counts(
        self, n: IntArray, n_for: IntArray
    ) -> tuple[IntArray | FloatArray, IntArray | FloatArray]:
        """Return patients of every physician, and those decided for, as surely as they are known.

        With sampling weights these are the effective sample size, and the rate of the population
        times that.
        """
        if self.rate is None or self.effective_size is None:
            return n, n_for
        return self.effective_size, self.rate * self.effective_size

    def revealed(self, n: IntArray, n_for: IntArray) -> RevealedCounts:
        """Return the counts that can be worked out from what is shown of every physician.

        Given are the patients, and those decided for, of every physician. By default a score is
        taken to tell how many were decided for.
        """
        return RevealedCounts((n_for, n - n_for), (), (), (), np.zeros_like(n))

    def cases(self) -> tuple[str, FloatArray, float] | None:
        """Return which decisions show scores at work: their kind, P(yes), and how far it is off.

        None where these are discordant pairs.
        """
        return None

    def over_limits(self, observed: Observed, seed: int) -> float:
        """Return by how much own rates predict decisions better than own limits would.

        Infinite where a method has no rates. The seed is that of how patients are dealt.
        """
        return float("inf")

    def explained(self, n: IntArray) -> float:
        """Return the share of how a usual physician's decisions vary that the rule explains.

        Given are the patients of every physician. Infinite where a method has no rule of its own.
        """
        return float("inf")

    def predicted(self) -> tuple[FloatArray, FloatArray] | None:
        """Return P(yes) of every patient by predictions that know the physician, and that do not.

        None where a method does not predict: then it cannot compare subgroups or periods.
        """
        return None


@dataclass(frozen=True, eq=False)
class Decisions(Evidence):
    """Nothing but the decisions themselves: a method that has no more to show."""

    by_rate = True


@dataclass(frozen=True, eq=False)
class Pairs(Evidence):
    """Pairs of comparable patients.

    `pairs` has one row per pair: position of the panel, positions of both patients, distance,
    discordant. The caliper is NaN where no pair can be formed; `attrition` says per physician how
    many patients are paired, and why the others are not.
    """

    n_pairs: IntArray
    n_discordant: IntArray
    pairs: pl.DataFrame
    caliper: FloatArray
    attrition: pl.DataFrame

    events = "discordant or concordant pairs"
    compared = Sentence("pairs of similar {cases}")
    of_pairs = True
    shown, counted = ("n_pairs",), "n_pairs"

    def revealed(self, n: IntArray, n_for: IntArray) -> RevealedCounts:
        """See :class:`Evidence`.

        A share of pairs is the number of discordant ones over that of all: both, and the concordant
        rest, can be worked out from it. Panel size and number of pairs together tell how many
        patients stayed without a pair. How many were decided for, less the discordant pairs, are
        the patients decided for who have no discordant pair.
        """
        pairs, discordant = self.n_pairs, self.n_discordant
        score = (pairs, discordant, pairs - discordant)
        rate = (n_for - discordant, n - n_for - discordant)
        return RevealedCounts(score, (), rate, (n - 2 * pairs,), 2 * pairs)


@dataclass(frozen=True, eq=False)
class EligibleRates(Evidence):
    """How often a physician decides for an eligible patient, and for another.

    Per physician: both rates, p_low NaN where no rule was found; patients expected to be eligible,
    and those of them who were decided for. Per patient: whether the rule surely applies (`core`),
    and the probability of being eligible, not informed by the patient's own decision, None where a
    method knows no more than the core. `anchors` is None where no rule was found. Where a rule does
    not explain what physicians do differently (`follows`), another rule may look like
    inconsistency.
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
    known = ("p_high", "p_low", "n_eligible", "n_eligible_for")
    shown, counted = ("p_high", "p_low", "discrimination"), "n_eligible"

    @property
    def discrimination(self) -> FloatArray:
        """By how much more often the eligible are decided for."""
        return self.p_high - self.p_low

    def revealed(self, n: IntArray, n_for: IntArray) -> RevealedCounts:
        """See :class:`Evidence`.

        p_high, and the score that follows from it, are the eligible patients decided for over the
        eligible; p_low is the same of the others. The panel's size tells the others by subtraction.
        """
        eligible, eligible_for = self.n_eligible, self.n_eligible_for
        others, others_for = n - eligible, n_for - eligible_for
        of_others = (others_for, others - others_for)
        score = (n_for, n - n_for, eligible_for, eligible - eligible_for)
        least = np.floor(eligible).astype(np.int64)
        return RevealedCounts(score, of_others, of_others, (others,), least)

    def over_limits(self, observed: Observed, seed: int) -> float:
        """See :class:`Evidence`."""
        if self.anchors is None or self.probability is None or len(observed.physicians) < 2:
            return float("inf")
        # Loaded where it is asked for: other evidence needs nothing of the latent rule.
        from intravar.latent.calibration import rates_over_limits

        probability = np.clip(self.probability, _TINY, 1 - _TINY)
        return rates_over_limits(logit(probability), observed, seed)

    def explained(self, n: IntArray) -> float:
        """See :class:`Evidence`: the variance between the eligible and the others."""
        if self.anchors is None:
            return float("inf")
        share = np.clip(self.n_eligible / np.maximum(n, 1), 0.0, 1.0)
        rate = share * self.p_high + (1 - share) * self.p_low
        between = share * (1 - share) * self.discrimination**2
        known = np.isfinite(between) & (rate > 0) & (rate < 1)
        if not known.any():
            return float("inf")
        return float(np.median(between[known] / (rate * (1 - rate))[known]))

    def cases(self) -> tuple[str, FloatArray, float] | None:
        """See :class:`Evidence`."""
        if self.anchors is None:
            return None
        # A method that only knows a core is sure of it.
        known = np.where(self.core, 1.0, 0.5) if self.probability is None else self.probability
        return AGAINST, known, 1 - self.anchors.near


def no_differences() -> pl.DataFrame:
    """Return a table in which nobody weighs anything otherwise."""
    texts = dict.fromkeys(("physician", "covariate", "how"), pl.String)
    return pl.DataFrame(schema={**texts, "n_apart": pl.Int64})


def with_n_apart(differences: pl.DataFrame, observed: Observed) -> pl.DataFrame:
    """Say how many patients of a panel have another value of a covariate than most of it."""
    column = {name: at for at, name in enumerate(observed.names)}
    panel = {str(name): at for name, at in zip(observed.physicians, observed.panels, strict=True)}
    counts = []
    for physician, covariate in differences.select("physician", "covariate").iter_rows():
        values = observed.covariates[panel[str(physician)], column[covariate]]
        counts.append(len(values) - np.unique(values, return_counts=True)[1].max())
    return differences.with_columns(pl.Series("n_apart", counts, dtype=pl.Int64))


def weighted_panels(observed: Observed) -> dict[str, FloatArray]:
    """Return rate, sum of weights and effective size of every physician; nothing unweighted."""
    if observed.weight is None:
        return {}
    weight, code, n = observed.weight, observed.code, len(observed)
    total = np.bincount(code, weight, minlength=n).astype(np.float64)
    squares = np.bincount(code, weight**2, minlength=n)
    decided_for = np.bincount(code, weight * observed.y, minlength=n)
    return {
        "rate": decided_for / np.maximum(total, _TINY),
        "total_weight": total,
        "effective_size": total**2 / np.maximum(squares, _TINY),
    }


@dataclass(frozen=True, eq=False)
class Predictions(Evidence):
    """Predictions of every decision that were made without it.

    Per patient: predicted of this physician, and of the physicians on the whole. Per physician:
    what the average colleague would score on the same patients, how much better, in nats a patient,
    the personal prediction is, in what way the physician's rule differs (a table, the surest
    first, see :func:`with_n_apart`), and the score as it is, chance not held back: how much
    physicians differ is read off it. `unit` is the independent unit of every row.
    """

    probability: FloatArray
    pooled: FloatArray
    expected: FloatArray
    gain: FloatArray
    differences: pl.DataFrame = field(default_factory=no_differences)
    raw: FloatArray | None = None
    unit: IntArray | None = None
    rate: FloatArray | None = None
    total_weight: FloatArray | None = None
    effective_size: FloatArray | None = None

    compared = Sentence("pairs of {cases} alike in what is recorded")
    upper_limit = True
    known = ("expected", "gain", "raw", "rate", "total_weight", "effective_size")
    shown = ("expected", "gain", "rate")

    def predicted(self) -> tuple[FloatArray, FloatArray]:
        """See :class:`Evidence`."""
        return self.probability, self.pooled

    def cases(self) -> tuple[str, FloatArray, float]:
        """See :class:`Evidence`."""
        return SURPRISE, self.probability, 0.5


@dataclass(frozen=True, eq=False)
class RepeatedCases(Evidence):
    """Cases that the same physician decided more than once.

    Per physician: pairs of decisions on one case, and those that differ.
    """

    n_repeats: IntArray
    n_contradictions: IntArray

    events = "cases decided differently, or alike, the second time"
    compared = "cases seen twice"
    of_pairs = True
    learned = False
    shown, counted = ("n_repeats",), "n_repeats"

    def revealed(self, n: IntArray, n_for: IntArray) -> RevealedCounts:
        """See :class:`Evidence`.

        Of two decisions on a case that differ one is for: the others for, two by two, are cases
        decided for both times, and so with those against.
        """
        repeats, differ = self.n_repeats, self.n_contradictions
        both_times = (n_for - differ) // 2, (n - n_for - differ) // 2
        score, least = (repeats, differ, repeats - differ), np.zeros_like(n)
        return RevealedCounts(score, (), both_times, (), least)
