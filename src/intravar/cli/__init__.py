"""The command line: it parses, calls and prints; the work is done elsewhere.

Commands reach what they print with through this package, so that help need not load it.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
