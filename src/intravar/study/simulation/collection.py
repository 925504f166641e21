"""How rows are collected: repeat visits, columns filled in after the decision, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import InputError

#: Other visits that are drawn to average over; the error of a mean is below 0.05 then.
N_OTHER_VISITS = 100


class VisitPlan(NamedTuple):
    """The patient of every row, and the row of the previous visit, -1 at the first visit."""

    patient: IntArray
    previous: IntArray

    @property
    def first(self) -> IntArray:
        """Row of the first visit of every row's patient."""
        first = np.empty(len(self.patient), dtype=np.int64)
        rows = np.flatnonzero(self.previous < 0)
        first[self.patient[rows]] = rows
        return first[self.patient]


@dataclass(frozen=True, kw_only=True)
class Visits:
    """Patients who come to the same physician several times.

    Parameters
    ----------
    fewest, most
        Range of the number of visits; every number is as likely. The last patient of a panel may
        have fewer.
    jitter
        Standard deviation of a covariate between the visits of a patient, in standard deviations of
        the covariate: one number for all covariates with more than two values, or one per name.
    kept
        Probability that the decision of the previous visit is kept. Otherwise the physician decides
        anew, for the patient as recorded at this visit.

    Notes
    -----
    The true quantity concerns two rows of *different* patients that are alike in the record. Their
    decisions are independent, so that the probability of "yes" given one record decides. With p(x)
    the physician's probability for a record x, the probability of "yes" at visit v given the
    records x_1, ..., x_v so far is

        m_1 = p(x_1),    m_v = kept * m_(v-1) + (1 - kept) * p(x_v),

    a weighted mean of the p(x_u). The record of a row shows x_v alone. Given it, p(x_u) of an
    earlier visit is a mean of p around x_v, see :meth:`share_given_record`. If records do not
    change between visits, the probability is p(x_v), whatever is kept.
    """

    fewest: int
    most: int
    jitter: float | Mapping[str, float] = 0.0
    kept: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.fewest <= self.most:
            raise InputError(
                f"visits from {self.fewest} to {self.most} are impossible; count from 1"
            )
        if not 0 <= self.kept <= 1:
            raise InputError(f"kept is {self.kept}; it is a probability")

    def plan(self, physician: IntArray, random: np.random.Generator) -> VisitPlan:
        """Group the rows of every physician into patients.

        Examples
        --------
        >>> random = np.random.default_rng(0)
        >>> plan = Visits(fewest=2, most=2).plan(np.array([0, 1, 0, 1, 1]), random)
        >>> plan.patient.tolist(), plan.previous.tolist()
        ([0, 1, 0, 1, 2], [-1, -1, 0, 1, -1])
        """
        patient = np.empty(len(physician), dtype=np.int64)
        previous = np.full(len(physician), -1, dtype=np.int64)
        n_patients = 0
        for code in np.unique(physician):
            rows = np.flatnonzero(physician == code)
            visits = random.integers(self.fewest, self.most + 1, len(rows))
            patient[rows] = n_patients + np.repeat(np.arange(len(rows)), visits)[: len(rows)]
            again = np.flatnonzero(np.diff(patient[rows]) == 0)
            previous[rows[again + 1]] = rows[again]
            n_patients = int(patient[rows[-1]]) + 1
        return VisitPlan(patient, previous)

    def records(
        self, covariates: pl.DataFrame, plan: VisitPlan, random: np.random.Generator
    ) -> pl.DataFrame:
        """Return the covariates as recorded at every visit."""
        recorded = []
        for column in covariates:
            values = column.to_numpy()[plan.first]
            jitter = self._jitter_of(column)
            if jitter:
                change = random.standard_normal(len(values))
                values = values + jitter * column.to_numpy().std() * change
            recorded.append(pl.Series(column.name, values))
        return pl.DataFrame(recorded)

    def _jitter_of(self, column: pl.Series) -> float:
        if isinstance(self.jitter, Mapping):
            return self.jitter.get(column.name, 0.0)
        return self.jitter if column.n_unique() > 2 else 0.0

    def carry_over(
        self, decision: BoolArray, plan: VisitPlan, random: np.random.Generator
    ) -> BoolArray:
        """Return decisions of which some are those of the previous visit.

        Parameters
        ----------
        decision
            Decision that is made anew at every visit.
        plan
            Which rows are visits of one patient.
        random
            Draws which decisions are kept.
        """
        decision = decision.copy()
        is_kept = random.random(len(decision)) < self.kept
        # Rows of one patient rise, so that the previous visit is settled before the next one.
        for row in np.flatnonzero(is_kept & (plan.previous >= 0)):
            decision[row] = decision[plan.previous[row]]
        return decision

    def share_given_record(
        self,
        chance: Callable[[pl.DataFrame], FloatArray],
        recorded: pl.DataFrame,
        plan: VisitPlan,
        random: np.random.Generator,
    ) -> FloatArray:
        """Return P(eligible) that stands behind the decision of a row, given its record.

        Parameters
        ----------
        chance
            P(eligible) given a record, for every row.
        recorded
            The records.
        plan
            Which rows are visits of one patient.
        random
            Draws other visits of patients with the same record.
        """
        now = chance(recorded)
        if self.kept == 0 or not self.jitter:
            return now
        # Other visits of a patient with this record, if covariates are normally distributed.
        earlier = np.zeros(len(now))
        for _ in range(N_OTHER_VISITS):
            earlier += chance(self._other_visit(recorded, random)) / N_OTHER_VISITS
        is_first = plan.previous < 0
        made_now = float(np.mean(np.where(is_first, 1.0, 1 - self.kept)))
        # Means of many ones may exceed 1 by a rounding error.
        return np.clip(made_now * now + (1 - made_now) * earlier, 0.0, 1.0)

    def _other_visit(self, recorded: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
        other = []
        for column in recorded:
            values = column.to_numpy()
            jitter = self._jitter_of(column)
            if jitter:
                # The variance of the record is that of the patient times 1 + jitter^2.
                share = 1 / (1 + jitter**2)
                sd = values.std() * np.sqrt(share)
                patient = values.mean() + share * (values - values.mean())
                spread = jitter * sd * np.sqrt(share + 1)
                values = patient + spread * random.standard_normal(len(values))
            other.append(pl.Series(column.name, values))
        return pl.DataFrame(other)

    def describe(self) -> str:
        """Return the visits in words."""
        again = "carried over" if self.kept == 1 else f"kept with probability {self.kept:g}"
        return f"{self.fewest} to {self.most} visits per patient, the previous decision {again}"


@dataclass(frozen=True, kw_only=True)
class FilledIn:
    """A column that is filled in after some "yes" and never after a "no": a leak by missingness.

    Parameters
    ----------
    column
        Name of the column. Its values carry no information.
    share
        Share of "yes" for which it is filled in.
    """

    column: str
    share: float

    def record(self, decision: BoolArray, random: np.random.Generator) -> pl.Series:
        """Return the column."""
        values = pl.Series(self.column, random.standard_normal(len(decision)))
        is_filled = decision & (random.random(len(decision)) < self.share)
        return values.set(pl.Series(~is_filled), None)

    def describe(self) -> str:
        """Return the leak in words."""
        return f"{self.column} filled in for {100 * self.share:g} % of yes, never for no"


@dataclass(frozen=True, kw_only=True)
class CaseControl:
    """A sample that holds as many "yes" as "no" of every physician.

    All rows of the rarer decision are kept, and a random sample of the others.
    """

    def draw(
        self, decision: BoolArray, physician: IntArray, random: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Draw the sample.

        Returns
        -------
        rows
            Rows that are kept, rising.
        weight
            Number of rows of the population that each of them stands for.
        """
        kept: list[npt.NDArray[np.int64]] = []
        weight = np.ones(len(decision))
        for code in np.unique(physician):
            panel = physician == code
            groups = [np.flatnonzero(panel & (decision == value)) for value in (False, True)]
            n_kept = max(min(map(len, groups)), 1)
            for rows in groups:
                kept.append(random.permutation(rows)[:n_kept])
                weight[rows] = len(rows) / n_kept
        rows = np.sort(np.concatenate(kept))
        return rows, weight[rows]

    def describe(self) -> str:
        """Return the sample in words."""
        return "a sample with as many yes as no of every physician"
