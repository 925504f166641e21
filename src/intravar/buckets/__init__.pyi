from .going_through import clear_unfinished
from .means import Means

__all__ = ["Means", "clear_unfinished"]
