from .columns import by_name

__all__ = ["by_name"]
