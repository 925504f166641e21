"""How long work is run: engines, tables read in buckets, and what is finished kept on disk."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
