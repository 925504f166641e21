"""Every figure of the report, for the page and for paper; figures.toml declares them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup

from intravar.documents.charts import Drawing
from intravar.study.report.figures import charts, groups
from intravar.study.report.figures.overview import overview, overview_in_words
from intravar.study.results import Study

#: What plots a figure for a width in pixels, and what says in words, from the same numbers, what it
#: shows; figures of a condition are told which.
_CHARTS: dict[str, tuple[Callable[..., Drawing], Callable[..., str]]] = {
    "overview": (overview, overview_in_words),
    "group_panels": (groups.group_panels, groups.panels_in_words),
    "continuum": (charts.continuum, charts.continuum_in_words),
    "cross_deltas": (charts.cross_deltas, charts.cross_in_words),
    "by_window": (charts.by_window, charts.window_in_words),
    "by_pass": (charts.by_pass, charts.pass_in_words),
    "size_grid": (charts.size_grid, charts.grid_in_words),
    "recovery": (charts.recovery, charts.recovery_in_words),
    "residuals": (charts.residuals, charts.residuals_in_words),
    "calibration": (charts.calibration, charts.calibration_in_words),
}


@dataclass(frozen=True)
class Figure:
    """A figure of the report; its name is that of its file and its anchor in the page."""

    name: str
    chart: str
    title: str
    reading: str
    tables: tuple[str, ...] = ()
    condition: str | None = None
    first_draw: bool = False
    needs: str = ""

    def there(self, results: Study) -> bool:
        """Tell whether a study has what the figure needs."""
        if self.condition and not results.has(self.condition):
            return False
        if self.chart == "cross_deltas":
            several = charts.condition_deltas(results)["condition"].n_unique() > 1
            return several and self._has_rates(results)
        if self.needs == "rates":
            return bool(results.rate_methods) if self.condition else self._has_rates(results)
        if self.needs == "methods":
            return charts.RECOVERY in results.tables and bool(results.methods)
        return self.needs != "fit" or bool(charts.fitted(results, self.chart))

    def _has_rates(self, results: Study) -> bool:
        """Tell whether its table has a method whose score can be held against the oracle."""
        table = results.tables.get(self.tables[0])
        return table is not None and not set(results.rate_methods).isdisjoint(table["method"])

    @property
    def _of(self) -> tuple[str, ...]:
        return (self.condition,) if self.condition else ()

    def alternative(self, results: Study) -> str:
        """Say in words what it shows."""
        return _CHARTS[self.chart][1](results, *self._of)

    def svg(self, results: Study, width: int) -> Markup:
        """Return the figure for a width, with what it shows in words."""
        drawing = _CHARTS[self.chart][0](results, width, *self._of)
        drawing.width = width
        return drawing.svg(self.title, self.alternative(results))


def _declared() -> tuple[Figure, ...]:
    told = tomllib.loads(files(__name__).joinpath("figures.toml").read_text("utf-8"))
    reading = told["score2-panels"]["reading"]  # the panels of other conditions are read alike
    for words in told.values():
        words["tables"] = tuple(words.get("tables", ()))
    return tuple(Figure(name, **{"reading": reading, **words}) for name, words in told.items())


FIGURES = _declared()


def figures_of(results: Study) -> list[Figure]:
    """Return the figures for which a study has results."""
    return [figure for figure in FIGURES if figure.there(results)]
