"""How often would this physician decide differently for two comparable patients?"""

from importlib.metadata import version

from intravar.cohort import Cohort, Truth
from intravar.errors import InputError
from intravar.oracle import oracle
from intravar.simulation import Scenario, simulate

__version__ = version("intravar")

__all__ = ["Cohort", "InputError", "Scenario", "Truth", "__version__", "oracle", "simulate"]
