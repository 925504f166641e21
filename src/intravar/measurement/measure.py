"""Measure the physicians of a table: check, fit, assess."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import joblib
import numpy as np
from sklearn.base import clone

from intravar.deprecation import renamed
from intravar.errors import InputError, option
from intravar.estimators import METHODS, Estimator, default_method, make_estimator
from intravar.estimators.base import Size
from intravar.estimators.noise import noise_of
from intravar.estimators.predictability import Predictability
from intravar.estimators.registry import introduce
from intravar.measurement.beyond import with_everybody
from intravar.measurement.cases.behind import cases_behind
from intravar.measurement.cases.pairs import pairs_behind
from intravar.measurement.diagnostics import diagnose
from intravar.measurement.grounds import appraise
from intravar.measurement.halves import some_panels
from intravar.measurement.result import Fitted, Measurement
from intravar.measurement.rule import located, location_of, suggest_rule
from intravar.measurement.scores import (
    REPEATS,
    result_table,
    scores_of,
    scores_of_repeats,
    seen_twice,
)
from intravar.measurement.several import measured_together
from intravar.measurement.strata import course_of, subgroups
from intravar.measurement.unrecorded import unrecorded_reasons
from intravar.measurement.verdict import NO_RULE, RULE_FOUND
from intravar.observed import Observed, natural_places
from intravar.preparation.check import Check, checked
from intravar.preparation.cost import time_of_fit, time_of_others
from intravar.request import Request, requested
from intravar.runs.buckets import limits_of
from intravar.runs.readings import with_n_apart
from intravar.runs.settings import RunSettings
from intravar.seeds import stream
from intravar.wording import Sentence, Words

#: Patients from which on a method is given all processors.
MANY_PATIENTS = 10_000
#: With fewer patients in every panel there is nothing to compare.
FEWEST_IN_A_PANEL = 5
#: Patients of a large sample whose noise is taken apart.
MOST_FOR_NOISE = 40_000


class Listener(Protocol):
    """Whoever wants to know how a measurement goes on."""

    def step(self, words: str, seconds: float | None = None) -> None:
        """Take note that a step begins, and how many seconds it may take if that is known."""

    def note(self, words: str) -> None:
        """Say something."""

    def part(self, done: int, total: int) -> None:
        """Take note how many parts of the step are done."""


class Nobody:
    """A listener who takes no note."""

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`Listener`."""

    def note(self, words: str) -> None:
        """See :class:`Listener`."""

    def part(self, done: int, total: int) -> None:
        """See :class:`Listener`."""


@renamed(means="settings", seed="random_state")
def measure(
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
    method: str | Estimator | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    settings: RunSettings | None = None,
    progress: Listener | None = None,
    **others: Any,
) -> Measurement:
    """Measure how consistently each physician decides.

    Parameters
    ----------
    source
        A path, a URL of a database or a frame, see :func:`intravar.sources.read_source`; or the
        TOML file of a request.
    request
        What to measure, and how.
    physician, covariates, exclude, decision_positive, where, by
        Fields of a :class:`intravar.Request`, on their own or in place of the request's; None
        stands for what the request says, or for the default.
    decision
        The same. Several decisions are measured each on its own and all together.
    method
        The same; an estimator with settings of its own, or of your own making, is taken as well.
    random_state
        The same: the seed of what a method draws.
    n_jobs
        Processes for a table larger than the sample; None and -1 stand for one per processor. The
        result does not depend on it.
    settings
        How a large table is gone through: engine, processes, memory, a folder from which a run that
        was ended goes on; see :class:`intravar.RunSettings`.
    progress
        Told how it goes on.
    **others
        Any other field of a request; `methods` takes estimators as well.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=600, n_physicians=8)
    >>> found = measure(cohort.to_polars(), physician="physician", decision="decision")
    >>> found.physicians.height
    8
    """
    fields = {
        "physician": physician,
        "decision": decision,
        "covariates": covariates,
        "exclude": exclude,
        "decision_positive": decision_positive,
        "where": where,
        "by": by,
        "method": method,
        "random_state": random_state,
    }
    named, own = _by_name(fields | others)
    place, asked = requested(source, request, named)
    tell, settings = progress or Nobody(), settings or RunSettings()
    if n_jobs is not None:
        settings = replace(settings, n_jobs=n_jobs)
    if len(asked.decisions) > 1:
        return measured_together(place, asked, tell, settings, partial(measured, own=own))
    return measured(place, asked, tell, settings, own=own)


def _by_name(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Estimator]]:
    """Return options in which methods are named, and the estimators that were given themselves."""
    named, own = dict(options), dict[str, Estimator]()
    for key in ("method", "methods"):
        given = named.get(key)
        listed = [given] if isinstance(given, str | Estimator) or given is None else list(given)
        for each in listed:
            if isinstance(each, Estimator):
                own[introduce(each)] = each
        names = tuple(each.name if isinstance(each, Estimator) else each for each in listed)
        if own:
            named[key] = names[0] if key == "method" else tuple(filter(None, names))
    return named, own


def measured(
    source: Any,
    request: Request,
    tell: Listener,
    settings: RunSettings | None = None,
    *,
    whole: bool = False,
    own: Mapping[str, Estimator] | None = None,
) -> Measurement:
    """Measure the physicians of a table as a request says.

    Parameters
    ----------
    source, request, tell, settings
        See :func:`measure`.
    whole
        Whether everybody is learned from, however many they are.
    own
        Estimators by name that are used as they were given, with their settings.
    """
    with request.words.in_errors():
        return _measured(source, request, tell, settings or RunSettings(), whole, own or {})


def _measured(
    source: Any,
    request: Request,
    tell: Listener,
    settings: RunSettings,
    whole: bool,
    own: Mapping[str, Estimator],
) -> Measurement:
    words = request.words
    names = chosen_methods(request)
    settings.check()
    started = time.perf_counter()
    tell.step("reading and checking the table")
    found = checked(source, request, settings.spool, whole=whole)
    for line in found.leak_lines():
        tell.note(f"possible leak: {line}")
    seconds = {"check": time.perf_counter() - started}
    prepared = found.prepared
    _refuse_tiny_panels(found)
    limits_of(found, settings)
    fitted: dict[str, Fitted] = {}
    said: list[str] = list(prepared.warnings)
    repeats = seen_twice(prepared)
    for position, name in enumerate(names, 1):
        if name == REPEATS and repeats is not None:
            scores = scores_of_repeats(repeats, prepared)
            fitted[name] = Fitted(repeats.model, repeats.evidence, scores)
            continue
        count = f" ({position} of {len(names)})" if len(names) > 1 else ""
        expected = time_of_fit(Size.of(prepared.observed), METHODS[name])
        tell.step(f"measuring with {name}{count}", expected)
        begun = time.perf_counter()
        fitted[name], caught = fit_method(
            name, prepared.observed, request.random_state, own.get(name)
        )
        seconds[name] = time.perf_counter() - begun
        said += caught
    tell.step("looking for the rule in the data", 8)
    rule = suggest_rule(prepared, request.random_state, words)
    importance = dict(rule.importance.select("covariate", "importance").iter_rows())
    sampled = fitted[names[0]]
    beyond_cases = None
    if found.beyond is not None:
        tell.step(words.fill("reading the {deciders} beyond the sample"), _time_beyond(found))
        begun = time.perf_counter()
        fitted, found, beyond_cases = with_everybody(
            fitted, found, found.beyond, importance, settings, tell.part
        )
        seconds["beyond the sample"] = time.perf_counter() - begun
    elif sampled.evidence.differences is not None:
        told = with_n_apart(sampled.evidence.differences, prepared.observed)
        evidence = sampled.evidence.with_differences(told)
        fitted[names[0]] = replace(sampled, evidence=evidence)
    main = fitted[names[0]] = _labelled(fitted[names[0]], words)
    if repeats is not None:
        columns = {**main.scores.columns, **repeats.columns()}
        main = fitted[names[0]] = replace(main, scores=replace(main.scores, columns=columns))
    tell.step(words.fill("measuring two halves of the {cases}"), seconds.get(names[0]))
    appraised = appraise(found, fitted, rule)
    scores = appraised.scores
    if (location := location_of(prepared, main.evidence, request.random_state, words)) is not None:
        scores = located(scores, location, prepared.observed)
    main = fitted[names[0]] = replace(main, scores=scores)
    tell.step(words.fill("assessing the {deciders}"))
    table = result_table(
        main.scores, min_panel=request.min_panel, min_reliability=request.min_reliability
    )
    table = table[natural_places(table["physician"])]
    pairs = pairs_behind(main.evidence, prepared.observed)
    cases = cases_behind(main.evidence, prepared.observed, prepared.origin, importance, pairs)
    tell.step("diagnostics", 5)
    by_method = {name: each.scores for name, each in fitted.items()}
    diagnostics = diagnose(prepared, main.estimator, main.evidence, pairs, by_method, rule)
    tell.step("taking noise apart", 5)
    noise = None
    if len(prepared.observed.physicians) > 1:
        # What predictions learned of halves serves noise as well.
        learned = found.beyond is None or main.evidence.upper_limit
        some = prepared.observed if learned else _some(prepared.observed)
        noise = noise_of(some, seed=request.random_state)
    group = appraised.group
    unrecorded = None
    if repeats is None and group is not None and main.evidence.upper_limit:
        # Cases seen twice measure what can otherwise only be gauged.
        tell.step("leaving covariates out in turn", 8)
        begun = time.perf_counter()
        unrecorded = unrecorded_reasons(
            prepared.observed,
            prepared.origin,
            list(importance),
            group.discordance,
            request.random_state,
        )
        seconds["unrecorded"] = time.perf_counter() - begun
    if prepared.by is not None or prepared.period is not None:
        tell.step("comparing subgroups and periods", seconds.get(names[0]))
    by = subgroups(prepared, main.evidence)
    course = course_of(prepared, main.estimator, main.evidence, request.random_state)
    seconds["total"] = time.perf_counter() - started
    judged = appraised.verdict
    if judged.rule_found < RULE_FOUND:
        said.append(NO_RULE)
    return Measurement(
        request,
        found,
        table,
        fitted,
        pairs,
        cases,
        rule,
        diagnostics,
        noise,
        group,
        repeats,
        appraised.halves,
        unrecorded,
        location,
        judged,
        by,
        course,
        beyond_cases,
        tuple(words.said(each) for each in said),
        seconds,
    )


def _some(observed: Observed) -> Observed:
    """Return some panels of a large sample: noise of all together takes no more to be known."""
    panels = some_panels(list(observed.panels), MOST_FOR_NOISE, stream(0, "noise", "panels"))
    return observed.take(np.sort(np.concatenate(panels)))


def _time_beyond(found: Check) -> float:
    """Return the seconds that reading everybody beyond the sample may take."""
    assert found.beyond is not None
    size = Size.of(found.prepared.observed)
    n_read = found.beyond.n_read(size.n_covariates)
    return time_of_others(size, n_read, METHODS[found.method])


def _refuse_tiny_panels(found: Check) -> None:
    """Say at once that there is nothing to measure, instead of after minutes."""
    largest = int(found.panels.table["n_patients"].max())  # type: ignore[arg-type]
    if largest < FEWEST_IN_A_PANEL:
        raise InputError(
            Sentence(
                "no {decider} has {fewest_in_a_panel} {cases} or more (the largest panel "
                "has {largest}); there is nothing to compare: name another column with "
                "{physician}, one of groups or hospitals say",
                fewest_in_a_panel=FEWEST_IN_A_PANEL,
                largest=largest,
                physician=option("physician"),
            )
        )


def chosen_methods(request: Request) -> list[str]:
    """Return the methods to fit, the one that measures first."""
    main = request.method or default_method()
    listed = METHODS if request.methods == ("all",) else request.methods
    names = list(dict.fromkeys([main, *listed]))
    for name in names:
        if name != REPEATS:
            make_estimator(name)
        elif request.case is None:
            raise InputError(
                f"method '{REPEATS}' counts cases that were seen twice; say which case was seen "
                f"with {option('case')}"
            )
    if main != REPEATS and METHODS[main].estimand == "order":
        raise InputError(
            Sentence(
                "method '{main}' ranks {deciders} but does not measure a discordance; "
                "choose another with {method} and set it beside with {methods}",
                main=main,
                method=option("method"),
                methods=option("methods", main),
            )
        )
    return names


def fit_method(
    name: str, observed: Observed, seed: int, given: Estimator | None = None
) -> tuple[Fitted, list[str]]:
    """Fit a method, by its name or as it was given; return it, and what it warned about."""
    estimator = make_estimator(name) if given is None else clone(given)
    if given is None:
        _set_if_taken(estimator, "random_state", seed)
    # Threads change the time and nothing else; over a small table most wait for each other.
    if observed.n_patients >= MANY_PATIENTS or isinstance(estimator, Predictability):
        _set_if_taken(estimator, "n_jobs", joblib.cpu_count())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit_observed(observed)
    evidence = estimator.evidence(observed)
    fitted = Fitted(estimator, evidence, scores_of(estimator, evidence, observed))
    return fitted, sorted({_text(warning.message) for warning in caught})


def _text(message: Warning | str) -> str:
    """Return what a warning says, as it was given."""
    given = message.args[0] if isinstance(message, Warning) and message.args else message
    return given if isinstance(given, str) else str(given)


def _labelled(fitted: Fitted, words: Words) -> Fitted:
    """Say in what way a physician's rule differs with the labels of the covariates."""
    if not words.labels:
        return fitted
    return replace(fitted, evidence=fitted.evidence.with_words(words.labelled))


def _set_if_taken(estimator: Estimator, name: str, value: Any) -> None:
    if name in estimator.get_params():
        estimator.set_params(**{name: value})
