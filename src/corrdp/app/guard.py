"""Who may talk to the page: one browser on this machine, and nobody else.

A server on 127.0.0.1 can be reached by every program of the machine, and by every web page that
the browser shows: pages may post forms to it and open websockets. The address that is printed at
the start therefore carries a token. It works once, and is exchanged for a cookie that scripts
cannot read and that other sites cannot send; every later request needs it. Host and Origin are
checked beside it, for HTTP and for websockets, so that a name that was bent to 127.0.0.1 finds
nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

MOST_UPLOADED = 200 * 2**20  # bytes; larger files are named by their path
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_CLOSED = 1008  # of a websocket: against the rules


class Guard:
    """An application behind a token, with checks of Host and Origin, and with quiet headers.

    Parameters
    ----------
    app : ASGI application
    port : int
        Where it listens on 127.0.0.1.

    Attributes
    ----------
    token : str
        Opens the page once, as ``/?token=..``.
    """

    def __init__(self, app: Application, port: int) -> None:
        self.app = app
        self.token = secrets.token_urlsafe(32)
        self._pass = secrets.token_urlsafe(32)
        self._used = False
        # cookies do not keep to a port: two applications must not take away each other's
        self._cookie = f"corrdp-{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send))

    async def _websocket(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        # a browser always says where the page comes from that opens a websocket
        if "origin" in headers and self._from_here(headers) and self._knows(headers):
            await self.app(scope, receive, send)
            return
        await receive()  # the handshake
        await send({"type": "websocket.close", "code": _CLOSED})

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        if not self._from_here(headers):
            await _say(send, 403, "This page answers to its own address on this machine alone.")
        elif not self._knows(headers):
            await self._let_in(scope, send)
        elif b"token=" in scope.get("query_string", b""):
            await _go_to_start(send)  # the token is not left in the address bar
        elif (problem := _too_much(scope["method"], headers)) is not None:
            await _say(send, *problem)
        else:
            await self.app(scope, receive, send)

    async def _let_in(self, scope: Message, send: Send) -> None:
        """Exchange the token for the cookie, once."""
        asked = parse_qs(scope.get("query_string", b"").decode("ascii", "replace"))
        given = asked.get("token", [""])[0]
        first = scope["method"] == "GET" and scope["path"] == "/" and not self._used
        if not (first and compare_digest(given.encode(), self.token.encode())):
            await _say(
                send,
                403,
                "Open the address that corrdp app printed. It works once, in one browser: to open "
                "the page in another, start corrdp app again.",
            )
            return
        self._used = True
        cookie = f"{self._cookie}={self._pass}; Path=/; HttpOnly; SameSite=Strict"
        await _go_to_start(send, (b"set-cookie", cookie.encode()))

    def _from_here(self, headers: dict[str, str]) -> bool:
        host = headers.get("host", "")
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "none")
        return (
            host in self._hosts
            and origin in (None, f"http://{host}")
            and site in ("none", "same-origin")
        )

    def _knows(self, headers: dict[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        given = "" if cookie is None else cookie.value
        return compare_digest(given.encode(), self._pass.encode())


def _headers(scope: Message) -> dict[str, str]:
    """Headers by name; one that is given twice is none that anybody sends honestly."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = value.decode("latin-1") if key not in found else "given twice"
    return found


def _too_much(method: str, headers: dict[str, str]) -> tuple[int, str] | None:
    if method in ("GET", "HEAD"):
        return None
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return 411, "How long is it?"
    if int(length) > MOST_UPLOADED:
        return 413, "More than 200 MB are not uploaded: give the path of the file instead."
    return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in HEADERS}
            kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in own]
            message = {**message, "headers": [*kept, *HEADERS]}
        await send(message)

    return sending


async def _say(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _go_to_start(send: Send, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"location", b"/"), (b"content-length", b"0"), *more]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
