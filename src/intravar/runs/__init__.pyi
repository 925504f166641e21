from .settings import RunSettings

__all__ = ["RunSettings"]
