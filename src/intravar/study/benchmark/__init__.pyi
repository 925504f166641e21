from .published import GROUP_TABLES, printed_cell
from .run import benchmark

__all__ = ["GROUP_TABLES", "benchmark", "printed_cell"]
