"""Where the command begins; from here on, whatever ends it is said in plain words."""

from __future__ import annotations

import sys
from typing import NoReturn

from intravar import cli
from intravar.cli import endings
from intravar.version import __version__


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; see :mod:`intravar.cli.endings` for the exit codes."""
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:
        # Before typer, which loads a validation library to learn that this is a switch.
        sys.exit(endings.run(lambda: print(f"intravar {__version__}")))
    # typer words its own usage errors and leaves with 2; what it does not know comes to us.
    sys.exit(endings.run(lambda: cli.app(args=words, prog_name="intravar")))
