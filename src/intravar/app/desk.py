"""What the app remembers while it runs: places, choices, the helper and the measurement."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from intravar.app.draft import Draft
from intravar.app.helper import Helper
from intravar.app.job import GRACE, Job
from intravar.app.places import Places
from intravar.errors import InputError
from intravar.writing import make_private_folder

#: Seconds after which a screen says that something is still being done.
PATIENCE = 0.2
#: Tables whose choices are remembered.
MOST_DRAFTS = 50


class WaitingError(Exception):
    """An answer is not there yet; the message says what is being done."""


class Desk:
    """All that screens share.

    Parameters
    ----------
    places
        Folders that may be opened.
    sealed
        Gives the address below which the pages of a folder are shown.
    """

    def __init__(self, places: Places, sealed: Callable[[str], str]) -> None:
        self.places = places
        self.sealed = sealed
        self.scratch = Path(tempfile.mkdtemp(prefix="intravar-app-"))
        self.helper = Helper(self.scratch / "helper.log")
        self.job: Job | None = None
        self.quit: Callable[[], None] = lambda: None
        self._drafts: OrderedDict[str, Draft] = OrderedDict()

    def keep(self, draft: Draft) -> Draft:
        """Remember the choices about a table."""
        self._drafts[draft.id] = draft
        while len(self._drafts) > MOST_DRAFTS:
            self._drafts.popitem(last=False)
        return draft

    def draft(self, name: str) -> Draft:
        """Return remembered choices."""
        if name not in self._drafts:
            raise InputError("this table is no longer open; choose it again on the first screen")
        return self._drafts[name]

    async def answer(self, words: str, task: str, /, **given: Any) -> Any:
        """Return an answer of the helper; if it is not there soon, let the screen say so.

        Parameters
        ----------
        words
            What is being done meanwhile.
        task, **given
            See :meth:`Helper.ask`.
        """
        future = asyncio.wrap_future(self.helper.ask(task, **given))
        try:
            return await asyncio.wait_for(asyncio.shield(future), PATIENCE)
        except TimeoutError:
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise WaitingError(words) from None

    async def whole(self, task: str, /, *, again: bool = False, **given: Any) -> Any:
        """Return an answer of the helper, however long it takes."""
        return await asyncio.wrap_future(self.helper.ask(task, again=again, **given))

    def start(self, job: Job) -> None:
        """Start a measurement, unless one is running."""
        if self.job is not None and self.job.running:
            raise InputError(
                "a measurement is running, and one runs at a time; wait for its end or stop it"
            )
        make_private_folder(job.log.parent)
        self.job = job
        job.start()

    def close(self) -> None:
        """End what was started, the measurement as with Ctrl-C; take away what was for now."""
        if self.job is not None and self.job.running:
            self.job.stop()
            self.job.wait(GRACE + 5)
        self.helper.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
