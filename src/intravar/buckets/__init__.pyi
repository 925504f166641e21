from .execution import Execution
from .going_through import clear_unfinished

__all__ = ["Execution", "clear_unfinished"]
