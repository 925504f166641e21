"""What people read: one tree of blocks, four writers, charts, the report and the sheets."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
