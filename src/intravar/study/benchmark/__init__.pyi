from .published import GROUP_TABLES, printed_cell
from .run import Study, benchmark

__all__ = ["GROUP_TABLES", "Study", "benchmark", "printed_cell"]
