"""Measure the physicians of a table: check, fit, assess, explain, write."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import joblib
import polars as pl

from intravar.errors import InputError, option
from intravar.estimators import METHODS, Estimator, make_estimator
from intravar.measurement.diagnostics import Diagnostics, diagnose
from intravar.measurement.evidence import pairs_behind
from intravar.measurement.rule import SuggestedRule, suggest_rule
from intravar.measurement.scores import (
    MIN_RELIABILITY,
    Scores,
    in_words,
    result_table,
    scores_of,
)
from intravar.preparation.check import Check, check, default_method
from intravar.preparation.encoding import Missing
from intravar.preparation.panels import MIN_PANEL
from intravar.publication.suppression import SMALLEST_CELL

#: Patients from which on a method is given all cores.
MANY_PATIENTS = 10_000


class Progress(Protocol):
    """Whoever wants to know how a measurement goes on."""

    def step(self, words: str, seconds: float | None = None) -> None:
        """Take note that a step begins, and how many seconds it may take if that is known."""

    def note(self, words: str) -> None:
        """Say something."""


class Silence:
    """A progress that says nothing."""

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`Progress`."""

    def note(self, words: str) -> None:
        """See :class:`Progress`."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured; in memory nothing is hidden, names are real.

    Attributes
    ----------
    physicians
        One row per physician, with the columns of `physicians.parquet`.
    check
        What the check of the table found.
    method
        The method behind `physicians`.
    estimators
        The fitted methods by name, the one behind `physicians` first.
    scores
        What the method said, before uncertainty.
    pairs
        The pairs of comparable patients: physician, rows of the source, distance, discordant.
    rule
        The rule that the data suggest.
    diagnostics
        Tables that tell whether to believe it.
    warnings
        What went less than well.
    """

    physicians: pl.DataFrame
    check: Check
    method: str
    estimators: dict[str, Estimator]
    scores: Scores
    pairs: pl.DataFrame
    rule: SuggestedRule
    diagnostics: Diagnostics
    settings: dict[str, Any]
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        reportable = self.physicians.filter(pl.col("reportable"))
        lines = [
            f"{self.method}: {reportable.height} of {self.physicians.height} physicians reportable"
        ]
        first = self.physicians.head(20).iter_rows(named=True)
        lines += [f"{row['physician']}: {in_words(row)}" for row in first]
        if self.physicians.height > 20:
            lines.append(f"... and {self.physicians.height - 20} more")
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def explain(self, physician: str, *, most: int = 5) -> pl.DataFrame:
        """Return the discordant pairs behind a physician, the closest first, side by side."""
        from intravar.publication.explain import side_by_side

        return side_by_side(self.pairs, patients_of(self), physician, most=most)

    def write(
        self,
        out: str | os.PathLike[str],
        *,
        show_names: bool = False,
        key: str | os.PathLike[str] | None = None,
        pairs_in_report: bool = False,
    ) -> None:
        """Write what may be handed on to a folder, and what may not to a private one beside it."""
        from intravar.publication.folders import write_measurement

        write_measurement(
            self, out, show_names=show_names, key=key, pairs_in_report=pairs_in_report
        )


def patients_of(measurement: Measurement) -> pl.DataFrame:
    """Return the patients that were measured: source row, physician, decision, covariates."""
    prepared = measurement.check.prepared
    observed = prepared.observed
    names = pl.Series(list(observed.physicians), dtype=pl.String)
    return pl.DataFrame(
        [
            pl.Series("row", prepared.rows + 1),
            names[observed.code].alias("physician"),
            pl.Series("decision", observed.decision),
        ]
    ).hstack(
        prepared.raw.rename(
            {
                name: f"{name} (covariate)"
                for name in prepared.raw.columns
                if name in ("row", "physician", "decision")
            }
        )
    )


def measure(
    source: Any,
    *,
    physician: str,
    decision: str,
    covariates: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    after: Iterable[str] = (),
    categorical: Iterable[str] = (),
    decision_positive: str | None = None,
    missing: Missing = "indicator",
    method: str | None = None,
    methods: Sequence[str] = (),
    seed: int = 0,
    min_panel: int = MIN_PANEL,
    min_reliability: float = MIN_RELIABILITY,
    smallest_cell: int = SMALLEST_CELL,
    progress: Progress | None = None,
    **reading: Any,
) -> Measurement:
    """Measure how consistently each physician decides.

    Parameters
    ----------
    source
        A path, a URL of a database or a frame; see :func:`intravar.sources.read_source`.
    physician, decision, covariates, exclude, after, categorical, decision_positive, missing
        The columns and how to read them; see :func:`intravar.check`.
    method
        The method that measures; the latent rule where it is there.
    methods
        Other methods to set beside it, or "all".
    seed
        Of whatever a method draws.
    min_panel, min_reliability
        Below which a result is not reportable.
    smallest_cell
        The smallest count of patients or events that is ever written or printed.
    progress
        Told how it goes on.
    **reading
        `table`, `query`, `separator`, `encoding`, `sheet`.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=2000, n_physicians=8)
    >>> found = measure(cohort.to_polars(), physician="physician", decision="decision")
    >>> found.physicians.height
    8
    """
    tell = Silence() if progress is None else progress
    names = chosen_methods(method, methods)
    _check_limits(min_panel, min_reliability, smallest_cell)
    started = time.perf_counter()
    tell.step("reading and checking the table")
    checked = check(
        source,
        physician=physician,
        decision=decision,
        covariates=covariates,
        exclude=exclude,
        after=after,
        categorical=categorical,
        decision_positive=decision_positive,
        missing=missing,
        method=names[0],
        min_panel=min_panel,
        smallest_cell=smallest_cell,
        **reading,
    )
    for line in checked.leak_lines():
        tell.note(f"possible leak: {line}")
    seconds = {"check": time.perf_counter() - started}
    estimators, said = _fit(names, checked, seed, tell, seconds)
    observed = checked.prepared.observed
    main = estimators[names[0]]
    scores = scores_of(main, observed)
    tell.step("assessing the physicians")
    physicians = result_table(scores, min_panel=min_panel, min_reliability=min_reliability)
    pairs = pairs_behind(main, observed)
    tell.step("looking for the rule in the data", 8)
    rule = suggest_rule(checked.prepared, seed)
    tell.step("diagnostics", 5)
    diagnostics = diagnose(checked.prepared, estimators, pairs, rule, smallest_cell)
    seconds["total"] = time.perf_counter() - started
    return Measurement(
        physicians=physicians,
        check=checked,
        method=names[0],
        estimators=estimators,
        scores=scores,
        pairs=pairs.with_columns(
            pl.Series("first", checked.prepared.rows[pairs["first"].to_numpy()] + 1),
            pl.Series("second", checked.prepared.rows[pairs["second"].to_numpy()] + 1),
        ),
        rule=rule,
        diagnostics=diagnostics,
        settings={
            "physician": physician,
            "decision": decision,
            "decision_positive": decision_positive,
            "covariates": list(checked.prepared.covariates),
            "after": list(after),
            "missing": missing,
            "method": names[0],
            "methods": list(names),
            "seed": seed,
            "min_panel": min_panel,
            "min_reliability": min_reliability,
            "smallest_cell": smallest_cell,
        },
        warnings=(*said, *_no_rule(main)),
        seconds=seconds,
    )


def chosen_methods(method: str | None, methods: Sequence[str]) -> list[str]:
    """Return the methods to fit, the one that measures first."""
    main = method or default_method()
    listed = list(METHODS) if list(methods) == ["all"] else list(methods)
    names = list(dict.fromkeys([main, *listed]))
    for name in names:
        make_estimator(name)
    if METHODS[main].scale != "discordance":
        raise InputError(
            f"method '{main}' ranks physicians but does not measure a discordance; choose another "
            f"with {option('method')} and set it beside with {option('methods', main)}"
        )
    return names


def _check_limits(min_panel: int, min_reliability: float, smallest_cell: int) -> None:
    if min_panel < 2:
        raise InputError(
            f"{option('min_panel')} is {min_panel}; a pair takes two patients, give 2 or more"
        )
    if not 0 <= min_reliability <= 1:
        raise InputError(
            f"{option('min_reliability')} is {min_reliability:g}; it lies between 0 and 1"
        )
    if smallest_cell < 1:
        raise InputError(
            f"{option('smallest_cell')} is {smallest_cell}; give 1 (hide nothing) or more"
        )


def _fit(
    names: Sequence[str], checked: Check, seed: int, tell: Progress, seconds: dict[str, float]
) -> tuple[dict[str, Estimator], list[str]]:
    from intravar.preparation.cost import estimate_cost

    observed = checked.prepared.observed
    estimators: dict[str, Estimator] = {}
    said: list[str] = []
    for position, name in enumerate(names, 1):
        estimator = make_estimator(name)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)
        # Threads change the time and nothing else; over a small table they wait for each other.
        if "n_jobs" in estimator.get_params() and observed.n_patients >= MANY_PATIENTS:
            estimator.set_params(n_jobs=joblib.cpu_count())
        count = f" ({position} of {len(names)})" if len(names) > 1 else ""
        tell.step(f"measuring with {name}{count}", estimate_cost(observed, name).seconds)
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimators[name] = estimator.fit_observed(observed)
        seconds[name] = time.perf_counter() - started
        said += sorted({str(warning.message) for warning in caught})
    return estimators, said


def _no_rule(main: Estimator) -> list[str]:
    """Say so if the latent rule found none: its scores are then those of the crude rates."""
    if getattr(main, "two_classes_", True):
        return []
    return [
        "no rule was found in these covariates: all patients counted as alike, and the numbers are "
        "those of each physician's share of decisions; a matching method (learned-weights) "
        "compares patients all the same"
    ]
