"""Execution settings for large tables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from intravar.deprecation import renamed
from intravar.preparation.check import folder_for_now
from intravar.runs.engines import make_engine
from intravar.runs.limits import parse_memory
from intravar.writing import make_private_folder


@dataclass(frozen=True)
class RunSettings:
    """How a measurement of many patients is executed; results do not depend on it.

    Attributes
    ----------
    engine
        "local", "dask" or "dask:ADDRESS".
    n_jobs
        Processes; None and -1 stand for one per processor.
    memory
        What all of them may take, "4GB" say; by default there is no limit.
    folder
        Where what is finished is kept until all is; by default nowhere, and nothing is resumed.
    """

    engine: str = "local"
    n_jobs: int | None = None
    memory: str | float | None = None
    folder: str | os.PathLike[str] | None = None

    @property
    def kept_in(self) -> Path | None:
        """The folder of what is finished."""
        return None if self.folder is None else Path(self.folder)

    def spool(self) -> Path:
        """Return a folder for what a database hands over."""
        if self.kept_in is None:
            return folder_for_now()
        return make_private_folder(self.kept_in / "rows")

    def check(self) -> None:
        """Refuse what cannot be, before anything is done."""
        parse_memory(self.memory)
        make_engine(self.engine, self.n_jobs).check()


# The old name of the number of processes is taken with a warning.
RunSettings.__init__ = renamed(workers="n_jobs")(RunSettings.__init__)  # type: ignore[method-assign]
