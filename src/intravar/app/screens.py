"""The screens: from a file to a measurement, and those of measurements that are there."""

import shlex
from asyncio import wrap_future
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from intravar import documents
from intravar import review as pair_review
from intravar.app import helper
from intravar.app.desk import Desk, desk_of, screen
from intravar.app.draft import READING, Draft, on_screen, opened
from intravar.app.job import Job
from intravar.app.places import OutsideError, key_of, plain_name
from intravar.documents.sheet import with_figure
from intravar.errors import InputError
from intravar.publication.files import private_folder
from intravar.publication.results import Published
from intravar.writing import make_private, make_private_folder, write_private

EXAMPLE_FILE = "example.csv"
MAKING = "Making the example"
#: Bytes that are read of an upload at a time.
AT_A_TIME = 1_000_000
REQUEST = "request.toml"
#: What can be downloaded of a measurement.
DOWNLOADS = {
    "html": "the page, one file that opens anywhere",
    "pdf": "PDF, to print and to send",
    "docx": "Word, to edit",
    "xlsx": "Excel, the tables",
    "toml": "study.toml, what was asked for",
}


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


# --- measurements that are there ---


def _asked(request: Request) -> tuple[Desk, str, Path, Published]:
    """Return what screens share; and of a result its part of an address, folder and content."""
    desk, key = desk_of(request), request.path_params["key"]
    return desk, key, *desk.places.opened(key)


async def result(request: Request) -> Response:
    """Show the page as it is published, and what can be done with it."""
    desk, key, folder, published = _asked(request)
    measured = desk.places.measurements(folder.parent)
    return screen(
        "result",
        key=key,
        folder=folder,
        several=len(published.decisions) > 1,
        words=published.words,
        page=f"{desk.sealed(key)}/report.html",
        downloads=DOWNLOADS,
        physicians=_physicians(published),
        with_figure=with_figure(published),
        others=[each for each in measured if each.folder != folder],
        command=shlex.join(["intravar", "measure", str(folder / REQUEST), "--out", "again"]),
    )


def _physicians(published: Published) -> list[str]:
    """Return what everybody in a result is called."""
    return sorted({row.physician for each in published.decisions for row in each.physicians})


async def page(request: Request) -> Response:
    """Show a published page; the address is sealed for its folder, see `guard`."""
    desk, _, folder, _ = _asked(request)
    name = request.path_params["file"]
    if not name.endswith(".html") or not (folder / name).is_file():
        raise InputError(f"there is no page '{name}' in '{folder.name}'")
    return FileResponse(desk.places.allowed(folder / name), media_type="text/html")


async def download(request: Request) -> Response:
    """Hand over a file of a measurement, made now if it is not there."""
    desk, _, folder, _ = _asked(request)
    what = request.path_params["what"]
    if what not in DOWNLOADS:
        raise InputError(f"there is no download '{what}'; choose one of the list")
    if what == "toml":
        return _handed(folder / REQUEST, "study.toml")
    path = folder / "report.html"
    if what != "html":
        path = (await wrap_future(desk.helper.ask(documents.write_files, folder, [what])))[0]
    return _handed(path, f"{folder.name}.{what}")


async def sheet(request: Request) -> Response:
    """Hand over the sheet of one physician, or those of all as an archive."""
    desk, _, folder, published = _asked(request)
    physician = request.query_params.get("physician") or None
    if physician is not None and physician not in _physicians(published):
        raise InputError(f"there is nobody called '{physician}' in this result")
    out = desk.scratch / f"sheets-{plain_name(physician or 'all')}-{key_of(folder)[-40:]}"
    path = await wrap_future(desk.helper.ask(helper.sheets, folder, out, physician))
    return _handed(path, path.name if physician else f"{folder.name} sheets.zip")


def _handed(path: Path, name: str) -> Response:
    if not path.is_file():
        raise InputError(f"'{path}' is not there; measure again")
    return FileResponse(path, filename=name, content_disposition_type="attachment")


async def compare(request: Request) -> Response:
    """Set two measurements side by side."""
    desk = desk_of(request)
    keys = [request.query_params.get(name, "") for name in ("first", "second")]
    if not all(keys) or keys[0] == keys[1]:
        raise InputError("two measurements are needed to compare; choose two different ones")
    folders = [desk.places.opened(key)[0] for key in keys]
    words = "Comparing the two measurements"
    changes = await desk.answer(words, helper.compare, first=folders[0], second=folders[1])
    return screen("compare", changes=changes, folders=folders, keys=keys)


async def explain(request: Request) -> Response:
    """Show the cases behind a physician, once the user has read what this shows."""
    desk, key, folder, published = _asked(request)
    form = await request.form() if request.method == "POST" else request.query_params
    physicians = _physicians(published)
    physician = str(form.get("physician", ""))
    if physician not in physicians:
        raise OutsideError(f"there is nobody called '{physician}' in this result")
    if request.method == "POST":
        desk.may_see.add((key, physician))
        return _to(f"/explain/{key}?{urlencode({'physician': physician})}")
    cases = None
    if (key, physician) in desk.may_see:
        words = "Looking for the cases"
        cases = await desk.answer(words, helper.explain, folder=folder, physician=physician)
    return screen(
        "explain",
        key=key,
        physicians=physicians,
        physician=physician,
        cases=cases,
        words=published.words,
    )


# --- the blind review: plan it, draw pairs, answer one after the other, see the answer ---


async def review(request: Request) -> Response:
    """Show the pair that is next, or what a review would give before any were drawn."""
    desk, key, folder, _ = _asked(request)
    asked = {name: request.query_params.get(name) for name in ("reviewer", "pair")}
    state = await desk.answer("Looking up the pairs", helper.review, folder=folder, **asked)
    name = "review_plan" if state["plan"] else "review"
    return screen(name, key=key, review=state)


async def draw_pairs(request: Request) -> Response:
    """Draw pairs."""
    desk, key, folder, _ = _asked(request)
    form = await request.form()
    number = str(form.get("pairs", ""))
    if not number.isdigit():
        raise InputError(f"'{number}' is no number of pairs; choose one of the list")
    given = {"pairs": 0, "more" if form.get("more") else "pairs": int(number)}
    onward = _to(f"/review/{key}")
    return desk.begin("Drawing pairs", lambda _: onward, pair_review.draw, folder=folder, **given)


async def answer_pair(request: Request) -> Response:
    """Keep an answer, and go on to the next pair."""
    desk, key, folder, _ = _asked(request)
    form = await request.form()
    names = ("pair", "answer", "reason", "comment", "reviewer")
    given = {name: str(form.get(name, "")) for name in names}
    if given["answer"] != "different":
        given["reason"] = ""
    address = f"/review/{key}?{urlencode({'reviewer': given['reviewer']})}"
    onward, words = _to(address), "Keeping the answer"
    return desk.begin(words, lambda _: onward, pair_review.answer, folder=folder, **given)


async def read_answers(request: Request) -> Response:
    """Add what the answers tell to the measurement, and say it."""
    desk, key, folder, _ = _asked(request)

    def page(summary: dict[str, Any]) -> Response:
        return screen("review_read", key=key, summary=summary)

    words = "Working out what the answers tell"
    return desk.begin(words, page, helper.read_review, folder=folder)
