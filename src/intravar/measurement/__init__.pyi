from .columns import by_name
from .measure_several import of_each

__all__ = ["by_name", "of_each"]
