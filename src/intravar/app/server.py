"""The server: from the folders that the user allows to a running app."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from intravar.app import results, reviewing, tables
from intravar.app.desk import Desk, WaitingError
from intravar.app.draft import Draft
from intravar.app.guard import Guard
from intravar.app.helper import DefectError
from intravar.app.places import OutsideError, Places, key_of
from intravar.app.rendering import screen, script, style
from intravar.defects import defect_lines
from intravar.errors import InputError, machine_fault

LOOPBACK = "127.0.0.1"
DEMO = "example"


ROUTES = [
    Route("/", tables.home),
    Route("/app.css", lambda request: Response(style(), media_type="text/css")),
    Route("/app.js", lambda request: Response(script(), media_type="text/javascript")),
    Route("/open", tables.open_table, methods=["POST"]),
    Route("/upload", tables.upload, methods=["POST"]),
    Route("/example", tables.example, methods=["POST"]),
    Route("/table/{draft}", tables.table, methods=["GET", "POST"]),
    Route("/check/{draft}", tables.check),
    Route("/leaks/{draft}", tables.leaks, methods=["POST"]),
    Route("/measure/{draft}", tables.measure, methods=["POST"]),
    Route("/task/{task}", tables.task),
    Route("/run", tables.run),
    Route("/run/state", tables.run_state),
    Route("/run/stop", tables.stop, methods=["POST"]),
    Route("/result/{key}", results.result),
    Route("/page/{seal}/{key}/{file}", results.page),
    Route("/file/{key}/{what}", results.download),
    Route("/sheet/{key}", results.sheet),
    Route("/explain/{key}", results.explain, methods=["GET", "POST"]),
    Route("/compare", results.compare),
    Route("/review/{key}", reviewing.show),
    Route("/review/{key}/draw", reviewing.draw, methods=["POST"]),
    Route("/review/{key}/answer", reviewing.answer, methods=["POST"]),
    Route("/review/{key}/read", reviewing.read, methods=["POST"]),
    Route("/quit", tables.leave, methods=["POST"]),
]


def make_app(places: Places, port: int, token: str) -> tuple[Guard, Desk]:
    """Return the app behind its guard, and what its screens share.

    Parameters
    ----------
    places
        Folders that may be opened.
    port
        Where it will listen.
    token
        What the printed address bears.
    """
    app = Starlette(
        routes=ROUTES,
        exception_handlers={
            InputError: _refused,
            DefectError: _defect,
            WaitingError: _waiting,
            OSError: _machine,
            Exception: _unexpected,
            404: _lost,
            405: _lost,
        },
    )
    guard = Guard(app, port, token)
    desk = Desk(places, guard.sealed)
    app.state.desk = desk
    return guard, desk


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)
    status = 403 if isinstance(error, OutsideError) else 400
    return screen("message", status, title="That did not work", words=error.on_command_line)


async def _machine(request: Request, error: Exception) -> Response:
    words = machine_fault(error) or f"a file could not be read or written: {error}"
    return screen("message", 500, title="That did not work", words=words)


async def _defect(request: Request, error: Exception) -> Response:
    return screen("message", 500, title="This should not have happened", words=str(error))


async def _unexpected(request: Request, error: Exception) -> Response:
    return await _defect(request, DefectError("; ".join(defect_lines(error))))


async def _waiting(request: Request, error: Exception) -> Response:
    return screen("waiting", 202, words=str(error), again=str(request.url))


async def _lost(request: Request, error: Exception) -> Response:
    words = "there is no such screen; go back to the first one"
    return screen("message", 404, title="Nothing is here", words=words)


def bound(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address; 0 takes any free port."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        raise InputError(
            f"port {port} of this computer cannot be used ({error}); is another app running "
            "there? Leave --port out, or name another"
        ) from error
    return listening


def serve(
    folders: Sequence[Path],
    *,
    results: Path | None = None,
    port: int = 0,
    demo: bool = False,
    ready: Callable[[str, Places], None],
) -> None:
    """Run the app until it is ended.

    Parameters
    ----------
    folders, results
        What may be opened, and where results go; see :class:`Places`.
    port
        Where to listen on the loopback address; 0 takes any free port.
    demo
        Whether the example is measured at once.
    ready
        Told the address when the app listens.
    """
    places = Places(folders, results)
    os.umask(0o077)  # whatever is written is for its owner alone
    listening = bound(port)
    token = secrets.token_urlsafe(24)
    number = listening.getsockname()[1]
    app, desk = make_app(places, number, token)
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off")
    server = uvicorn.Server(config)

    def leave() -> None:
        server.should_exit = True

    desk.quit = leave
    try:
        desk.helper.start()
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

    def started(path: str) -> Response:
        draft = desk.keep(Draft(Path(path), {"physician": "physician", "decision": "decision"}))
        tables.start(desk, draft, out, 10.0)
        return RedirectResponse("/run", 303)

    path = desk.places.tables() / tables.EXAMPLE_FILE
    made = desk.helper.ask("example", path=str(path))
    return desk.begin("Making the example", made, started).headers["location"]
