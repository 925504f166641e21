from .run import benchmark

__all__ = ["benchmark"]
