from .build import FIGURE_TABLES, build_tables, correlations_of
from .cells import CELL_SCHEMA, GROUP_TABLES, is_cells, printed_cell
from .grids import TITLES, text_grid

__all__ = [
    "CELL_SCHEMA",
    "FIGURE_TABLES",
    "GROUP_TABLES",
    "TITLES",
    "build_tables",
    "correlations_of",
    "is_cells",
    "printed_cell",
    "text_grid",
]
