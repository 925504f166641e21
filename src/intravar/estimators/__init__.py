"""The estimators: from (X, y, physician) to one score per physician.

A method is loaded when it is first used; the stub beside this file says what lies where.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
