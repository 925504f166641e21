"""The tables of the study, each beside the paper's."""

from intravar.benchmark.tables.build import TITLES, build_tables
from intravar.benchmark.tables.cells import CELL_SCHEMA

__all__ = ["CELL_SCHEMA", "TITLES", "build_tables"]
