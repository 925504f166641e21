"""The server: from the folders that the user allows to a running app."""

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from intravar.app import helper, screens
from intravar.app.desk import Desk, WaitingError, screen, script, style
from intravar.app.draft import Draft, on_screen
from intravar.app.guard import Guard
from intravar.app.helper import DefectError
from intravar.app.places import OutsideError, Places, key_of
from intravar.errors import InputError, machine_fault
from intravar.sources.defects import defect_lines

LOOPBACK = "127.0.0.1"
DEMO = "example"


ROUTES = [
    Route("/", screens.home),
    Route("/app.css", style),
    Route("/app.js", script),
    Route("/open", screens.open_table, methods=["POST"]),
    Route("/upload", screens.upload, methods=["POST"]),
    Route("/example", screens.example, methods=["POST"]),
    Route("/table/{draft}", screens.table, methods=["GET", "POST"]),
    Route("/check/{draft}", screens.check),
    Route("/leaks/{draft}", screens.leaks, methods=["POST"]),
    Route("/measure/{draft}", screens.measure, methods=["POST"]),
    Route("/task/{task}", screens.task),
    Route("/run", screens.run),
    Route("/run/stop", screens.stop, methods=["POST"]),
    Route("/result/{key}", screens.result),
    Route("/page/{seal}/{key}/{file}", screens.page),
    Route("/file/{key}/{what}", screens.download),
    Route("/sheet/{key}", screens.sheet),
    Route("/explain/{key}", screens.explain, methods=["GET", "POST"]),
    Route("/compare", screens.compare),
    Route("/review/{key}", screens.review),
    Route("/review/{key}/draw", screens.draw_pairs, methods=["POST"]),
    Route("/review/{key}/answer", screens.answer_pair, methods=["POST"]),
    Route("/review/{key}/read", screens.read_answers, methods=["POST"]),
    Route("/quit", screens.leave, methods=["POST"]),
]


def make_app(places: Places, port: int, token: str) -> tuple[Guard, Desk]:
    """Return the app behind its guard, and what its screens share.

    It will listen on a port; the printed address bears the token.
    """
    handled = (InputError, DefectError, WaitingError, OSError, Exception, 404, 405)
    app = Starlette(routes=ROUTES, exception_handlers=dict.fromkeys(handled, _error_screen))
    guard = Guard(app, port, token)
    desk = Desk(places, guard.sealed)
    app.state.desk = desk
    return guard, desk


async def _error_screen(request: Request, error: Exception) -> Response:
    """Return the screen that says what went wrong, and what to do."""
    if isinstance(error, WaitingError):
        return screen("waiting", 202, words=str(error), again=str(request.url))
    status, title, words = 500, "This should not have happened", str(error)
    if isinstance(error, HTTPException):
        status, title = 404, "Nothing is here"
        words = "there is no such screen; go back to the first one"
    elif isinstance(error, InputError):
        status, title = 403 if isinstance(error, OutsideError) else 400, "That did not work"
        words = error.naming(on_screen)
    elif isinstance(error, OSError):
        title = "That did not work"
        words = machine_fault(error) or f"a file could not be read or written: {error}"
    elif not isinstance(error, DefectError):
        words = "; ".join(defect_lines(error))
    return screen("message", status, title=title, words=words)


def bound(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address; 0 takes any free port."""
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        raise InputError(
            f"port {port} of this computer cannot be used ({error}); is another app running "
            "there? Leave --port out, or name another"
        ) from error


def serve(
    folders: Sequence[Path],
    *,
    results: Path | None = None,
    port: int = 0,
    demo: bool = False,
    ready: Callable[[str, Places], None],
) -> None:
    """Run the app on the loopback address until it is ended; port 0 takes any free one.

    For a demo the example is measured at once; `ready` is told the address when the app listens.
    """
    places = Places(folders, results)
    os.umask(0o077)  # whatever is written is for its owner alone
    listening = bound(port)
    token = secrets.token_urlsafe(24)
    number = listening.getsockname()[1]
    app, desk = make_app(places, number, token)
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off")
    server = uvicorn.Server(config)

    desk.quit = partial(setattr, server, "should_exit", True)
    try:
        desk.helper.ask(helper.ready)  # so that the first answer comes soon
        if demo:
            app.landing = start_demo(desk)
        ready(f"http://{LOOPBACK}:{number}/?token={token}", places)
        server.run(sockets=[listening])
    finally:
        desk.close()
        listening.close()


def start_demo(desk: Desk) -> str:
    """Return the screen that shows the example, which is measured if it is not there."""
    out = desk.places.results / DEMO
    if (out / "report.html").is_file():
        return f"/result/{key_of(out)}"

    path = desk.places.tables() / screens.EXAMPLE_FILE
    draft = desk.keep(Draft(path, {"physician": "physician", "decision": "decision"}))

    def started(_: None) -> Response:
        return (
            screens.start(desk, draft, out) if desk.job is None else RedirectResponse("/run", 303)
        )

    return desk.begin(screens.MAKING, started, helper.example, target=path).headers["location"]
