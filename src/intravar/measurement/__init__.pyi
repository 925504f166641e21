from .columns import by_name
from .scores import in_words
from .verdict import UNRANKED

__all__ = ["UNRANKED", "by_name", "in_words"]
