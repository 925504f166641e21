"""Screens of measurements that are there: the page, downloads, comparing, explaining, review."""

from __future__ import annotations

import shlex
from asyncio import wrap_future
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from intravar import documents
from intravar import review as pair_review
from intravar.app import helper
from intravar.app.desk import Desk, desk_of, screen
from intravar.app.places import OutsideError, key_of, plain_name
from intravar.documents.sheet import with_figure
from intravar.errors import InputError
from intravar.publication.results import Published

REQUEST = "request.toml"
#: What can be downloaded of a measurement.
DOWNLOADS = {
    "html": "the page, one file that opens anywhere",
    "pdf": "PDF, to print and to send",
    "docx": "Word, to edit",
    "xlsx": "Excel, the tables",
    "toml": "study.toml, what was asked for",
}


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
        return RedirectResponse(f"/explain/{key}?{urlencode({'physician': physician})}", 303)
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
    onward = RedirectResponse(f"/review/{key}", 303)
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
    onward, words = RedirectResponse(address, 303), "Keeping the answer"
    return desk.begin(words, lambda _: onward, pair_review.answer, folder=folder, **given)


async def read_answers(request: Request) -> Response:
    """Add what the answers tell to the measurement, and say it."""
    desk, key, folder, _ = _asked(request)

    def page(summary: dict[str, Any]) -> Response:
        return screen("review_read", key=key, summary=summary)

    words = "Working out what the answers tell"
    return desk.begin(words, page, helper.read_review, folder=folder)
