from .columns import by_name
from .scores import in_words

__all__ = ["by_name", "in_words"]
