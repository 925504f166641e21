"""Measures how often a physician decides differently for two comparable patients.

The public names are those of the stub beside this file, for people, type checkers and Python alike.
Each is loaded when it is first used (SPEC 1): importing intravar costs next to nothing.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
