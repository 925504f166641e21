"""The check before a measurement: what the table holds, what would be done to it, what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from intravar.estimators import METHODS, default_method, make_estimator
from intravar.estimators.repeats import Repeats
from intravar.estimators.work import Size
from intravar.preparation.cost import Cost, estimate_cost
from intravar.preparation.panels import Panels, panel_sizes
from intravar.preparation.periods import check_period
from intravar.preparation.prepare import Prepared, prepare
from intravar.preparation.roles import assign_roles, missing_column
from intravar.request import Request, resolved, takes_request
from intravar.sources import Source, read_source

#: Why a row is left out that the population does not hold.
OUTSIDE = "they do not belong to the population"


@dataclass(frozen=True, eq=False)
class Check:
    """What a check found; in memory nothing is hidden.

    Attributes
    ----------
    request
        What was asked for.
    source, notes
        What was read, and what was found out while reading.
    prepared
        The table as the estimators would get it.
    panels
        Panel sizes and who cannot be measured.
    method, cost
        The method that would measure; time and memory that it would take.
    """

    request: Request
    source: str
    notes: tuple[str, ...]
    prepared: Prepared
    panels: Panels
    method: str
    cost: Cost

    def __repr__(self) -> str:
        observed, words = self.prepared.observed, self.request.words
        covariates = self.prepared.covariates
        lines = [
            f"{self.source}: {observed.n_patients:,} {words.cases} of "
            f"{words.counted(len(observed.physicians))}, {self.panels.n_measurable:,} of whom can "
            "be measured",
            f"{len(covariates)} covariates: {', '.join(words.label(name) for name in covariates)}",
            f"measuring with {self.method} will take {self.cost.in_words()}",
            *(f"possible leak: {line}" for line in self.leak_lines()),
        ]
        return "\n".join(lines)

    def leak_lines(self) -> list[str]:
        """Name the columns that may give the decision away, the certain ones first."""
        ordered = sorted(self.prepared.leaks, key=lambda leak: not leak.certain)
        return [f"{leak.column}: {leak.why}" for leak in ordered]


@takes_request
def check(source: Any, request: Request | None = None, **options: Any) -> Check:
    """Look at a table of patients without measuring anything.

    Parameters
    ----------
    source
        A path, a URL of a database or a frame, see :func:`intravar.sources.read_source`; or the
        TOML file of a request.
    request
        What to look at, and how.
    **options
        The fields of a :class:`intravar.Request`, on their own or in place of the request's.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=1000, n_physicians=10)
    >>> found = check(cohort.to_polars(), physician="physician", decision="decision")
    >>> found.panels.n_measurable
    10
    """
    return checked(*resolved(source, request, options))


def checked(source: Any, request: Request) -> Check:
    """Look at a table of patients as a request says."""
    with request.words.in_errors():
        return _checked(source, request)


def _checked(source: Any, request: Request) -> Check:
    method = request.method or default_method()
    if method != Repeats.name:
        make_estimator(method)  # an unknown name is refused before a long file is read
    check_period(request.period)
    columns = (request.physician, request.decision, *request.categorical)
    read = (
        source
        if isinstance(source, Source)
        else read_source(source, as_text=columns, where=request.where, **request.reading)
    )
    for name, _ in request.labels:
        if name not in read.table.columns:
            raise missing_column(name, read.table.columns)
    prepared = prepare(
        read.table,
        assign_roles(
            read.table.columns,
            physician=request.physician,
            decision=request.decision,
            covariates=request.covariates,
            exclude=request.exclude,
            after=request.after,
            categorical=request.categorical,
            patient=request.patient,
            case=request.case,
            date=request.date,
            by=request.by,
        ),
        decision_positive=request.decision_positive,
        missing=request.missing,
        repeated=request.repeated,
        as_pandas=read.as_pandas,
        period=request.period,
    )
    if read.n_outside:
        prepared = _with_population(prepared, read)
    return Check(
        request,
        read.name,
        read.notes,
        prepared,
        panel_sizes(prepared.observed, request.min_panel),
        method,
        estimate_cost(Size.of(prepared.observed), METHODS.get(method)),
    )


def _with_population(prepared: Prepared, read: Source) -> Prepared:
    """Account for the rows that were left out before anything else was looked at."""
    return replace(
        prepared,
        rows=prepared.rows if read.rows is None else read.rows[prepared.rows],
        dropped={OUTSIDE: read.n_outside} | prepared.dropped,
    )
