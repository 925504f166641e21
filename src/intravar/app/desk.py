"""What the app remembers while it runs: places, choices, the helper and the measurement."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import RedirectResponse, Response

from intravar.app.draft import Draft
from intravar.app.helper import Helper
from intravar.app.job import GRACE, Job
from intravar.app.places import Places
from intravar.errors import InputError
from intravar.writing import make_private_folder

#: Seconds after which a screen says that something is still being done.
PATIENCE = 0.1


class WaitingError(Exception):
    """An answer is not there yet; the message says what is being done."""


@dataclass
class Task:
    """Something that takes a while and ends in a screen."""

    words: str
    answer: Future[Any]
    then: Callable[[Any], Response]
    shown: Response | None = None


class Desk:
    """All that screens share; `sealed` gives the address below which a folder's pages are shown."""

    def __init__(self, places: Places, sealed: Callable[[str], str]) -> None:
        self.places = places
        self.sealed = sealed
        self.scratch = Path(tempfile.mkdtemp(prefix="intravar-app-"))
        self.helper = Helper(self.scratch / "helper.log")
        self.job: Job | None = None
        self.quit: Callable[[], None] = lambda: None
        #: Cases that the user asked to see, having read what they show: result and physician.
        self.may_see: set[tuple[str, str]] = set()
        self._drafts: dict[str, Draft] = {}
        self._tasks: dict[str, Task] = {}

    def keep(self, draft: Draft) -> Draft:
        """Remember the choices about a table."""
        self._drafts[draft.id] = draft
        return draft

    def draft(self, name: str) -> Draft:
        """Return remembered choices."""
        if name not in self._drafts:
            raise InputError("this table is no longer open; choose it again on the first screen")
        return self._drafts[name]

    async def answer(self, words: str, task: str, /, **given: Any) -> Any:
        """Return an answer of the helper; if it is not there soon, let the screen say `words`."""
        return await _soon(words, self.helper.ask(task, **given))

    def begin(self, words: str, answer: Future[Any], then: Callable[[Any], Response]) -> Response:
        """Lead to a screen that says `words` until the helper has answered.

        `then` makes the screen of the answer, once.
        """
        name = secrets.token_urlsafe(6)
        self._tasks[name] = Task(words, answer, then)
        return RedirectResponse(f"/task/{name}", 303)

    async def finish(self, name: str) -> Response:
        """Return the screen that a task ends in."""
        if name not in self._tasks:
            raise InputError("this was not begun here; go back to the first screen")
        task = self._tasks[name]
        told = await _soon(task.words, task.answer)
        task.shown = task.shown or task.then(told)
        return task.shown

    async def whole(self, task: str, /, **given: Any) -> Any:
        """Return a new answer of the helper, however long it takes."""
        return await asyncio.wrap_future(self.helper.ask(task, again=True, **given))

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


async def _soon(words: str, answer: Future[Any]) -> Any:
    future = asyncio.wrap_future(answer)
    try:
        return await asyncio.wait_for(asyncio.shield(future), PATIENCE)
    except TimeoutError:
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise WaitingError(words) from None
