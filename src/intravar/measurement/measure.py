"""Measure the physicians of a table: check, fit, read everybody, judge, and look closer."""

from __future__ import annotations

import time
import warnings
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from intravar.errors import AssumptionWarning, errors_in, renamed
from intravar.estimators import METHODS, Estimator, make_estimator
from intravar.estimators.base import REPEATS, Size, introduce
from intravar.estimators.noise import Noise, noise_of
from intravar.estimators.predictability import Predictability
from intravar.measurement.cases import AlikeScale, cases_behind, pairs_behind
from intravar.measurement.diagnostics import diagnose
from intravar.measurement.grounds import appraise
from intravar.measurement.halves import some_panels
from intravar.measurement.result import Measurement, OneDecision
from intravar.measurement.rule import in_places, location_of, suggest_rule
from intravar.measurement.scores import Fitted, repeated_cases, scores_of
from intravar.measurement.unrecorded import unrecorded_reasons
from intravar.measurement.verdict import NO_RULE, RULE_FOUND
from intravar.observed import Observed, natural_places
from intravar.preparation.check import Check, checked_each, time_of_fit, time_of_others
from intravar.preparation.refusals import chosen_methods
from intravar.processes import Listener
from intravar.request import Request, requested, shown_fields
from intravar.runs.settings import RunSettings, limits_of
from intravar.seeds import stream

#: Patients from which on a method is given all processors.
MANY_PATIENTS = 10_000
#: Patients of a large sample whose noise is taken apart.
MOST_FOR_NOISE = 40_000


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
    >>> measured = measure(cohort.to_polars(), physician="physician", decision="decision")
    >>> measured.physicians.height
    8
    """
    named, own = _by_name(shown_fields(locals()) | others)
    if n_jobs is not None:
        settings = replace(settings or RunSettings(), n_jobs=n_jobs)
    return measured(*requested(source, request, named), progress or Listener(), settings, own=own)


def _by_name(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Estimator]]:
    """Return options in which methods are named, and the estimators that were given themselves."""
    named, own = dict(options), dict[str, Estimator]()
    for key in (each for each in ("method", "methods") if each in options):
        given = named[key]
        alone = given is None or isinstance(given, str | Estimator)
        listed = [given] if alone else list(given)
        own |= {introduce(each): each for each in listed if isinstance(each, Estimator)}
        names = [each.name if isinstance(each, Estimator) else each for each in listed]
        named[key] = names[0] if alone else names
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
    """Measure the physicians of a table as a request says; see :func:`measure`.

    With `whole` everybody is learned from, however many they are. Estimators in `own` are used as
    they were given, with their settings.
    """
    settings = settings or RunSettings()
    with errors_in(request.words):
        steps = _Steps(tell)
        methods = chosen_methods(request)
        if len(request.decisions) > 1:
            # Loaded where it is asked for: one decision needs nothing of it.
            from intravar.measurement.wider.several import together_of

        settings.check()
        checks = _checked(steps, source, request, settings, whole)
        each = {name: steps.about(name if len(checks) > 1 else "") for name in checks}
        learned = {
            name: _learned(each[name], methods, check, own or {}, several=len(checks) > 1)
            for name, check in checks.items()
        }
        everybody = _everybody(steps, learned, settings)
        measurements = {name: _judged(each[name], everybody[name]) for name in checks}
        first = next(iter(measurements.values()))
        if len(measurements) == 1:
            return first
        steps.tell.step("measuring the decisions together")
        return replace(first, together=together_of(request, measurements, everybody))


def _learned(
    steps: _Steps, methods: list[str], check: Check, own: Mapping[str, Estimator], *, several: bool
) -> OneDecision:
    """Learn all that is common of one decision, from everybody or from the sample."""
    prepared, observed, seed = check.prepared, check.prepared.observed, check.request.random_state
    fitted, messages = dict[str, Fitted](), list(prepared.warnings)
    repeats = repeated_cases(prepared)
    for position, name in enumerate(methods, 1):
        if name == REPEATS and repeats is not None:
            fitted[name] = repeats
            continue
        count = f" ({position} of {len(methods)})" if len(methods) > 1 else ""
        expected = time_of_fit(Size.of(observed), METHODS[name])
        with steps.step(f"measuring with {name}{count}", expected, name):
            fitted[name], caught = fit_method(name, observed, seed, own.get(name))
        messages += caught
    with steps.step("looking for the rule in the data", 8):
        rule = suggest_rule(prepared, seed, check.request.words)
    predicting = None
    if several or prepared.dealt:
        # Decisions are looked at together by predictions, whatever they are measured with.
        able = [each for each in fitted.values() if each.evidence.predicted()]
        predicting = able[0] if able else fit_method(Predictability.name, observed, seed)[0]
    return OneDecision(check, fitted, rule, repeats, tuple(messages), predicting)


def _judged(steps: _Steps, everybody: OneDecision) -> Measurement:
    """Judge what was read of everybody, and look closer at it."""
    check, rule, repeats = everybody.check, everybody.rule, everybody.repeats
    prepared, request, words = check.prepared, check.request, check.request.words
    assert rule is not None
    name, main = next(iter(everybody.fitted.items()))
    location = location_of(prepared, main.evidence, request.random_state, words)
    columns = dict(repeats.scores.columns) if repeats is not None else {}
    if location is not None:
        columns["in_close_calls"] = in_places(location.in_close, main.scores, prepared.observed)
    main = replace(main, scores=main.scores.with_columns(**columns))
    with steps.step(words.fill("measuring two halves of the {cases}"), steps.seconds.get(name)):
        scores, table, grounds, verdict = appraise(check, {**everybody.fitted, name: main}, rule)
    main, group, seed = replace(main, scores=scores), grounds.group, request.random_state
    with steps.step(words.fill("assessing the {deciders}")):
        pairs = pairs_behind(main.evidence, prepared.observed)
        scale = AlikeScale.of(prepared.observed, prepared.origin, rule.weights)
        cases = cases_behind(main.evidence, prepared.observed, scale, pairs)
    with steps.step("diagnostics", 5):
        diagnostics = diagnose(prepared, main, pairs, rule.probability)
    noise = _noise(steps, check, main)
    unrecorded = None
    # Cases seen twice measure what is not recorded.
    if repeats is None and main.evidence.upper_limit and group is not None:
        with steps.step("leaving covariates out in turn", 8, "unrecorded"):
            unrecorded = unrecorded_reasons(
                prepared.observed, prepared.origin, list(rule.weights), group.discordance, seed
            )
    levels, periods = None, None
    if prepared.dealt:
        from intravar.measurement.wider.strata import compare_strata

        with steps.step("comparing subgroups and periods"):
            levels, periods = compare_strata(everybody)
    no_rule = [NO_RULE] if verdict.rule_found < RULE_FOUND else []
    return Measurement(
        request,
        check,
        table[natural_places(table["physician"])],
        {**everybody.fitted, name: main},
        pairs,
        cases,
        rule,
        diagnostics,
        noise,
        group,
        repeats,
        grounds.halves,
        unrecorded,
        location,
        verdict,
        levels,
        periods,
        everybody.beyond_cases,
        tuple(words.said(each) for each in (*everybody.warnings, *no_rule)),
        {**steps.seconds, "total": time.perf_counter() - steps.started},
    )


@dataclass
class _Steps:
    """Tells a listener what begins, and notes how long it took."""

    tell: Listener
    decision: str = ""
    seconds: MutableMapping[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def about(self, decision: str) -> _Steps:
        """Return the same for one of several decisions, which then stands before every step."""
        return _Steps(self.tell, decision, ChainMap({}, self.seconds), self.started)

    @contextmanager
    def step(
        self, words: str, expected: float | None = None, noted: str | None = None
    ) -> Iterator[None]:
        """Announce a step; with a name its seconds are noted."""
        self.tell.step(f"{self.decision}: {words}" if self.decision else words, expected)
        begun = time.perf_counter()
        yield
        if noted is not None:
            self.seconds[noted] = time.perf_counter() - begun


def _checked(
    steps: _Steps, source: Any, request: Request, settings: RunSettings, whole: bool
) -> dict[str, Check]:
    """Read and check the table, and announce what the check asks."""
    with steps.step("reading and checking the table", noted="check"):
        checks = checked_each(source, request, settings.spool, whole=whole)
    for line in dict.fromkeys(line for each in checks.values() for line in each.leak_lines()):
        steps.tell.note(f"possible leak: {line}")
    for line in dict.fromkeys(line for each in checks.values() for line in each.questions):
        steps.tell.note(request.words.said(line))
    limits_of(checks, settings)
    return checks


def _everybody(
    steps: _Steps, learned: dict[str, OneDecision], settings: RunSettings
) -> dict[str, OneDecision]:
    """Read those beyond the sample, and put down what was predicted of every patient if needed."""
    first = next(iter(learned.values()))
    if first.check.beyond is None and first.predicting is None:
        return learned
    # Loaded where it is asked for: one decision on a table that fits needs nothing of it.
    from intravar.measurement.wider.beyond import with_everybody, with_patients

    if first.check.beyond is None:
        return {name: with_patients(each) for name, each in learned.items()}
    words = first.check.request.words.fill("reading the {deciders} beyond the sample")
    expected = 0.0
    for check in (each.check for each in learned.values()):
        assert check.beyond is not None
        size = Size.of(check.prepared.observed)
        n_read = check.beyond.n_read(size.n_covariates)
        expected += time_of_others(size, n_read, METHODS[check.method])
    with steps.step(words, expected, "beyond the sample"):
        return with_everybody(learned, settings, steps.tell.part)


def _noise(steps: _Steps, check: Check, main: Fitted) -> Noise | None:
    """Decompose noise; None with fewer than two physicians."""
    observed = check.prepared.observed
    if len(observed.physicians) < 2:
        return None
    with steps.step("taking noise apart", 5):
        # What predictions learned of halves serves noise as well.
        if check.beyond is not None and not main.evidence.upper_limit:
            # Of a large sample some panels suffice: noise is one figure of all together.
            random = stream(0, "noise", "panels")
            panels = some_panels(list(observed.panels), MOST_FOR_NOISE, random)
            observed = observed.take(np.sort(np.concatenate(panels)))
        return noise_of(observed, seed=check.request.random_state)


def fit_method(
    name: str, observed: Observed, seed: int, given: Estimator | None = None
) -> tuple[Fitted, list[str]]:
    """Fit a method, by its name or as it was given; return it, and what it warned about."""
    estimator = make_estimator(name) if given is None else clone(given)
    options: dict[str, Any] = {} if given is not None else {"random_state": seed}
    # Threads change the time and nothing else; over a small table most wait for each other.
    if observed.n_patients >= MANY_PATIENTS or isinstance(estimator, Predictability):
        options["n_jobs"] = joblib.cpu_count()
    taken = estimator.get_params()
    estimator.set_params(**{name: each for name, each in options.items() if name in taken})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit_observed(observed)
    evidence = estimator.evidence(observed)
    fitted = Fitted(estimator, evidence, scores_of(estimator, evidence, observed))
    # What a warning says is kept as it was given: a sentence can be said in other words.
    # The verdict gives the reasons that this one names.
    told = [each for each in caught if each.category is not AssumptionWarning]
    messages = [(getattr(each.message, "args", None) or (each.message,))[0] for each in told]
    return fitted, sorted({each if isinstance(each, str) else str(each) for each in messages})
