"""Measuring a function in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def in_fresh_process(module: str, function: str, *arguments: object) -> dict[str, Any]:
    """Call ``benchmarks.module.function(*arguments)``, which prints JSON, in a fresh process."""
    given = ", ".join(repr(argument) for argument in arguments)
    command = f"from benchmarks import {module}; {module}.{function}({given})"
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", command],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
    ).stdout
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found
