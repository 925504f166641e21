from .cohort import Cohort, Truth
from .grids import text_grid
from .oracle import oracle_by_group, oracle_several
from .results import Study
from .simulation.scenario import Scenario
from .tables import FIGURE_TABLES, GROUP_TABLES, TITLES, printed_cell

__all__ = [
    "FIGURE_TABLES",
    "GROUP_TABLES",
    "TITLES",
    "Cohort",
    "Scenario",
    "Study",
    "Truth",
    "oracle_by_group",
    "oracle_several",
    "printed_cell",
    "text_grid",
]
