"""Cases that were seen twice: self-contradiction, beside what the record tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, option
from intravar.estimators.evidence import RepeatedCases
from intravar.estimators.repeats import NO_REPEATS, Repeats
from intravar.inference import Interval
from intravar.inference.intervals import share_interval
from intravar.measurement.scores import Scores
from intravar.preparation.prepare import Prepared
from intravar.wording import Sentence

#: The name of the method that counts.
REPEATS = Repeats.name


@dataclass(frozen=True, eq=False)
class SeenTwice:
    """Self-contradiction of the physicians that are measured, in their order.

    Attributes
    ----------
    model
        The counts of everybody.
    n_decisions
        Decisions of each physician, those on cases seen again included.
    contradiction, low, high
        Share of self-contradictions and its 95 % interval; NaN where no case was seen twice.
    n_repeats
        Cases that were seen more than once.
    """

    model: Repeats
    n_decisions: IntArray
    contradiction: FloatArray
    low: FloatArray
    high: FloatArray
    n_repeats: IntArray

    @property
    def evidence(self) -> RepeatedCases:
        """What stands behind the shares."""
        differ = np.rint(np.nan_to_num(self.contradiction) * self.n_repeats).astype(np.int64)
        return RepeatedCases(self.n_repeats, differ)

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that repeated cases fill."""
        return {
            "contradiction": self.contradiction,
            "contradiction_low": self.low,
            "contradiction_high": self.high,
            "n_repeats": self.n_repeats.astype(np.float64),
        }

    def unexplained(self, discordance: FloatArray, n_patients: IntArray) -> float:
        """Return the share of the apparent discordance that is not self-contradiction."""
        both = np.isfinite(self.contradiction) & np.isfinite(discordance)
        if not both.any():
            return float("nan")
        weight = n_patients[both] / n_patients[both].sum()
        apparent = float(weight @ discordance[both])
        if apparent <= 0:
            return float("nan")
        return float(np.clip(1 - (weight @ self.contradiction[both]) / apparent, 0, 1))


def seen_twice(prepared: Prepared) -> SeenTwice | None:
    """Count self-contradictions; None where no cases are named."""
    cases = prepared.cases
    if cases is None:
        return None
    model = Repeats().fit(cases["case"], cases["decision"].to_numpy(), cases["physician"])
    place = {name: at for at, name in enumerate(model.physicians_.tolist())}
    order = np.array([place[str(name)] for name in prepared.observed.physicians], dtype=np.int64)
    if not model.n_repeated_[order].any():
        raise InputError(
            Sentence(
                "no {decider} saw a case of column {case_column} twice; name the column "
                "that is equal where the same case was seen again",
                case_column=option("case"),
            )
        )
    counted = cases["physician"].cast(pl.String).value_counts()
    decisions = dict(counted.iter_rows())
    return SeenTwice(
        model,
        np.array([decisions[str(name)] for name in prepared.observed.physicians], dtype=np.int64),
        model.score_[order],
        model.low_[order],
        model.high_[order],
        model.n_repeated_[order],
    )


def scores_of_repeats(seen: SeenTwice, prepared: Prepared) -> Scores:
    """Return self-contradiction as the scores of a method of its own."""
    observed = prepared.observed
    decided_for = np.bincount(observed.code, observed.decision, minlength=len(observed.physicians))
    error = share_interval(
        np.nan_to_num(seen.contradiction) * seen.n_repeats, seen.n_repeats
    ).standard_error
    return Scores(
        observed.named,
        seen.n_decisions,
        decided_for.astype(np.int64),
        seen.contradiction,
        [None if n else NO_REPEATS for n in seen.n_repeats],
        Interval(seen.low, seen.high, np.where(seen.n_repeats > 0, error, np.nan)),
        {},
    )
