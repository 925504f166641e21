"""List and run the benchmarks: all of them, or those named on the command line.

What follows the name of a single benchmark and is not itself one is handed to it, a folder say.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
# The baselines are the literal twins that the tests hold the fast code against.
sys.path.insert(0, str(FOLDER.parent / "tests"))


def main() -> int:
    known = [found.name for found in pkgutil.iter_modules([str(FOLDER)]) if found.name[0] != "_"]
    wanted, arguments = sys.argv[1:] or known, []
    if wanted[0] in known and not set(wanted) <= set(known):
        wanted, arguments = wanted[:1], wanted[1:]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"{name}: {(module.__doc__ or '').splitlines()[0]}\n")
        module.run(*arguments)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
