"""A cohort: the covariates of patients, the decision each one got, and the physician who took it.

A simulated cohort also knows its truth. The truth stays in a drawer of its own: what an estimator
is handed, :meth:`Cohort.observed`, is made of the other three parts alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.errors import InputError
from intravar.inference.outcomes import MOST_DECISIONS
from intravar.observed import (
    DECISION,
    PHYSICIAN,
    TRUTH_COLUMNS,
    checked_decision,
    checked_physician,
)
from intravar.writing import whole_file

if TYPE_CHECKING:
    import pandas as pd

#: Further decisions of a table are called decision_2, decision_3, ...
FURTHER = tuple(f"{DECISION}_{number}" for number in range(2, MOST_DECISIONS + 1))
#: Column that identifies the patient of a row, where patients come several times.
PATIENT = "patient"
#: Number of patients of the population that a row stands for, where rows are a sample.
SAMPLING_WEIGHT = "sampling_weight"
#: A category that is recorded as text.
DIAGNOSIS = "diagnosis"
#: Columns of a table that are neither a numeric covariate nor a role of every cohort.
EXTRAS = (DIAGNOSIS, PATIENT, SAMPLING_WEIGHT)
_RESERVED = (PHYSICIAN, DECISION, *FURTHER, *TRUTH_COLUMNS, *EXTRAS)
#: Formats of files, and how each is read: physician 007 is a name, not the number 7, and types are
#: inferred from the whole file.
_FORMATS: dict[str, dict[str, Any]] = {
    "parquet": {},
    "csv": {"schema_overrides": {PHYSICIAN: pl.String}, "infer_schema_length": None},
}


@dataclass(frozen=True, eq=False)
class Truth:
    """What only the simulation knows, one entry per patient.

    Parameters
    ----------
    eligible
        Whether the rule says the patient should get the drug.
    p_high, p_low
        How often the patient's physician decides for an eligible and for another patient.
    group
        The physician's behaviour group, counted from 1; 0 where there are no groups.
    rule
        The rule that decided eligibility, which can describe itself; None for a cohort read from
        a file.
    share
        P(eligible) of the patient with this physician, given what the physician saw; by default 1
        for the eligible and 0 for the others.
    outcomes
        Where several decisions were taken, the probability of every combination of them, one row
        per patient; see :mod:`intravar.inference.outcomes`. What else is known is about the first.
    """

    eligible: npt.NDArray[np.bool_]
    p_high: npt.NDArray[np.float64]
    p_low: npt.NDArray[np.float64]
    group: npt.NDArray[np.int16]
    rule: Any = None
    share: npt.NDArray[np.float64] = None  # type: ignore[assignment]
    outcomes: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        own = vars(self)  # frozen for everybody else
        if self.share is None:
            own["share"] = self.eligible
        kinds = {"eligible": np.bool_, "group": np.int16}
        for name in self._arrays:
            own[name] = np.array(own[name], kinds.get(name, np.float64))
            own[name].setflags(write=False)
            if len(own[name]) != len(self.eligible):
                raise InputError(f"'{name}' and 'eligible' differ in length; give one per patient")
        for name in ("p_high", "p_low", "share"):
            if not np.all((own[name] >= 0) & (own[name] <= 1)):
                raise InputError(f"column '{name}' has a value outside 0 to 1")

    @property
    def _arrays(self) -> list[str]:
        """Names of what has one entry per patient, `eligible` first."""
        return [name for name, value in vars(self).items() if name != "rule" and value is not None]

    @property
    def d_star(self) -> npt.NDArray[np.float64]:
        """Probability that two eligible patients of the same physician are decided differently."""
        return 2 * self.p_high * (1 - self.p_high)

    @property
    def probability(self) -> npt.NDArray[np.float64]:
        """P(yes) of the patient with this physician, given what the physician saw."""
        return self.share * self.p_high + (1 - self.share) * self.p_low

    @property
    def comparable(self) -> npt.NDArray[np.float64]:
        """Probability that this physician decides differently for two patients like this one.

        Its mean over a physician's patients is the comparable discordance of the panel. Alike is
        who looks alike to the physician; where the record leaves something out, patients who are
        recorded alike are decided differently more often.
        """
        return 2 * self.probability * (1 - self.probability)

    def take(self, rows: npt.NDArray[np.int64]) -> Truth:
        """Return the truth of some of the patients."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self._arrays})

    @property
    def share_eligible(self) -> float:
        """Realised share of eligible patients."""
        return float(self.eligible.mean())


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Cohort:
    """Covariates, decision and physician of every patient, and the truth if it was simulated.

    A cohort does not change: its parts are read-only, and edits of a frame that it hands out do
    not reach it.

    Parameters
    ----------
    covariates
        One row per patient, one named numeric column per covariate.
    decision
        1 where the patient got the drug, 0 otherwise.
    physician
        The physician of every patient, by name.
    truth
        What the simulation knows; None for observed data.
    name
        What to call the cohort when it prints itself.
    notes
        Remarks on how the cohort was made that a reader should know.
    further
        Where several decisions were taken, the others as columns decision_2, decision_3, ...
    extras
        Further columns of the table: `diagnosis` (text), `patient` where patients come several
        times, `sampling_weight` where rows are a sample. Estimators of the study do not see them;
        `measure` does, with the table of :meth:`to_polars`.

    Examples
    --------
    >>> cohort = Cohort(
    ...     covariates=pl.DataFrame({"age": [50.0, 61.0, 47.0]}),
    ...     decision=[1, 0, 1],
    ...     physician=["Ada", "Ada", "Ben"],
    ... )
    >>> cohort
    cohort: 3 patients of 2 physicians (1 to 2 each)
    1 covariate: age
    decision: 66.7 % decided for
    truth: not known
    >>> X, y, physician = cohort.observed()
    """

    truth: Truth | None
    name: str
    notes: tuple[str, ...]
    _table: pl.DataFrame

    def __init__(
        self,
        covariates: pl.DataFrame,
        decision: npt.ArrayLike,
        physician: Sequence[Any] | pl.Series,
        truth: Truth | None = None,
        name: str = "cohort",
        notes: Sequence[str] = (),
        further: pl.DataFrame | None = None,
        extras: pl.DataFrame | None = None,
    ) -> None:
        for each, dtype in covariates.schema.items():
            if each in _RESERVED:
                raise InputError(
                    f"'{each}' cannot be a covariate: the name is kept for the physician, the "
                    "decision or the truth; rename the column"
                )
            if not (dtype.is_numeric() or dtype == pl.Boolean):
                raise InputError(f"covariate '{each}' is {dtype}, not a number; encode or drop it")
        decided = {DECISION: checked_decision(decision)}
        labels = checked_physician(physician)
        n, lengths = covariates.height, {"decision has": len(decided[DECISION])}
        lengths |= {"physician has": len(labels), "truth has": len(truth.eligible) if truth else n}
        if further is not None and further.width:
            lengths["further decisions have"] = further.height
            if further.columns != list(FURTHER[: further.width]):
                raise InputError(
                    f"further decisions are called {', '.join(further.columns)}; call them "
                    f"{FURTHER[0]}, {FURTHER[1]} and so on, at most {len(FURTHER)}"
                )
            decided |= {each.name: checked_decision(each) for each in further}
        if extras is not None and extras.width:
            lengths["extras have"] = extras.height
            if unknown := sorted(set(extras.columns) - set(EXTRAS)):
                raise InputError(
                    f"extras have a column '{unknown[0]}'; extras are called {', '.join(EXTRAS)}"
                )
        for what in (what for what, length in lengths.items() if length != n):
            raise InputError(
                f"{what} {lengths[what]:,} entries for {n:,} patients; give one per patient"
            )
        table = covariates.with_columns(labels.alias(PHYSICIAN), **pl.DataFrame(decided).to_dict())
        if extras is not None:
            table = table.with_columns(extras)
        vars(self).update(_table=table, truth=truth, name=name, notes=tuple(notes))

    @property
    def covariates(self) -> pl.DataFrame:
        """One row per patient, one column per covariate."""
        return self._table.drop(PHYSICIAN, self.decisions.columns, self.extras.columns)

    @property
    def extras(self) -> pl.DataFrame:
        """Columns beside covariates, decisions and physician: patient, sampling weight, text."""
        return self._table.select(name for name in EXTRAS if name in self._table.columns)

    @property
    def decision(self) -> npt.NDArray[np.int8]:
        """1 where the patient got the drug, 0 otherwise; read-only."""
        decision = self._table[DECISION].to_numpy().copy()
        decision.setflags(write=False)
        return decision

    @property
    def decisions(self) -> pl.DataFrame:
        """All decisions, one column each; the first is `decision`."""
        return self._table.select(n for n in (DECISION, *FURTHER) if n in self._table.columns)

    @property
    def physician(self) -> pl.Series:
        """The physician of every patient (categorical)."""
        return self._table[PHYSICIAN].clone()

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """Names of the covariates, in order."""
        return tuple(self.covariates.columns)

    @property
    def n_patients(self) -> int:
        """Number of patients."""
        return self._table.height

    @property
    def panel_sizes(self) -> pl.DataFrame:
        """Patients per physician, by the physician's name."""
        counts = self._table[PHYSICIAN].cast(pl.String).value_counts(name="n_patients")
        return counts.sort(PHYSICIAN)

    @property
    def n_physicians(self) -> int:
        """Number of physicians."""
        return self._table[PHYSICIAN].n_unique()

    def observed(self) -> tuple[pl.DataFrame, npt.NDArray[np.int8], pl.Series]:
        """Return (X, y, physician): all that an estimator may see, and nothing else."""
        return self.covariates, self.decision, self.physician.cast(pl.String)

    def take(self, rows: npt.ArrayLike) -> Cohort:
        """Return the cohort of some of the patients, in the order given; rows may repeat."""
        index = np.asarray(rows, dtype=np.int64)
        taken = copy(self)
        truth = None if self.truth is None else self.truth.take(index)
        vars(taken).update(_table=self._table[index], truth=truth)
        return taken

    def __repr__(self) -> str:
        if not self.n_patients:
            return f"{self.name}: no patients"
        names, sizes = self.covariate_names, self.panel_sizes["n_patients"].to_list()
        truth = "not known"
        if self.truth is not None:
            rule = f"; {self.truth.rule.describe()}" if self.truth.rule is not None else ""
            truth = f"{100 * self.truth.share_eligible:.1f} % eligible{rule}"
        lines = [
            f"{self.name}: {self.n_patients:,} patients of {self.n_physicians:,} physicians "
            f"({min(sizes):,} to {max(sizes):,} each)",
            f"{len(names)} covariate{'s' * (len(names) != 1)}: {', '.join(names)}",
            *(f"{d.name}: {100 * d.to_numpy().mean():.1f} % decided for" for d in self.decisions),
            f"truth: {truth}",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def to_polars(self, *, truth: bool = False) -> pl.DataFrame:
        """Return one table: covariates, physician, decision and, if asked for, the truth.

        The truth is that of the first decision; that of several together stays with the cohort.
        """
        columns = [self._table[PHYSICIAN].cast(pl.String)]
        if truth:
            if self.truth is None:
                raise InputError("this cohort has no truth to write; it was not simulated")
            columns += [pl.Series(name, getattr(self.truth, name)) for name in TRUTH_COLUMNS]
            columns[-1] = columns[-1].set(columns[-1] == 0, None)  # nobody is in group 0
        return self._table.with_columns(columns)

    def to_pandas(self, *, truth: bool = False) -> pd.DataFrame:
        """Return the table of :meth:`to_polars` as a pandas frame."""
        return self.to_polars(truth=truth).to_pandas()

    def write(self, path: str | os.PathLike[str], *, truth: bool = False) -> None:
        """Write the table of :meth:`to_polars` to a `.parquet` or `.csv` file, or nothing."""
        kind = _known_format(path)
        table = self.to_polars(truth=truth)
        with whole_file(path) as beside:
            getattr(table, f"write_{kind}")(beside)

    @classmethod
    def from_polars(cls, table: pl.DataFrame, *, name: str = "cohort") -> Cohort:
        """Make a cohort of a table with `physician`, `decision` and covariates.

        Columns that carry a truth (`eligible`, `p_high`, `p_low`, `group`) become the truth when
        all are there and are an error when only some are: they are never taken for covariates.
        """
        for column in (PHYSICIAN, DECISION):
            if column not in table.columns:
                raise InputError(f"column '{column}' is missing; the table has {table.columns}")
        present = [column for column in TRUTH_COLUMNS if column in table.columns]
        needed = [column for column in TRUTH_COLUMNS if column != "d_star"]
        if present and not set(needed) <= set(present):
            absent = sorted(set(needed) - set(present))
            raise InputError(
                f"the table has part of a truth ({', '.join(present)}) but not "
                f"{', '.join(absent)}; drop the former or add the latter"
            )
        known: dict[str, Any] = {}
        for column in needed if present else ():
            dtype = {"eligible": pl.Boolean, "group": pl.Int16}.get(column, pl.Float64)
            values = table[column]
            try:
                values = values.cast(dtype)
            except pl.exceptions.PolarsError as error:
                raise InputError(f"column '{column}' is {values.dtype}, not {dtype}") from error
            if column == "group":  # a physician without a group has none in the table
                values = values.fill_null(0)
            for row in values.is_null().arg_true():
                raise InputError(
                    f"column '{column}' is missing in row {row}; a truth is known throughout"
                )
            known[column] = values.to_numpy()
        further = table.select(each for each in FURTHER if each in table.columns)
        extras = table.select(each for each in EXTRAS if each in table.columns)
        roles = (PHYSICIAN, DECISION, *further.columns, *extras.columns)
        return cls(
            covariates=table.drop(roles, present),
            decision=table[DECISION],
            physician=table[PHYSICIAN],
            truth=Truth(**known) if present else None,
            name=name,
            further=further,
            extras=extras,
        )

    @classmethod
    def from_pandas(cls, table: pd.DataFrame, *, name: str = "cohort") -> Cohort:
        """Make a cohort of a pandas frame; see :meth:`from_polars`."""
        return cls.from_polars(pl.from_pandas(table), name=name)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Cohort:
        """Read what :meth:`write` wrote."""
        kind, file = _known_format(path), Path(path)
        if not file.is_file():
            raise InputError(f"file '{file}' does not exist")
        try:
            table = getattr(pl, f"read_{kind}")(file, **_FORMATS[kind])
        except (pl.exceptions.PolarsError, OSError) as error:
            first = str(error).splitlines()[0]
            raise InputError(f"'{file}' is not a readable {kind} table: {first}") from error
        return cls.from_polars(table, name=file.stem)


def _known_format(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix[1:] not in _FORMATS:
        raise InputError(
            f"unknown format '{suffix or Path(path).name}'; end the name in .parquet or .csv"
        )
    return suffix[1:]
