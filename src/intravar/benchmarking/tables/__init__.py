"""The tables of the study, each beside the paper's."""

from intravar.benchmarking.tables.build import TITLES, build_tables
from intravar.benchmarking.tables.cells import CELL_SCHEMA

__all__ = ["CELL_SCHEMA", "TITLES", "build_tables"]
