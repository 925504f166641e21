"""More patients than are learned from: dealt into buckets by physician, each read on its own."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
