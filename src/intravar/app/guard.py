"""Who may talk to the app: this computer's own browser, with the address that was printed.

Every request must name this server in its Host header (a foreign name that was pointed at the
loopback address does not), must not come from another page (Origin, Sec-Fetch-Site), and must
bear the cookie that the token in the printed address was exchanged for. Published pages are shown
in a sandbox: they have an address of their own, sealed for their folder, and no cookie.
"""

import hashlib
import hmac
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHARED = {
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": with that a browser hides the Origin of our own forms.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SCREEN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-src 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
#: A published page brings its own scripts; it runs them apart from the app.
PAGE_POLICY = (
    "sandbox allow-scripts allow-downloads allow-popups allow-modals; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
)
NO_TOKEN = "Open the whole address that the app printed when it started, with its token.\n"
FOREIGN_HOST = "This app answers to its own address on this computer alone.\n"
FOREIGN_ORIGIN = "This request came from another page and was refused. Use the app's own screens.\n"


class Guard:
    """Lets requests through to the app that may get there; see the module."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._token = token
        #: The screen that the printed address leads to.
        self.landing = "/"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        # Cookies are shared by all ports of a host: each app has a name of its own.
        self._name = f"intravar-{port}"
        self._cookie = secrets.token_urlsafe(32)
        self._seal = secrets.token_bytes(32)

    def sealed(self, key: str) -> str:
        """Return the address below which the pages of a folder are shown."""
        seal = hmac.new(self._seal, key.encode(), hashlib.sha256).hexdigest()[:32]
        return f"/page/{seal}/{key}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request = Request(scope)
        answer = self._refused(request) or self._exchanged(request)
        page = self._is_page(request)
        if answer is None and not page and not self._known(request):
            answer = PlainTextResponse(NO_TOKEN, 403)
        policy = PAGE_POLICY if page else SCREEN_POLICY

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = SHARED | {"Content-Security-Policy": policy}
                if page:  # The sandbox has no origin; what it shows is for this computer's frame.
                    added |= {"Cross-Origin-Resource-Policy": "same-site"}
                MutableHeaders(scope=message).update(added)
            await send(message)

        await (answer or self._app)(scope, receive, guarded)

    def _refused(self, request: Request) -> Response | None:
        headers = request.headers
        if headers.get("host") not in self._hosts:
            return PlainTextResponse(FOREIGN_HOST, 400)
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return PlainTextResponse(FOREIGN_ORIGIN, 403)
        reading = request.method in ("GET", "HEAD")
        from_us = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        arriving = reading and (request.url.path == "/" or self._is_page(request))
        if not from_us and not arriving:
            return PlainTextResponse(FOREIGN_ORIGIN, 403)
        if not reading and origin is None and "sec-fetch-site" not in headers:
            return PlainTextResponse(FOREIGN_ORIGIN, 403)
        return None

    def _exchanged(self, request: Request) -> Response | None:
        """Exchange the token of the printed address for a cookie."""
        given = parse_qs(request.url.query).get("token")
        if request.url.path != "/" or not given:
            return None
        if not hmac.compare_digest(given[0].encode(), self._token.encode()):
            return PlainTextResponse(NO_TOKEN, 403)
        answer = RedirectResponse(self.landing, 303)
        answer.set_cookie(self._name, self._cookie, httponly=True, samesite="strict", path="/")
        return answer

    def _known(self, request: Request) -> bool:
        given = request.cookies.get(self._name, "")
        return hmac.compare_digest(given.encode(), self._cookie.encode())

    def _is_page(self, request: Request) -> bool:
        parts = request.url.path.split("/")
        if request.method != "GET" or len(parts) != 5 or parts[1] != "page":
            return False
        return hmac.compare_digest("/".join(parts[:4]).encode(), self.sealed(parts[3]).encode())
