"""What screens share: how they are shown and asked for, and what the app remembers."""

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from jinja2 import Environment
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from intravar.app.draft import CONDITIONS, FIELDS, OPERATORS, READING, USES, Draft
from intravar.app.helper import Helper, Job
from intravar.app.places import Places, key_of, path_of
from intravar.documents.html import environment
from intravar.errors import InputError
from intravar.publication.files import read_published
from intravar.publication.results import Published
from intravar.version import __version__

#: What the helper does, and what makes the screen of its answer.
Task: TypeAlias = Callable[..., Any]
Then: TypeAlias = Callable[[Any], Response]
#: The screen that shows a query and asks before it is run; no other screen of its table is shown.
QUERY = "/query/{draft}"
#: Seconds after which a screen says that something is still being done.
PATIENCE = 0.1
#: Fields of a form; there are two for every column of a table.
MOST_FIELDS = 200_000
#: What every template knows; the steps of the way are for whoever wants to know where they are.
KNOWN = {
    "steps": ("Table", "Columns", "Check", "Measure", "Result"),
    "version": __version__,
    "n_conditions": CONDITIONS,
    "operators": OPERATORS,
    "uses": USES,
    "fields": FIELDS,
    "reading": READING,
}


@cache
def _environment() -> Environment:
    templates = environment("intravar.app", {"key": key_of})
    templates.globals |= KNOWN
    return templates


def screen(name: str, /, status: int = 200, **content: Any) -> HTMLResponse:
    """Return a screen; a name of a file that is no text is shown with question marks."""
    page = _environment().get_template(f"{name}.html.j2").render(content)
    return HTMLResponse(page.encode("utf-8", "replace"), status)


def onward(address: str) -> RedirectResponse:
    """Lead to another screen."""
    return RedirectResponse(address, 303)


class WaitingError(Exception):
    """An answer is not there yet; the message says what is being done."""


class Result(NamedTuple):
    """A measurement that is looked at: its part of an address, its folder and what it publishes."""

    key: str
    folder: Path
    published: Published

    @property
    def physicians(self) -> list[str]:
        """What everybody in it is called."""
        rows = (row for each in self.published.decisions for row in each.physicians)
        return sorted({row.physician for row in rows})


class Desk:
    """All that screens share; `sealed` gives the address below which a folder's pages are shown."""

    def __init__(self, places: Places, sealed: Callable[[str], str]) -> None:
        self.places = places
        self.sealed = sealed
        self.scratch = Path(tempfile.mkdtemp(prefix="intravar-app-")).resolve()
        self.helper = Helper(self.scratch / "helper.log")
        self.job: Job | None = None
        self.quit: Callable[[], None] = lambda: None
        #: Cases that the user asked to see, having read what they show: result and physician.
        self.may_see: set[tuple[str, str]] = set()
        self._drafts: dict[str, Draft] = {}
        #: Questions that a screen waits for.
        self._asked: dict[str, Future[Any]] = {}
        #: What was begun: words, answer, and how the screen of the answer is made.
        self._begun: dict[str, tuple[str, Future[Any], Then]] = {}

    def keep(self, draft: Draft) -> Draft:
        """Remember the choices about a table."""
        self._drafts[draft.id] = draft
        return draft

    def draft(self, name: str) -> Draft:
        """Return remembered choices."""
        if name not in self._drafts:
            raise InputError("this table is no longer open; choose it again on the first screen")
        return self._drafts[name]

    def result(self, key: str) -> Result:
        """Return the measurement of an address, of one decision or several."""
        folder = self.places.allowed_measurement(path_of(key))
        return Result(key, folder, read_published(folder))

    async def answer(self, words: str, task: Task, /, **given: Any) -> Any:
        """Return an answer of the helper; if it is not there soon, let the screen say `words`.

        The screen then asks again, until it gets the answer or the error.
        """
        key = repr((task.__name__, given))
        if key not in self._asked:
            self._asked[key] = self.helper.ask(task, **given)
        answer = self._asked[key]
        try:
            return await _soon(words, answer)
        finally:
            if answer.done():
                self._asked.pop(key, None)

    def begin(self, words: str, then: Then, task: Task, /, **given: Any) -> Response:
        """Lead to a screen that says `words` until the helper has answered; `then` makes the next.

        What is begun may change the answers to questions that were asked before.
        """
        self._asked.clear()
        name = secrets.token_urlsafe(6)
        self._begun[name] = words, self.helper.ask(task, **given), then
        return onward(f"/task/{name}")

    async def finish(self, name: str) -> Response:
        """Return the screen that something begun ends in."""
        if name not in self._begun:
            raise InputError("this was not begun here; go back to the first screen")
        words, answer, then = self._begun[name]
        return then(await _soon(words, answer))

    def start(self, job: Job) -> None:
        """Start a measurement, unless one is running."""
        if self.job is not None and self.job.running:
            raise InputError(
                "a measurement is running, and one runs at a time; wait for its end or stop it"
            )
        self.job = job
        job.start()

    def close(self) -> None:
        """End what was started, the measurement as with Ctrl-C; take away what was for now."""
        if self.job is not None:
            self.job.stop()
            self.job.wait()
        self.helper.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


async def _soon(words: str, answer: Future[Any]) -> Any:
    await asyncio.to_thread(wait, [answer], PATIENCE)
    if not answer.done():
        raise WaitingError(words)
    return answer.result()


def route(path: str, show: Callable[..., Awaitable[Response]], method: str = "GET") -> Route:
    """Return the route to a screen.

    It is given the desk, the texts of its form or address, and what its path names: a draft, a
    result for a key, anything else as it is.
    """

    async def shown(request: Request) -> Response:
        desk: Desk = request.app.state.desk
        named: dict[str, Any] = dict(request.path_params)
        if "draft" in named:
            draft = named["draft"] = desk.draft(named["draft"])
            # A link may have taken the place of the table since it was opened.
            draft.source = desk.places.allowed(draft.source)
            if draft.waits_for_confirmation and path != QUERY:
                return onward(QUERY.format(draft=draft.id))
        if "key" in named:
            named["result"] = desk.result(named.pop("key"))
        form = request.query_params
        if method == "POST":
            given = (await request.form(max_fields=MOST_FIELDS)).multi_items()
            form = QueryParams([(name, text) for name, text in given if isinstance(text, str)])
        return await show(desk, form, **named)

    return Route(path, shown, methods=[method])
