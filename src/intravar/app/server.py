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
from starlette.responses import Response
from starlette.routing import Route

from intravar.app import helper, screens
from intravar.app.desk import QUERY, Desk, WaitingError, onward, route, screen
from intravar.app.draft import Draft, on_screen
from intravar.app.guard import Guard
from intravar.app.helper import DefectError
from intravar.app.places import OutsideError, Places, key_of
from intravar.documents.colours import INKS, style_of
from intravar.documents.html import template_text
from intravar.errors import InputError, machine_fault
from intravar.sources.paths import defect_lines

LOOPBACK = "127.0.0.1"
DEMO = "example"


def _style(request: Request) -> Response:
    """Return the style of all screens: that of the pages, and the app's own."""
    text = style_of(INKS) + template_text("base.css") + template_text("app.css", "intravar.app")
    return Response(text, media_type="text/css")


def _script(request: Request) -> Response:
    """Return the script of all screens."""
    return Response(template_text("app.js", "intravar.app"), media_type="text/javascript")


ROUTES = [
    route("/", screens.home),
    Route("/app.css", _style),
    Route("/app.js", _script),
    route("/open", screens.open_table, "POST"),
    Route("/upload", screens.upload, methods=["POST"]),
    route("/example", screens.example, "POST"),
    route(QUERY, screens.query),
    route(QUERY, screens.confirm_query, "POST"),
    route("/table/{draft}", screens.table),
    route("/table/{draft}", screens.choose, "POST"),
    route("/check/{draft}", screens.check),
    route("/leaks/{draft}", screens.leaks, "POST"),
    route("/measure/{draft}", screens.measure, "POST"),
    route("/task/{task}", screens.task),
    route("/run", screens.run),
    route("/run/stop", screens.stop, "POST"),
    route("/result/{key}", screens.result),
    route("/page/{seal}/{key}/{file}", screens.page),
    route("/file/{key}/{what}", screens.download),
    route("/sheet/{key}", screens.sheet),
    route("/explain/{key}", screens.explain),
    route("/explain/{key}", screens.may_see, "POST"),
    route("/compare", screens.compare),
    route("/review/{key}", screens.review),
    route("/review/{key}/draw", screens.draw_pairs, "POST"),
    route("/review/{key}/answer", screens.answer_pair, "POST"),
    route("/review/{key}/read", screens.read_answers, "POST"),
    route("/quit", screens.leave, "POST"),
]


def make_app(places: Places, port: int, token: str) -> tuple[Guard, Desk]:
    """Return the app behind its guard, and what its screens share.

    It will listen on a port; the printed address bears the token.
    """
    handled = (InputError, DefectError, WaitingError, OSError, Exception, 400, 404, 405)
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
    if isinstance(error, HTTPException) and error.status_code == 400:
        status, title = 400, "That did not work"
        words = f"the form could not be read ({error.detail}); go back and send it again"
    elif isinstance(error, HTTPException):
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
    earlier = [each for each in desk.places.measurements() if each.folder.name == DEMO]
    if earlier:
        return f"/result/{key_of(earlier[0].folder)}"

    out = desk.places.new_result(DEMO)
    path = desk.places.uploads() / screens.EXAMPLE_FILE
    draft = desk.keep(Draft(path, {"physician": "physician", "decision": "decision"}))

    def started(_: None) -> Response:
        return screens.start(desk, draft, out) if desk.job is None else onward("/run")

    return desk.begin(screens.MAKING, started, helper.example, target=path).headers["location"]
