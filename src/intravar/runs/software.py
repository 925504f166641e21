"""The software on which results depend."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path


@cache
def software_versions() -> dict[str, str]:
    """Return the versions on which results depend."""
    packages = ("intravar", "numpy", "scipy", "scikit-learn", "polars")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


@cache
def fingerprint() -> dict[str, str]:
    """Return what results depend on: versions, and a checksum of intravar's own code and data."""
    root = Path(str(files("intravar")))
    code = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".json", ".csv"):
            code.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return {**software_versions(), "code of intravar": code.hexdigest()[:12]}
