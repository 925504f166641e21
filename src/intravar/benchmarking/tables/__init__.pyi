from .build import TITLES, build_tables
from .cells import CELL_SCHEMA
from .render import text_grid

__all__ = ["CELL_SCHEMA", "TITLES", "build_tables", "text_grid"]
