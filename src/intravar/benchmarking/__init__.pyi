from . import tables
from .engines import count_workers
from .published import GROUP_TABLES, printed_cell
from .study import Study, benchmark

__all__ = ["GROUP_TABLES", "Study", "benchmark", "count_workers", "printed_cell", "tables"]
