"""Every figure of the report, for the page and for paper; figures.toml declares them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from markupsafe import Markup

from intravar.documents.charts import Drawing
from intravar.study.report.figures import charts, overview, physicians
from intravar.study.report.figures.marks import Rows, rows_in_words
from intravar.study.results import Study


class Chart(NamedTuple):
    """What a figure shows, what draws it for a width in pixels, and what says it in words.

    Both are told what the figure is of: a condition, or a table.
    """

    rows: Callable[[Study, str], Rows]
    draw: Callable[[Study, int, Rows, str], Drawing]
    words: Callable[[Rows], str] = rows_in_words


_CHARTS = {
    "overview": Chart(overview.steps, overview.overview, overview.steps_in_words),
    "group_panels": Chart(physicians.panel_rows, physicians.group_panels),
    "continuum": Chart(physicians.continuum_rows, physicians.continuum),
    "cross_deltas": Chart(charts.cross_rows, charts.cross_deltas),
    "by_column": Chart(charts.column_rows, charts.by_column),
    "recovery": Chart(charts.recovery_rows, charts.recovery),
    "residuals": Chart(charts.residual_rows, charts.residuals, charts.residuals_in_words),
    "calibration": Chart(charts.calibration_rows, charts.calibration, charts.calibration_in_words),
}


@dataclass(frozen=True)
class Figure:
    """A figure of the report; its name is that of its file and its anchor in the page."""

    name: str
    chart: str
    title: str
    reading: str
    words: str
    tables: tuple[str, ...] = ()
    condition: str | None = None
    first_draw: bool = False

    def rows(self, results: Study) -> Rows:
        """Return what the figure shows; nothing where a study has no results for it."""
        return _CHARTS[self.chart].rows(results, self._of)

    @property
    def _of(self) -> str:
        return self.condition or next(iter(self.tables), "")

    def alternative(self, results: Study) -> str:
        """Say in words what it shows."""
        return f"{self.words}: {_CHARTS[self.chart].words(self.rows(results))}"

    def svg(self, results: Study, width: int) -> Markup:
        """Return the figure for a width, with what it shows in words."""
        drawing = _CHARTS[self.chart].draw(results, width, self.rows(results), self._of)
        drawing.width = width
        return drawing.svg(self.title, self.alternative(results))


def _declared() -> tuple[Figure, ...]:
    declared = tomllib.loads(files(__name__).joinpath("figures.toml").read_text("utf-8"))
    first = declared["score2-panels"]  # the panels of other conditions are read alike
    shared = {name: first[name] for name in ("reading", "words")}
    for own in declared.values():
        own["tables"] = tuple(own.get("tables", ()))
    return tuple(Figure(name, **{**shared, **own}) for name, own in declared.items())


FIGURES = _declared()


def figures_of(results: Study) -> list[Figure]:
    """Return the figures for which a study has results."""
    return [figure for figure in FIGURES if figure.rows(results)]
