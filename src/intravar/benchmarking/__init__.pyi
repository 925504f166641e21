from . import tables
from .published import GROUP_TABLES, printed_cell
from .study import Study, benchmark
from .workers import count_workers

__all__ = ["GROUP_TABLES", "Study", "benchmark", "count_workers", "printed_cell", "tables"]
