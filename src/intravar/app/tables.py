"""Screens from a file to a measurement: choose, look, choose columns, check, run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from intravar.app import helper
from intravar.app.desk import Desk, desk_of, screen
from intravar.app.draft import READING, Draft, on_screen, opened
from intravar.app.job import Job
from intravar.app.places import OutsideError, plain_name
from intravar.errors import InputError
from intravar.publication.files import private_folder
from intravar.writing import make_private, make_private_folder, write_private

EXAMPLE_FILE = "example.csv"
MAKING = "Making the example"
#: Bytes that are read of an upload at a time.
AT_A_TIME = 1_000_000


def _to(place: str) -> RedirectResponse:
    return RedirectResponse(place, 303)


async def home(request: Request) -> Response:
    """Choose a table, or open a measurement."""
    desk = desk_of(request)
    places = desk.places
    given = request.query_params.get("folder")
    folder = places.folders[0] if given is None else places.allowed(given)
    if not folder.is_dir():
        raise InputError(f"'{folder}' is not a folder; choose one from the list")
    return screen(
        "home",
        folder=folder,
        folders=places.folders,
        above=places.parent(folder),
        entries=places.entries(folder),
        measurements=places.measurements(),
        results=places.results,
        job=desk.job,
    )


async def open_table(request: Request) -> Response:
    """Open a table, a request's file or a measurement by its path."""
    desk = desk_of(request)
    form = await request.form()
    path = desk.places.allowed(str(form.get("path", "")))
    if not path.is_file():
        raise InputError(f"there is no file '{path}'; choose one from the list")
    draft = desk.keep(opened(path, desk.places.allowed))
    return _to(f"/table/{draft.id}")


async def upload(request: Request) -> Response:
    """Take over a file that was dropped or chosen; it is kept for its owner alone."""
    desk = desk_of(request)
    size = request.headers.get("content-length", "")
    if not size.isdigit():
        raise InputError("the browser did not say how large the file is; choose it from the list")
    desk.places.room_for(int(size))
    form = await request.form(max_files=1)
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InputError("no file was chosen; choose one, then press the button")
    target = desk.places.new_table(Path(file.filename).name)
    with target.open("xb") as written:
        make_private(target)
        while part := await file.read(AT_A_TIME):
            written.write(part)
    draft = desk.keep(opened(target, desk.places.allowed))
    return _to(f"/table/{draft.id}")


async def example(request: Request) -> Response:
    """Open the example's table."""
    desk = desk_of(request)
    draft = desk.keep(Draft(desk.places.tables() / EXAMPLE_FILE))
    address = f"/table/{draft.id}"
    return desk.begin(MAKING, lambda _: _to(address), helper.example, target=draft.source)


async def task(request: Request) -> Response:
    """Show what something that was begun has come to, or that it is still being done."""
    return await desk_of(request).finish(request.path_params["task"])


async def table(request: Request) -> Response:
    """Show the first rows and what each column seems to be; take over what is chosen."""
    desk = desk_of(request)
    draft = desk.draft(request.path_params["draft"])
    if request.method == "POST":
        form = await request.form()
        texts = {name: value for name, value in form.items() if isinstance(value, str)}
        if "reread" in form:
            draft.asked = {name: texts[name] for name in READING if texts.get(name, "").strip()}
            return _to(f"/table/{draft.id}")
        try:
            draft.choose(texts, lambda name: [str(each) for each in form.getlist(name)])
            draft.request()
            return _to(f"/check/{draft.id}")
        except InputError as refused:
            draft.error = refused.naming(on_screen)
            return _to(f"/table/{draft.id}")
    preview: dict[str, Any] | None = None
    error = draft.error
    try:
        preview = await desk.answer(
            "Reading the table", helper.look, source=draft.source, reading=draft.reading
        )
    except OutsideError:
        raise
    except InputError as refused:
        error = error or refused.naming(on_screen)
    draft.error = ""
    status = 400 if error else 200
    return screen("table", status, draft=draft, preview=preview, error=error, asked=draft.asked)


async def check(request: Request) -> Response:
    """Say what the table holds, what may be wrong with it and how long measuring will take."""
    desk = desk_of(request)
    draft = desk.draft(request.path_params["draft"])
    draft.request()
    checks = await desk.answer(
        "Checking the table", helper.check, source=draft.source, asked=draft.asked
    )
    draft.expected = sum(each["estimated_seconds"] for each in checks)
    decision = str(draft.asked.get("decision_word") or draft.asked["decision"])
    return screen(
        "check",
        draft=draft,
        checks=checks,
        name=plain_name(f"{draft.source.name.split('.')[0]} {decision}".replace(",", " ")),
        earlier=desk.places.measurements(),
        job=desk.job,
    )


async def leaks(request: Request) -> Response:
    """Leave out columns that are known only after the decision."""
    draft = desk_of(request).draft(request.path_params["draft"])
    form = await request.form()
    after = [*draft.asked.get("after", ()), *map(str, form.getlist("column"))]
    draft.asked["after"] = list(dict.fromkeys(after))
    return _to(f"/check/{draft.id}")


async def measure(request: Request) -> Response:
    """Start the measurement."""
    desk = desk_of(request)
    draft = desk.draft(request.path_params["draft"])
    form = await request.form()
    key = None
    if earlier := str(form.get("earlier", "")):  # its key gives the same pseudonyms
        key = private_folder(desk.places.opened(earlier)[0]) / "key.json"
    again = str(form.get("again", ""))
    out = desk.places.allowed(again) if again else desk.places.new_result(str(form.get("name", "")))
    return start(desk, draft, out, key)


def start(desk: Desk, draft: Draft, out: Path, key: Path | None = None) -> Response:
    """Start the measurement of a draft, and lead to the screen that shows how it goes on."""
    study = make_private_folder(desk.places.results / "studies") / f"{out.name}.toml"
    write_private(study, draft.request().to_toml(str(draft.source)).encode())
    command = ["measure", str(study), "--out", str(out)]
    command += [] if key is None else ["--key", str(key)]
    log = desk.places.results / "logs" / f"{out.name}.log"
    desk.start(Job(command, out, draft.expected, log, draft.id))
    return _to("/run")


async def run(request: Request) -> Response:
    """Show how the measurement goes on."""
    desk = desk_of(request)
    if desk.job is None:
        raise InputError("no measurement is running; choose a table on the first screen")
    return screen("run", job=desk.job, progress=desk.job.progress())


async def stop(request: Request) -> Response:
    """Stop the measurement."""
    job = desk_of(request).job
    if job is not None:
        job.stop()
    return _to("/run")


async def leave(request: Request) -> Response:
    """End the app."""
    desk_of(request).quit()
    return screen("goodbye")
