"""The tables of the study, each beside the paper's."""

from intravar.benchmarking.tables.build import FIGURE_TABLES, TITLES, build_tables, correlations_of
from intravar.benchmarking.tables.cells import CELL_SCHEMA, is_cells

__all__ = ["CELL_SCHEMA", "FIGURE_TABLES", "TITLES", "build_tables", "correlations_of", "is_cells"]
