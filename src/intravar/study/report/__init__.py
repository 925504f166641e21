"""The report: figures, tables and one page, made from stored results alone."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
