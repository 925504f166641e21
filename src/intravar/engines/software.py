"""The software on which results depend."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version


@cache
def software_versions() -> dict[str, str]:
    """Return the versions on which results depend."""
    packages = ("intravar", "numpy", "scipy", "scikit-learn", "polars")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}
