from .columns import by_name
from .scores import NO_RANK, in_words
from .verdict import UNRANKED

__all__ = ["NO_RANK", "UNRANKED", "by_name", "in_words"]
