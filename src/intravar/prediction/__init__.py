"""What predictions of a physician's decisions are made of, one file per idea.

Covariates, decisions and physicians go in; held-out probabilities come out. Candidates that know
nothing of each other compete, and what wins is decided on decisions that none of them saw.
"""

import os
from pathlib import Path


def compiles_first() -> bool:
    """Return whether loops are compiled first, as in the first measurement after installation.

    Where compiled code is kept elsewhere, nothing is known of it.
    """
    folder = Path(__file__).parents[1] / "learning" / "__pycache__"
    elsewhere = "NUMBA_CACHE_DIR" in os.environ or not os.access(folder.parent, os.W_OK)
    return not elsewhere and not any(folder.glob("personal_rules_kernel.fit_panels-*.nbi"))
