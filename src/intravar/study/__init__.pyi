from .cohort import Cohort, Truth
from .oracle import oracle_by_group, oracle_several
from .results import Study
from .simulation.scenario import Scenario

__all__ = ["Cohort", "Scenario", "Study", "Truth", "oracle_by_group", "oracle_several"]
