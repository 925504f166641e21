from .build import FIGURE_TABLES, build_tables, correlations_of
from .cells import CELL_SCHEMA, is_cells
from .grids import TITLES, text_grid

__all__ = [
    "CELL_SCHEMA",
    "FIGURE_TABLES",
    "TITLES",
    "build_tables",
    "correlations_of",
    "is_cells",
    "text_grid",
]
