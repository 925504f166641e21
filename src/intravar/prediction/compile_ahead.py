"""Compile beside the first measurement after installation, on a second processor.

What is compiled is kept on disk for all that follows. A measurement needs the common trees first;
a process of its own compiles meanwhile what is needed after them.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

#: There is once personal rules have been compiled.
_COMPILED = "personal_rules_kernel.fit_panels-*.nbi"


@functools.cache
def compile_beside() -> bool:
    """Return whether there is something to compile; start the process once if so.

    Where compiled code is kept elsewhere, nothing is known of it. There is no process where there
    is no second processor for it.
    """
    folder = Path(__file__).parents[1] / "learning" / "__pycache__"
    elsewhere = "NUMBA_CACHE_DIR" in os.environ or not os.access(folder.parent, os.W_OK)
    if elsewhere or any(folder.glob(_COMPILED)):
        return False
    if (os.cpu_count() or 1) > 1:
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return True


def compile_now() -> None:
    """Run on a few patients what is compiled when it is first run."""
    import numpy as np

    from intravar.learning.personal_rules import Table, fit_rules, learn_hyper, sampled_hyper
    from intravar.prediction.own_forests import own_forests

    random = np.random.default_rng(0)
    Z = np.column_stack([np.ones(60), random.normal(size=60)])
    code, rows = np.repeat(np.arange(3), 20), np.arange(60)
    table = Table(Z, random.integers(0, 2, 60), code, rows, 3)
    hyper = learn_hyper(table)
    fit_rules(table, hyper).predict(Z, code, rows)
    own_forests(table, rows, 0.5)
    sampled_hyper(table, hyper, 0)


if __name__ == "__main__":
    from intravar.processes import end_with

    end_with(int(sys.argv[1]))
    compile_now()
