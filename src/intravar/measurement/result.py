"""A measurement: what was asked, found and learned, as data and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.estimators.noise import Noise
from intravar.inference.group import Group
from intravar.measurement.columns import decider_table
from intravar.measurement.diagnostics import Diagnostics
from intravar.measurement.halves import Halves
from intravar.measurement.rule import Location, SuggestedRule
from intravar.measurement.scores import Fitted, claim_of, in_words
from intravar.measurement.unrecorded import Unrecorded
from intravar.measurement.verdict import NOTHING, UNRANKED, Verdict, compared_in
from intravar.observed import as_they_came, handed_back
from intravar.preparation.check import Check
from intravar.request import Request

if TYPE_CHECKING:
    from intravar.estimators.several import Several
    from intravar.measurement.wider.several import Together
    from intravar.measurement.wider.strata import Course, Strata

#: Physicians that are named when a measurement prints itself.
MOST_PRINTED = 20


@dataclass(frozen=True, eq=False)
class OneDecision:
    """One decision of a measurement, as far as that has come.

    It begins with what was learned: `fitted` methods by name, the one that measures first; the
    `rule`; cases seen twice in `repeats`; the method `predicting` every patient where something
    rests on that. With everybody, scores and counts are those of all; `patients` has their
    predictions (see :func:`intravar.runs.buckets.patient_table`); their numbers mean `physicians`.
    Of physicians beyond the sample there are `beyond_cases`.
    """

    check: Check
    fitted: dict[str, Fitted]
    rule: SuggestedRule | None = None
    repeats: Fitted | None = None
    warnings: tuple[str, ...] = ()
    predicting: Fitted | None = None
    patients: pl.DataFrame | None = None
    physicians: pl.Series | None = None
    beyond_cases: Mapping[str, pl.DataFrame] | None = None


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured; in memory nothing is hidden, names are real.

    Attributes
    ----------
    request
        What was asked for.
    check
        What the check of the table found.
    table
        One row per physician, with the columns of `intravar.measurement.columns`.
    fitted
        The methods by name, the one behind `table` first.
    pairs
        Pairs of comparable patients: positions of the panel and of both patients among
        `check.prepared`, distance, discordant.
    cases
        Decisions that show the scores at work, see :mod:`intravar.measurement.cases`.
    rule
        The rule that the data suggest.
    diagnostics
        Tables that tell whether to believe it.
    components
        Why two of these physicians decide differently for one patient; None with fewer than two.
    group
        What can be said of all together; None where nobody has a score.
    repeats
        Self-contradiction as a method of its own, where cases were seen twice.
    halves
        What two halves of the patients say; None where panels are too small.
    unrecorded
        How far a reason could go that is not recorded; None where cases were seen twice, which
        measures it, and for methods without predictions.
    location
        Where the discordance lies; None for methods without predictions.
    judged
        What the data support, and why.
    levels
        The levels of a column compared, where asked for.
    periods
        Periods compared, where there is a date.
    beyond_cases
        Of physicians beyond the sample: `cases`, `pairs` that may be reviewed, and the `patients`
        in either; None where all were learned from.
    warnings
        What went less than well.
    seconds
        What the steps took.
    together
        All decisions, where several were asked for; the rest is of the first of them.

    Notes
    -----
    `physicians`, `noise`, `by`, `course` and `joint` hand out what is kept here as frames of pandas
    if one was measured, else of polars.
    """

    request: Request
    check: Check
    table: pl.DataFrame
    fitted: Mapping[str, Fitted]
    pairs: pl.DataFrame
    cases: pl.DataFrame
    rule: SuggestedRule
    diagnostics: Diagnostics
    components: Noise | None
    group: Group | None
    repeats: Fitted | None
    halves: Halves | None
    unrecorded: Unrecorded | None
    location: Location | None
    judged: Verdict
    levels: Strata | None
    periods: Course | None
    beyond_cases: Mapping[str, pl.DataFrame] | None
    warnings: tuple[str, ...]
    seconds: dict[str, float]
    together: Together | None = None

    @property
    def decisions(self) -> Mapping[str, Measurement]:
        """The measurement of every decision by its column; usually one."""
        if self.together is not None:
            return self.together.decisions
        return {self.check.prepared.decision[0]: self}

    @property
    def method(self) -> str:
        """The method behind `table`."""
        return next(iter(self.fitted))

    @property
    def main(self) -> Fitted:
        """The fitted method behind `table`."""
        return self.fitted[self.method]

    def among_learned(self, positions: IntArray) -> IntArray:
        """Return positions of some physicians of all among those whom everything was learned from.

        Physicians beyond the sample have none.
        """
        if self.check.beyond is None:
            return positions
        wanted = set(self.main.scores.physician[positions].cast(pl.String).to_list())
        learned = self.check.prepared.observed.physicians
        return np.flatnonzero([str(name) in wanted for name in learned])

    @property
    def verdict(self) -> str:
        """What the data support, in two or three words."""
        return self.judged.level

    @property
    def compared(self) -> str:
        """What a score compares, to stand behind "of 100"."""
        return compared_in(self.main.evidence, self.judged)

    @property
    def physicians(self) -> Any:
        """The table as a frame of pandas if one was measured, else of polars."""
        return handed_back(self.table, as_pandas=self.as_pandas)

    @property
    def noise(self) -> Noise | None:
        """Why two of these physicians decide differently for one patient."""
        return as_they_came(self.components, as_pandas=self.as_pandas)

    @property
    def by(self) -> Strata | None:
        """The levels of a column compared."""
        return as_they_came(self.levels, as_pandas=self.as_pandas)

    @property
    def course(self) -> Course | None:
        """Periods compared."""
        return as_they_came(self.periods, as_pandas=self.as_pandas)

    @property
    def joint(self) -> Several | None:
        """What several decisions say together; None where one was measured."""
        joint = None if self.together is None else self.together.joint
        return as_they_came(joint, as_pandas=self.as_pandas)

    @property
    def as_pandas(self) -> bool:
        """Whether a frame of pandas was measured."""
        return self.check.prepared.observed.as_pandas

    def __repr__(self) -> str:
        if self.together is not None:
            each = [f"{name}\n{one!r}" for name, one in self.decisions.items()]
            unread = any(one.verdict == NOTHING for one in self.decisions.values())
            return "\n\n".join([*([] if unread else [self.together.joint.describe()]), *each])
        lines = [self._headline()]
        shown = self.table.clear() if self.verdict == NOTHING else self.table
        first = shown.head(MOST_PRINTED).iter_rows(named=True)
        claim, words = claim_of(self.main.evidence), self.request.words
        lines += [
            f"{row['physician']}: {in_words(row, claim, words, self.compared)}" for row in first
        ]
        if shown.height > MOST_PRINTED:
            lines.append(f"... and {shown.height - MOST_PRINTED} more")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def _headline(self) -> str:
        reportable = 0 if self.verdict == NOTHING else int(self.table["reportable"].sum())
        counted = f"{reportable} of {self.table.height} {self.request.words.deciders} reportable"
        return f"{self.judged}\n{self.method}: {counted}"

    def _repr_html_(self) -> str:
        """Show the measurement as a table in a notebook."""
        table = decider_table(
            self.table,
            self.request.words,
            ranked=self.verdict not in UNRANKED,
            readable=self.verdict != NOTHING,
            claim=claim_of(self.main.evidence),
        ).on("page")
        heads = "".join(
            f'<th title="{escape(c.meaning)}">{escape(c.heading)}</th>' for c in table.columns
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell.text)}</td>" for cell in row.cells) + "</tr>"
            for row in table.rows[:MOST_PRINTED]
        )
        more = self.table.height - MOST_PRINTED
        notes = [f"and {more:,} more"] * (more > 0) + [f"warning: {each}" for each in self.warnings]
        return (
            f"<p>{escape(self._headline())}</p><table><thead><tr>{heads}</tr></thead>"
            f"<tbody>{rows}</tbody></table>{''.join(f'<p>{escape(note)}</p>' for note in notes)}"
        )
