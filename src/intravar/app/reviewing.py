"""Screens of the blind review: plan it, draw pairs, answer one after the other, see the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from intravar.app.desk import Desk
from intravar.app.rendering import screen
from intravar.app.tables import desk_of
from intravar.errors import InputError
from intravar.publication.files import SUMMARY
from intravar.publication.folders import REVIEW_FILE, private_folder

#: Pairs that are offered to be drawn.
SIZES = (30, 60, 120, 240)


def _asked(request: Request) -> tuple[Desk, str, Path]:
    """Return what screens share, the result that is reviewed as part of an address, its folder."""
    desk, key = desk_of(request), request.path_params["key"]
    return desk, key, desk.places.opened(key)[0]


async def show(request: Request) -> Response:
    """Show the pair that is next, or what a review would give before any were drawn."""
    desk, key, folder = _asked(request)
    files = [folder / SUMMARY, private_folder(folder) / REVIEW_FILE]
    found = await desk.answer(
        "Looking up the pairs",
        "review",
        folder=str(folder),
        reviewer=request.query_params.get("reviewer"),
        pair=request.query_params.get("pair"),
        changed=[file.stat().st_mtime_ns for file in files if file.exists()],
    )
    name = "review" if found["drawn"] else "review_plan"
    return screen(name, key=key, folder=folder, found=found, sizes=SIZES)


async def draw(request: Request) -> Response:
    """Draw pairs."""
    desk, key, folder = _asked(request)
    form = await request.form()
    number = str(form.get("pairs", ""))
    if not number.isdigit():
        raise InputError(f"'{number}' is no number of pairs; choose one of the list")
    given = {"more" if form.get("more") else "pairs": int(number)}
    drawn = desk.helper.ask("draw_pairs", again=True, folder=str(folder), **given)
    return desk.begin("Drawing pairs", drawn, lambda _: RedirectResponse(f"/review/{key}", 303))


async def answer(request: Request) -> Response:
    """Keep an answer, and go on to the next pair."""
    desk, key, folder = _asked(request)
    form = await request.form()
    names = ("pair", "answer", "reason", "comment", "reviewer")
    given = {name: str(form.get(name, "")) for name in names}
    kept = desk.helper.ask("keep_answer", again=True, folder=str(folder), **given)
    onward = f"/review/{key}?{urlencode({'reviewer': given['reviewer']})}"
    return desk.begin("Keeping the answer", kept, lambda _: RedirectResponse(onward, 303))


async def read(request: Request) -> Response:
    """Add what the answers tell to the measurement, and say it."""
    desk, key, folder = _asked(request)
    told = desk.helper.ask("read_review", again=True, folder=str(folder))

    def shown(found: dict[str, Any]) -> Response:
        return screen("review_read", key=key, folder=folder, found=found)

    return desk.begin("Working out what the answers tell", told, shown)
