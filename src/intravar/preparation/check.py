"""The check before a measurement: what the table holds, what would be done to it, what it costs."""

import atexit
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.errors import InputError, counted_among, errors_in, option
from intravar.estimators import DESCRIBED, METHODS, default_method
from intravar.estimators.base import CommonEstimator, Estimator, Size, Work
from intravar.estimators.predictability import Predictability, n_deals
from intravar.observed import Observed
from intravar.prediction.tasks import MOST_COMMON
from intravar.preparation import sample
from intravar.preparation.coding import read_period, strata_of
from intravar.preparation.decisions import Panels
from intravar.preparation.duplicates import COPIES, ask_about_identifiers, patient_columns
from intravar.preparation.kinds import assign_roles, missing_column, understand_as
from intravar.preparation.prepare import Prepared, Recipe, identifiers, prepare
from intravar.preparation.refusals import (
    ask_about_deciders,
    check_request,
    refuse_unmeasurable,
)
from intravar.preparation.selection import ask_about_sampling, ask_about_weights
from intravar.request import Request, SharedLabel, requested, shown_fields
from intravar.sources.paths import regular_file
from intravar.sources.plain import far_columns, plain_table
from intravar.sources.reading import ROW, Scanned, advised, population_of, read_whole, scan_source
from intravar.wording import Words

#: Share of different rows up to which physicians may have decided about the same cases.
SAME_CASES = 0.5
#: The constants are seconds of two idle processors of a server; `python -m benchmarks forecast` and
#: `nation` set what measurements took beside their forecasts.
#:
#: Seconds to deal a patient into a bucket, and to prepare one there, with each of their values.
SCATTER_EACH = 2e-6
READ_EACH, READ_EACH_VALUE = 1.5e-5, 1e-6
#: Patients whose halves are measured at the most, and below which that is done three times.
MOST_HALVED, FEW_PATIENTS = 60_000, 4_000
#: What half of the patients teach takes so much of what all of them take.
HALVES_MORE = 0.4
#: Seconds in which libraries are loaded, and how many more if their modules are not kept compiled.
START, UNKEPT = 2.4, 3.5
#: Memory of the interpreter and its libraries, of a process that reads, and of its values, in MB.
BASE_MB = 420.0
READER_MB, READER_VALUE_MB = 350.0, 0.5
#: Seconds of :func:`pace`'s task on an idle server, in one thread.
USUAL_PACE = 0.0138


@cache
def pace() -> float:
    """Return how many times as long this machine takes, now, as the one that was measured on.

    Two thirds of a second: sorting, small products and plain Python, as a measurement has them.
    In a shorter time a burst of other work would be taken for the pace of the machine.
    """
    random = np.random.default_rng(0)
    values, small = random.random(100_000), random.random((60, 40, 40))
    taken = []
    for _ in range(45):
        begun = time.perf_counter()
        np.sort(values)
        np.linalg.inv(small + np.eye(40))
        sum(number * number for number in range(150_000))
        np.exp(-values).sum()
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken)) / USUAL_PACE


def loading() -> float:
    """Return by how many seconds libraries are loaded more slowly here than usual."""
    # Where PYTHONDONTWRITEBYTECODE is set, every command compiles them anew.
    return 0.0 if Path(cache_from_source(np.__file__)).exists() else UNKEPT


@dataclass(frozen=True)
class Cost:
    """What a measurement takes."""

    seconds: float
    memory_mb: float

    def here(self) -> "Cost":
        """Return what it takes on this machine, as it is now."""
        return replace(self, seconds=(self.seconds + loading()) * pace())

    def in_words(self) -> str:
        """Say it in a line.

        Examples
        --------
        >>> Cost(130, 2300).in_words()
        'about 2 min and 2.3 GB'
        """
        if self.seconds < 90:
            time = f"{max(1, round(self.seconds))} s"
        elif self.seconds < 5400:
            time = f"{self.seconds / 60:.0f} min"
        else:
            time = f"{self.seconds / 3600:.1f} h"
        memory = f"{self.memory_mb / 1000:.1f} GB"
        return f"about {time} and {memory}"


@dataclass(frozen=True, eq=False)
class Beyond:
    """Everybody in a large table, the decision, who is learned from, and rows dropped there.

    `codes` are the physicians who are learned from, rising; of each at `most` so many patients.
    """

    census: sample.Census
    counts: sample.Counts
    codes: IntArray
    most: int
    dropped: Mapping[str, int]

    @property
    def whole(self) -> BoolArray:
        """Whether all patients of those who are learned from are in the sample."""
        return np.asarray(self.census.n_patients[self.codes] <= self.most)

    @property
    def unread(self) -> IntArray:
        """Who is not in the sample with all patients."""
        return np.setdiff1d(np.arange(len(self.census.named)), self.codes[self.whole])

    def n_read(self, n_columns: int) -> int:
        """Return how many patients are read: of huge panels a part."""
        return int(np.minimum(self.counts.n_patients, sample.most_read(n_columns)).sum())


@dataclass(frozen=True, eq=False)
class Check:
    """What a check found; in memory nothing is hidden.

    `prepared` is the table as the estimators would get it. Where patients are many it holds some
    of them, and `beyond` knows everybody. `notes` tell what was found out while reading, `cost`
    the time and memory that the method would take. `questions` are about how rows were selected.
    """

    request: Request
    source: str
    notes: tuple[str, ...]
    prepared: Prepared
    panels: Panels
    method: str
    cost: Cost
    beyond: Beyond | None = None
    questions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        words, covariates = self.request.words, self.prepared.covariates
        lines = [
            f"{self.source}: {self.panels.n_patients:,} {words.cases} of "
            f"{words.counted(self.panels.table.height)}, {self.panels.n_measurable:,} of which can "
            "have a figure",
            f"{len(covariates)} covariates: {', '.join(words.label(name) for name in covariates)}",
            f"measuring with {self.method} will take {self.cost.here().in_words()}",
            *(f"possible leak: {line}" for line in self.leak_lines()),
            *self.same_lines(),
            *self.questions,
        ]
        return "\n".join(lines)

    def leak_lines(self) -> list[str]:
        """Name the columns that may give the decision away, the certain ones first."""
        return [f"{leak.column}: {leak.why}" for leak in self.prepared.leaks]

    def same_lines(self) -> list[str]:
        """Name the sets of covariates that say the same."""
        return [
            f"{', '.join(names)} say the same; is one of them enough?"
            for names in self.prepared.same
        ]


def check(
    source: Any,
    request: Request | None = None,
    *,
    physician: str | None = None,
    decision: str | Sequence[str] | None = None,
    covariates: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    decision_positive: str | None = None,
    where: str | None = None,
    by: str | None = None,
    method: str | None = None,
    **others: Any,
) -> Check:
    """Look at a table of patients without measuring anything.

    Parameters
    ----------
    source
        A path, a URL of a database or a frame, see :func:`intravar.sources.read_source`; or the
        TOML file of a request.
    request
        What to look at, and how.
    physician, decision, covariates, exclude, decision_positive, where, by, method
        Fields of a :class:`intravar.Request`, on their own or in place of the request's; None
        stands for what the request says, or for the default.
    **others
        Any other field of a request.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=1000, n_physicians=10)
    >>> result = check(cohort.to_polars(), physician="physician", decision="decision")
    >>> result.panels.n_measurable
    10
    """
    return checked(*requested(source, request, shown_fields(locals()) | others))


def checked(source: Any, request: Request, spool: Callable[[], Path] | None = None) -> Check:
    """Look at a table of patients as a request of one decision says; see :func:`checked_each`."""
    (only,) = checked_each(source, request, spool).values()
    return only


def checked_each(
    source: Any,
    request: Request,
    spool: Callable[[], Path] | None = None,
    *,
    whole: bool = False,
) -> dict[str, Check]:
    """Look at a table of patients as a request says; return what was found of every decision.

    The table is read once, and one sample is drawn of it. No decision is a covariate of another.
    `spool` gives a folder for what a database hands over, if it is too much to hold; by default one
    that is removed when the program ends. With `whole` all patients are held, however many they
    are.
    """
    method = request.method or default_method()
    with errors_in(request.words):
        check_request(request)  # before a long file is read
        if request.period is not None:
            read_period(request.period)
        for name in ("by", "date"):
            if getattr(request, name) is not None and not DESCRIBED[method].predicts:
                able = [each for each, estimator in METHODS.items() if estimator.predicts]
                raise InputError(
                    f"{option(name)} compares by predictions of every decision, and method "
                    f"'{method}' makes none; choose {' or '.join(able)}, "
                    f"or leave {option(name)} out"
                )
        if request.weight is not None:
            _refuse_without_weights((method, *request.methods))
        # In parts only if all methods can score physicians by what was learned from others.
        methods = [METHODS.get(each) for each in (method, *request.methods)]
        file = regular_file(source, spool or folder_for_now)
        in_parts = not whole and request.case is None
        in_parts = in_parts and all(each and issubclass(each, CommonEstimator) for each in methods)
        if in_parts:
            large = scan_source(
                file, spool or folder_for_now, least=request.sample, **request.reading
            )
            if large is not None:
                large = large.named_after(source)
                # Whoever reads it as a whole says which line or value does not fit.
                with suppress(pl.exceptions.PolarsError):
                    checks = _look(large, request, method, request.sample)
                    refuse_unmeasurable(checks)
                    return checks
        stored = read_whole(file, **request.reading).named_after(source)
        checks = _look(stored, request, method, request.sample if in_parts else stored.n_rows)
        refuse_unmeasurable(checks)
        return checks


def _refuse_without_weights(methods: Sequence[str]) -> None:
    """Refuse methods that cannot use sampling weights."""
    for name in methods:
        known = METHODS.get(name)
        if known is None or not known.uses_weights:
            raise InputError(
                f"method '{name}' cannot use sampling weights; use method '{default_method()}' "
                f"alone, or leave {option('weight')} out"
            )


def _look(scanned: Scanned, request: Request, method: str, most: int) -> dict[str, Check]:
    """Look at everybody's numbers, and at the columns of all patients or, of many, of a sample."""
    stored = [name for name in scanned.lazy.collect_schema().names() if name != ROW]
    for column, label in request.labels:
        if column not in stored and not isinstance(label, SharedLabel):
            raise missing_column(column, stored)
    labels = tuple(each for each in request.labels if each[0] in stored)
    asked = replace(request, labels=labels).of_each()
    with advised(scanned.advice):
        roles = [
            _with_repeated_rows(assign_roles(stored, alone), stored, method)
            for alone in asked.values()
        ]
    first, decisions = roles[0], [each.decision for each in roles]
    as_text = (first.physician, *decisions, *first.categorical)
    named = identifiers(stored, first)
    rows, forms = population_of(scanned, request.where, as_text, identifiers=named)
    census = sample.take_census(
        rows, scanned.n_rows, first.physician, decisions, request.decision_positive
    )
    if census.n_patients.sum() > most:
        most = sample.sample_of(most, len(stored))
    drawn = sample.draw(census, most, request.random_state)
    table = sample.sampled_rows(census, *drawn, request.random_state).collect(engine="streaming")
    is_sample = len(drawn[0]) < len(census.named) or (census.n_patients > drawn[1]).any()

    def values(name: str) -> pl.Series:
        """Return the different values of a column in all rows."""
        different = census.rows.select(name).unique().collect(engine="streaming")
        return plain_table(different, first.categorical, forms=forms)[0][name]

    strata = strata_of(values, first) if is_sample else None
    checks = {}
    for (name, alone), own, counts in zip(asked.items(), roles, census.counts, strict=True):
        chosen = alone.covariates is not None
        prepared, notes = prepare(census, counts, table, own, forms, strata, chosen=chosen)
        observed = replace(prepared.observed, as_pandas=scanned.as_pandas)
        prepared = replace(prepared, observed=observed)
        panels, beyond, n_read = (observed.named, *observed.counts), None, 0
        if is_sample:
            prepared, beyond = _with_all(prepared, census, counts, drawn)
            panels = (census.named, counts.n_patients, counts.n_for)
            n_read = beyond.n_read(observed.covariates.shape[1])
            notes += _notes_on_sample(beyond, observed, alone.words)
        cost = estimate_cost(Size.of(observed), METHODS.get(method), n_read, prepared.periods)
        notes, measured = [*scanned.notes, *notes], Panels.of(*panels, alone.min_panel)
        questions = ask_about_deciders(measured.table["physician"], alone)
        questions += ask_about_weights(prepared.covariates, alone)
        questions += ask_about_identifiers(prepared.recipe.unidentified)
        questions += ask_about_sampling(
            counts.n_patients, counts.n_for, alone, same_cases=_same_cases(prepared)
        )
        checks[name] = Check(
            alone,
            scanned.name,
            tuple(notes),
            prepared,
            measured,
            method,
            cost,
            beyond,
            questions=tuple(questions),
        )
    return checks


def _with_repeated_rows(roles: Request, columns: Sequence[str], method: str) -> Request:
    """Return the request with a policy for repeated rows.

    By default all visits of identified patients are used, unless a method would compare a patient
    with themselves; copies of rows, and cases that were seen again, count once.
    """
    methods = [METHODS.get(name) for name in (method, *roles.methods)]
    able = all(each is not None and each.uses_patients for each in methods)
    if roles.repeated is not None:
        if roles.repeated == "all" and roles.patient and not roles.case and not able:
            unable = next(
                name
                for name, each in zip((method, *roles.methods), methods, strict=True)
                if each is None or not each.uses_patients
            )
            raise InputError(
                f"method '{unable}' would compare several visits of one patient with each other; "
                f"use {option('repeated', 'once')}, or method '{default_method()}' alone"
            )
        return roles
    visits = able and roles.case is None and bool(patient_columns(columns, roles))
    return replace(roles, repeated="all" if visits else "once")


def _same_cases(prepared: Prepared) -> bool:
    """Return whether physicians seem to have decided about the same cases."""
    if prepared.cases is not None:
        return True
    return prepared.raw.n_unique() <= SAME_CASES * prepared.raw.height


def _with_all(
    prepared: Prepared, census: sample.Census, counts: sample.Counts, drawn: tuple[IntArray, int]
) -> tuple[Prepared, Beyond]:
    """Return a sample with the rows that are dropped in the whole table; and everybody.

    Copies are counted in all rows, others are as many as in the sample.
    """
    recipe, known = prepared.recipe, census.known(counts)
    _refuse_odd_values(known, recipe)
    dropped = {why: count for why, count in prepared.dropped.items() if why not in counts.dropped}
    n_sampled, n_rows = len(prepared.rows) + sum(dropped.values()), int(counts.n_patients.sum())
    of_all = {why: round(count * n_rows / n_sampled) for why, count in dropped.items()}
    if recipe.copies is not None:
        of_all[COPIES] = recipe.copies.count(known, n_rows, [sample.CODE, counts.column])
    beyond = Beyond(census, counts, *drawn, dropped)
    return replace(prepared, dropped=counts.dropped | of_all), beyond


def _notes_on_sample(beyond: Beyond, observed: Observed, words: Words) -> list[str]:
    """Say how large the sample is, and of whom not all patients are read."""
    of_one = sample.most_read(observed.covariates.shape[1])
    notes = [
        f"a sample of {observed.n_patients:,} {words.cases} of "
        f"{words.counted(len(observed.physicians))}; columns, and what {words.deciders} have in "
        "common, are learned from it"
    ]
    if n_huge := int((beyond.counts.n_patients > of_one).sum()):
        notes.append(
            f"about {of_one:,} {words.cases}, drawn by lot, of every {words.decider} with more "
            f"({n_huge:,} of {len(beyond.census.named):,})"
        )
    return notes


def _refuse_odd_values(rows: pl.LazyFrame, recipe: Recipe) -> None:
    """Refuse a text among numbers, or an odd date, that only rows beyond the sample hold."""
    odd = {
        name for name, form in recipe.forms.items() if form.kind == "words" or form.refused == "far"
    }
    dates = (each.name for each in recipe.codings if each.kind == "date")
    odd |= set(far_columns(rows.select(dates)))
    for each in recipe.codings:
        if each.kind != "category" and each.name in odd:
            column = rows.select(ROW, each.name).collect(engine="streaming").sort(ROW)
            with counted_among(column[ROW].to_numpy().astype(np.int64)):
                understand_as(column[each.name], each.kind)


@cache
def folder_for_now() -> Path:
    """Return a folder that lives as long as the program."""
    folder = TemporaryDirectory(prefix="intravar-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def estimate_cost(
    size: Size, method: type[Estimator] | None, n_patients: int = 0, periods: Sequence[int] = ()
) -> Cost:
    """Estimate time and memory of a measurement with one method; None stands for mere counting.

    Of a large table `size` is that of the sample, and all `n_patients` are read by what it taught.
    If periods are compared, given by their patients in the sample, the noise of each is decomposed.
    """
    n, p = size.n_patients, size.n_covariates
    own = time_of_fit(size, method)
    if method is Predictability:
        # Halves are read by what the whole taught, and serve noise as well.
        more = HALVES_MORE * own
    else:
        halves = 2 * time_of_fit(_of(size, min(n, MOST_HALVED) // 2), method)
        some = _of(size, min(n, MOST_COMMON)) if n_patients else size
        more = (3 if n <= FEW_PATIENTS else 1) * halves + _time_of_noise(some)
    # Loading, the rule, diagnostics, reasons not recorded and writing.
    seconds = own + more + float(START + 1.2 + 4e-5 * min(n, 30_000) * np.sqrt(p))
    if periods:
        seconds += sum(_time_of_noise(_of(size, count)) for count in periods)
    fixed, each = memory_of_learning(size, [] if method is None else [method])
    memory_mb = (fixed + each * n) / 1e6
    if n_patients and method is not None:
        seconds += time_of_others(size, n_patients, method)
        memory_mb += (os.cpu_count() or 1) * (READER_MB + READER_VALUE_MB * p)
    return Cost(float(seconds), memory_mb)


def time_of_others(size: Size, n_patients: int, method: type[Estimator]) -> float:
    """Return the seconds that reading everybody beyond the sample takes."""
    beyond = max(n_patients - size.n_patients, 0)
    each = method.work(size).other + READ_EACH + READ_EACH_VALUE * size.n_covariates
    return float(SCATTER_EACH * n_patients + beyond * each / (os.cpu_count() or 1))


def time_of_fit(size: Size, method: type[Estimator] | None) -> float:
    """Return the seconds that one fit takes; None stands for mere counting."""
    work = Work(0.0) if method is None else method.work(size)
    return work.alone + work.shared / min(2, os.cpu_count() or 1)


def _time_of_noise(size: Size) -> float:
    """Return the seconds in which noise is taken apart: one deal of predictions, one thread."""
    work = Predictability.work(size)
    return (1 + HALVES_MORE) * (work.alone + work.shared) / n_deals(size.n_patients)


def _of(size: Size, n_patients: int) -> Size:
    """Return the size of a part of the patients."""
    share = n_patients / max(size.n_patients, 1)
    return Size(n_patients, size.n_covariates, size.panels * share)


def memory_of_learning(size: Size, methods: Sequence[type[Estimator]]) -> tuple[float, float]:
    """Return the bytes that methods take to learn one after the other, and those per patient."""
    works = [method.work(size) for method in methods] or [Work(0.0)]
    # Distances within a panel, where patients are paired.
    paired = not methods or not all(issubclass(method, CommonEstimator) for method in methods)
    panel = 3 * 8 * min(float(size.panels.max()) ** 2, 2.5e7) if paired else 0.0
    each = max(_held(size, work) for work in works)
    # Noise is taken apart by predictions, of some patients where they are many.
    some = min(1.0, MOST_COMMON / max(size.n_patients, 1))
    return 1e6 * BASE_MB + panel, max(each, some * _held(size, Predictability.work(size)))


def _held(size: Size, work: Work) -> float:
    """Return the bytes that are held for a patient."""
    return 8 * work.copies * (size.n_covariates + 4) + work.held
