"""Tables of patients from files, databases and frames; this package knows nothing of methods."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
