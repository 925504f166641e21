"""Which figures there are, what each needs, how to read it, and what it shows in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from intravar.documents.charts import Drawing
from intravar.study.report.figures import deltas, groups, model_fit, recovery
from intravar.study.report.figures.overview import overview, overview_in_words
from intravar.study.report.stored_results import Results


@dataclass(frozen=True)
class Figure:
    """A figure of the report.

    Parameters
    ----------
    name
        Name of its file and its anchor in the page.
    title
        Heading in the page.
    reading
        One sentence on how to read it.
    there
        Whether a study has what it needs.
    chart
        Plots it for a width in pixels.
    alternative
        Says in words what it shows, from the same numbers.
    tables
        Names of the tables that stand below it.
    condition
        The condition whose physicians can be picked in it, if they can.
    first_draw
        Whether it shows the first draw; else marks are means over all draws.
    """

    name: str
    title: str
    reading: str
    there: Callable[[Results], bool]
    chart: Callable[[Results, int], Drawing]
    alternative: Callable[[Results], str]
    tables: tuple[str, ...] = ()
    condition: str | None = None
    first_draw: bool = False

    def svg(self, results: Results, width: int) -> Markup:
        """Return the figure for a width, with what it shows in words."""
        drawing = self.chart(results, width)
        drawing.width = width
        return drawing.svg(self.title, self.alternative(results))


_PANELS_READING = (
    "Upper left: the model's score per physician, with its 95 % interval. Upper right: each mark "
    "is a physician, coloured by group; a good method puts them where the oracle does. Lower left: "
    "the distance to the oracle, with the mean of a method as a thick tick. Lower right: 1 means "
    "that two methods order the physicians alike."
)


def _panels(name: str, title: str, tables: tuple[str, ...]) -> Figure:
    return Figure(
        f"{name}-panels",
        title,
        _PANELS_READING,
        lambda results: results.has(name) and bool(results.rate_methods),
        partial(groups.group_panels, condition=name),
        partial(groups.panels_in_words, condition=name),
        tables,
        name,
        first_draw=True,
    )


def _has_rates(name: str) -> Callable[[Results], bool]:
    """Return whether a table has a method whose score can be held against the oracle."""
    return lambda results: (
        name in results.tables
        and not set(results.rate_methods).isdisjoint(results.tables[name]["method"])
    )


FIGURES: tuple[Figure, ...] = (
    Figure(
        "overview",
        "How a cohort is made",
        "Filled dots are eligible patients (2) and patients decided for (4); the height of a pin "
        "(3) is how often a physician would decide differently for two eligible patients.",
        lambda results: True,
        overview,
        overview_in_words,
    ),
    _panels("score2", "SCORE2: five groups of physicians", ("score2_groups", "rank_correlations")),
    Figure(
        "continuum",
        "A continuum of physicians",
        "Each mark is a physician. On the dashed line the estimate equals the true discordance; "
        "ρ says how well the order is kept, whatever the scale.",
        lambda results: results.has(recovery.CONDITION),
        recovery.continuum,
        recovery.continuum_in_words,
        ("continuum",),
        recovery.CONDITION,
        first_draw=True,
    ),
    Figure(
        "cross-experiment",
        "Delta across conditions",
        "Each mark is the mean delta of one condition; the box holds the middle half of them and "
        "the thick tick is their median. Right of the dashed line a method overestimates.",
        lambda results: (
            _has_rates("cross_experiment")(results)
            and deltas.condition_deltas(results)["condition"].n_unique() > 1
        ),
        deltas.cross_deltas,
        deltas.cross_in_words,
        ("cross_experiment", "condition_deltas"),
        first_draw=True,
    ),
    Figure(
        "window-size",
        "Delta by window size",
        "The more covariates a rule has, the farther right. Bars are 95 % intervals; a short grey "
        "dash is the paper's figure.",
        _has_rates("window_size"),
        deltas.by_window,
        partial(deltas.cells_in_words, table="window_size"),
        ("window_size",),
    ),
    Figure(
        "passes",
        "Pass 1 against pass 2",
        "Filled: pass 1; hollow: pass 2. They share their rules but neither thresholds nor "
        "patients, so the two marks of a method should lie close together. Bars are 95 % "
        "intervals; a short grey dash is the paper's figure.",
        _has_rates("passes"),
        deltas.by_pass,
        partial(deltas.cells_in_words, table="passes"),
        ("passes",),
    ),
    Figure(
        "size-grid",
        "Delta by cohort size",
        "One panel per number of physicians; within it, more patients to the right. Bars are 95 % "
        "intervals over cohorts.",
        _has_rates("grid"),
        deltas.size_grid,
        deltas.grid_in_words,
        ("grid",),
    ),
    Figure(
        "recovery",
        "How well the true discordance is recovered",
        "Each row is a condition; those of the stress family break one assumption each. The "
        "upright tick is the oracle, who knows who was eligible; the farther left of it a mark "
        "lies, the less a method's order of physicians can be trusted there.",
        recovery.has_recovery,
        recovery.recovery,
        recovery.recovery_in_words,
        (
            "recovery_trust",
            "recovery_spearman",
            "recovery_delta",
            "recovery_error",
            "recovery_coverage",
        ),
    ),
    _panels(
        "copula", "SCORE2 with correlated cholesterols", ("copula_groups", "copula_correlations")
    ),
    _panels(
        "lognormal", "SCORE2 with lognormal HbA1c", ("lognormal_groups", "lognormal_correlations")
    ),
    Figure(
        "pearson-residuals",
        "Pearson residuals of the mixed model",
        "A residual is how far a decision lies from the fitted probability, in standard "
        "deviations; physicians with many far out score high. The outer bins hold all beyond.",
        lambda results: bool(model_fit.fitted(results, "residuals")),
        model_fit.residuals,
        model_fit.residuals_in_words,
        ("glmm_groups",),
        first_draw=True,
    ),
    Figure(
        "calibration",
        "Calibration of the mixed model",
        "On the dashed line as many are decided for as the model says; the bars below say how many "
        "patients stand behind each mark.",
        lambda results: bool(model_fit.fitted(results, "calibration")),
        model_fit.calibration,
        model_fit.calibration_in_words,
        first_draw=True,
    ),
)


def figures_of(results: Results) -> list[Figure]:
    """Return the figures for which a study has results."""
    return [figure for figure in FIGURES if figure.there(results)]
