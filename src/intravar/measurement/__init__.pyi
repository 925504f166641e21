from .scores import NO_RANK, in_words
from .verdict import UNRANKED

__all__ = ["NO_RANK", "UNRANKED", "in_words"]
