"""Every figure of the report, for the page and for paper."""

from intravar.study.report.figures.register import FIGURES, Figure, figures_of

__all__ = ["FIGURES", "Figure", "figures_of"]
