"""The screens: from a file to a measurement, and those of measurements that are there."""

import shlex
from asyncio import wrap_future
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from intravar import documents
from intravar import review as pair_review
from intravar.app import helper
from intravar.app.desk import Desk, Result, onward, screen
from intravar.app.draft import DOWNLOADS, Draft, on_screen, opened
from intravar.app.helper import Job
from intravar.app.places import OutsideError, key_of, plain_name
from intravar.documents.sheet import with_figure
from intravar.errors import InputError
from intravar.publication.files import private_folder
from intravar.writing import make_private, write_private

EXAMPLE_FILE = "example.csv"
MAKING = "Making the example"
#: Bytes that are read of an upload at a time.
AT_A_TIME = 1_000_000
REQUEST = "request.toml"


async def home(desk: Desk, form: QueryParams) -> Response:
    """Choose a table, or open a measurement."""
    given = form.get("folder")
    folder = desk.places.folders[0] if given is None else desk.places.allowed(given)
    if not folder.is_dir():
        raise InputError(f"'{folder}' is not a folder; choose one from the list")
    return screen("home", folder=folder, places=desk.places, job=desk.job)


async def open_table(desk: Desk, form: QueryParams) -> Response:
    """Open a table, a request's file or a measurement by its path."""
    path = desk.places.allowed(form.get("path", ""))
    if not path.is_file():
        raise InputError(f"there is no file '{path}'; choose one from the list")
    draft = desk.keep(opened(path, desk.places.allowed))
    return onward(f"/table/{draft.id}")


async def upload(request: Request) -> Response:
    """Take over a file that was dropped or chosen; it is kept for its owner alone."""
    desk: Desk = request.app.state.desk
    size = request.headers.get("content-length", "")
    if not size.isdigit():
        raise InputError("the browser did not say how large the file is; choose it from the list")
    desk.places.room_for(int(size))
    file = (await request.form(max_files=1)).get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InputError("no file was chosen; choose one, then press the button")
    target = desk.places.new_table(Path(file.filename).name)
    with target.open("xb") as written:
        make_private(target)
        while part := await file.read(AT_A_TIME):
            written.write(part)
    return await open_table(desk, QueryParams({"path": str(target)}))


async def example(desk: Desk, form: QueryParams) -> Response:
    """Open the example's table."""
    draft = desk.keep(Draft(desk.places.uploads() / EXAMPLE_FILE))
    table = onward(f"/table/{draft.id}")
    return desk.begin(MAKING, lambda _: table, helper.example, target=draft.source)


async def task(desk: Desk, form: QueryParams, task: str) -> Response:
    """Show what something that was begun has come to, or that it is still being done."""
    return await desk.finish(task)


async def query(desk: Desk, form: QueryParams, draft: Draft) -> Response:
    """Show the query of a request's file, and ask whether to run it."""
    return screen("query", draft=draft)


async def confirm_query(desk: Desk, form: QueryParams, draft: Draft) -> Response:
    """Let the query that was shown be run from now on."""
    draft.query_confirmed = True
    return onward(f"/table/{draft.id}")


async def table(desk: Desk, form: QueryParams, draft: Draft) -> Response:
    """Show the first rows and what each column seems to be."""
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


async def choose(desk: Desk, form: QueryParams, draft: Draft) -> Response:
    """Take over what is chosen, or how the table is to be read."""
    if "reread" in form:
        draft.reread(form)
        return onward(f"/table/{draft.id}")
    try:
        draft.choose(form, form.getlist("also"))
        draft.request()
    except InputError as refused:
        draft.error = refused.naming(on_screen)
        return onward(f"/table/{draft.id}")
    return onward(f"/check/{draft.id}")


async def check(desk: Desk, form: QueryParams, draft: Draft) -> Response:
    """Say what the table holds, what may be wrong with it and how long measuring will take."""
    draft.request()
    checks = await desk.answer(
        "Checking the table", helper.check, source=draft.source, asked=draft.asked
    )
    draft.expected = sum(each["estimated_seconds"] for each in checks)
    decision = str(draft.asked.get("decision_word") or draft.asked["decision"])
    name = plain_name(f"{draft.source.name.split('.')[0]} {decision}".replace(",", " "))
    earlier = desk.places.measurements()
    return screen("check", draft=draft, checks=checks, name=name, earlier=earlier, job=desk.job)


async def leaks(desk: Desk, form: QueryParams, draft: Draft) -> Response:
    """Leave out columns that are known only after the decision, and confirm the others."""
    ticked = form.getlist("column")
    known_before = [column for column in form.getlist("flagged") if column not in ticked]
    for use, columns in (("after", ticked), ("confirm", known_before)):
        if columns:
            draft.asked[use] = list(dict.fromkeys([*draft.asked.get(use, ()), *columns]))
    return onward(f"/check/{draft.id}")


async def measure(desk: Desk, form: QueryParams, draft: Draft) -> Response:
    """Start the measurement."""
    key = None
    if earlier := form.get("earlier"):  # its key gives the same pseudonyms
        key = private_folder(desk.result(earlier).folder) / "key.json"
    again = form.get("again")
    places = desk.places
    out = places.same_result(again) if again else places.new_result(form.get("name", ""))
    return start(desk, draft, out, key)


def start(desk: Desk, draft: Draft, out: Path, key: Path | None = None) -> Response:
    """Start the measurement of a draft, and lead to the screen that shows how it goes on."""
    study = desk.places.request_file(out)
    write_private(study, draft.request().to_toml(str(draft.source)).encode())
    command = ["measure", str(study), "--out", str(out)]
    command += [] if key is None else ["--key", str(key)]
    desk.start(Job(command, out, draft.expected, desk.places.log_file(out), draft.id))
    return onward("/run")


async def run(desk: Desk, form: QueryParams) -> Response:
    """Show how the measurement goes on."""
    if desk.job is None:
        raise InputError("no measurement is running; choose a table on the first screen")
    return screen("run", job=desk.job, progress=desk.job.progress())


async def stop(desk: Desk, form: QueryParams) -> Response:
    """Stop the measurement."""
    if desk.job is not None:
        desk.job.stop()
    return onward("/run")


async def leave(desk: Desk, form: QueryParams) -> Response:
    """End the app."""
    desk.quit()
    return screen("goodbye")


# --- measurements that are there ---


async def result(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Show the page as it is published, and what can be done with it."""
    folder = result.folder
    measured = desk.places.measurements(folder.parent)
    return screen(
        "result",
        result=result,
        page=f"{desk.sealed(result.key)}/report.html",
        downloads=DOWNLOADS,
        with_figure=with_figure(result.published),
        others=[each for each in measured if each.folder != folder],
        command=shlex.join(["intravar", "measure", str(folder / REQUEST), "--out", "again"]),
    )


async def page(desk: Desk, form: QueryParams, seal: str, file: str, result: Result) -> Response:
    """Show a published page; the address is sealed for its folder, see `guard`."""
    if not file.endswith(".html"):
        raise InputError(f"there is no page '{file}' in '{result.folder.name}'")
    return _handed(desk, result.folder / file)


async def download(desk: Desk, form: QueryParams, what: str, result: Result) -> Response:
    """Hand over a file of a measurement, made now if it is not there."""
    folder = result.folder
    if what not in DOWNLOADS:
        raise InputError(f"there is no download '{what}'; choose one of the list")
    if what == "toml":
        return _handed(desk, folder / REQUEST, "study.toml")
    path = folder / "report.html"
    if what != "html":
        path = (await wrap_future(desk.helper.ask(documents.write_files, folder, [what])))[0]
    return _handed(desk, path, f"{folder.name}.{what}")


async def sheet(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Hand over the sheet of one physician, or those of all as an archive."""
    folder, physician = result.folder, form.get("physician") or None
    if physician is not None and physician not in result.physicians:
        raise InputError(f"there is nobody called '{physician}' in this result")
    out = desk.scratch / f"sheets-{plain_name(physician or 'all')}-{key_of(folder)[-40:]}"
    path = await wrap_future(desk.helper.ask(helper.sheets, folder, out, physician))
    return _handed(desk, path, path.name if physician else f"{folder.name} sheets.zip")


def _handed(desk: Desk, path: Path, name: str | None = None) -> Response:
    """Hand over a file: for download under a name, or as a page to look at without one."""
    allowed = desk.places.allowed(path, also=[desk.scratch])
    if not allowed.is_file():
        raise InputError(f"'{path}' is not there; measure again")
    if name is None:
        return FileResponse(allowed, media_type="text/html")
    return FileResponse(allowed, filename=name, content_disposition_type="attachment")


async def compare(desk: Desk, form: QueryParams) -> Response:
    """Set two measurements side by side."""
    keys = [form.get(name, "") for name in ("first", "second")]
    if not all(keys) or keys[0] == keys[1]:
        raise InputError("two measurements are needed to compare; choose two different ones")
    first, second = (desk.result(key).folder for key in keys)
    words = "Comparing the two measurements"
    changes = await desk.answer(words, helper.compare, first=first, second=second)
    return screen("compare", changes=changes, folders=(first, second), keys=keys)


def _physician(form: QueryParams, result: Result) -> str:
    """Return whose cases are meant, if the result has them."""
    physician = form.get("physician", "")
    if physician not in result.physicians:
        raise OutsideError(f"there is nobody called '{physician}' in this result")
    return physician


async def explain(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Show the cases behind a physician, once the user has read what this shows."""
    physician, cases = _physician(form, result), None
    if (result.key, physician) in desk.may_see:
        words = "Looking for the cases"
        cases = await desk.answer(words, helper.explain, folder=result.folder, physician=physician)
    return screen("explain", result=result, physician=physician, cases=cases)


async def may_see(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Show the cases behind a physician from now on."""
    physician = _physician(form, result)
    desk.may_see.add((result.key, physician))
    return onward(f"/explain/{result.key}?{urlencode({'physician': physician})}")


# --- the blind review: plan it, draw pairs, answer one after the other, see the answer ---


async def review(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Show the pair that is next, or what a review would give before any were drawn."""
    asked = {name: form.get(name) for name in ("reviewer", "pair")}
    state = await desk.answer("Looking up the pairs", helper.review, folder=result.folder, **asked)
    return screen("review_plan" if state["plan"] else "review", key=result.key, review=state)


async def draw_pairs(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Draw pairs."""
    number = form.get("pairs", "")
    if not number.isdigit():
        raise InputError(f"'{number}' is no number of pairs; choose one of the list")
    given = {"pairs": 0, "more" if form.get("more") else "pairs": int(number)}
    pairs, words = onward(f"/review/{result.key}"), "Drawing pairs"
    return desk.begin(words, lambda _: pairs, pair_review.draw, folder=result.folder, **given)


async def answer_pair(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Keep an answer, and go on to the next pair."""
    names = ("pair", "answer", "reason", "comment", "reviewer")
    given = {name: form.get(name, "") for name in names}
    if given["answer"] != "different":
        given["reason"] = ""
    following = onward(f"/review/{result.key}?{urlencode({'reviewer': given['reviewer']})}")
    words, answer = "Keeping the answer", pair_review.answer
    return desk.begin(words, lambda _: following, answer, folder=result.folder, **given)


async def read_answers(desk: Desk, form: QueryParams, result: Result) -> Response:
    """Add what the answers tell to the measurement, and say it."""

    def told(summary: dict[str, Any]) -> Response:
        return screen("review_read", key=result.key, summary=summary)

    words = "Working out what the answers tell"
    return desk.begin(words, told, helper.read_review, folder=result.folder)
