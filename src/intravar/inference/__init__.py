"""How sure a score is: intervals, shrinkage, reliability and ranks, for any profile.

Nothing here knows an estimator: functions take arrays, and :func:`assess` takes whatever has a
profile. Estimators use the intervals for their own.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
