"""The study of the paper: simulated cohorts with known truth, the benchmark, its tables and report.

Nothing that measures real patients imports this package.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
