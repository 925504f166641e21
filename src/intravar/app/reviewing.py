"""Screens of the blind review: plan it, draw pairs, answer one after the other, see the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from intravar.app.rendering import screen
from intravar.app.tables import desk_of
from intravar.errors import InputError

#: Pairs that are offered to be drawn.
SIZES = (30, 60, 120, 240)


async def show(request: Request) -> Response:
    """Show the pair that is next, or what a review would give before any were drawn."""
    desk = desk_of(request)
    key = request.path_params["key"]
    folder, _ = desk.places.opened(key)
    found = await desk.whole(
        "review",
        again=True,
        folder=str(folder),
        reviewer=request.query_params.get("reviewer"),
        pair=request.query_params.get("pair"),
    )
    name = "review" if found["drawn"] else "review_plan"
    return screen(name, key=key, folder=folder, found=found, sizes=SIZES)


async def draw(request: Request) -> Response:
    """Draw pairs."""
    desk = desk_of(request)
    key = request.path_params["key"]
    folder, _ = desk.places.opened(key)
    form = await request.form()
    number = str(form.get("pairs", ""))
    if not number.isdigit():
        raise InputError(f"'{number}' is no number of pairs; choose one of the list")
    more = bool(form.get("more"))
    given = {"more" if more else "pairs": int(number)}
    await desk.whole("draw_pairs", again=True, folder=str(folder), **given)
    return RedirectResponse(f"/review/{key}", 303)


async def answer(request: Request) -> Response:
    """Keep an answer, and go on to the next pair."""
    desk = desk_of(request)
    key = request.path_params["key"]
    folder, _ = desk.places.opened(key)
    form = await request.form()
    given = {
        name: str(form.get(name, ""))
        for name in ("pair", "answer", "reason", "comment", "reviewer")
    }
    await desk.whole("keep_answer", again=True, folder=str(folder), **given)
    query = urlencode({"reviewer": given["reviewer"]})
    return RedirectResponse(f"/review/{key}?{query}", 303)


async def read(request: Request) -> Response:
    """Add what the answers tell to the measurement, and say it."""
    desk = desk_of(request)
    key = request.path_params["key"]
    folder, _ = desk.places.opened(key)
    found: dict[str, Any] = await desk.whole("read_review", again=True, folder=str(folder))
    return screen("review_read", key=key, folder=Path(folder), found=found)
