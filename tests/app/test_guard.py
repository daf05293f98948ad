"""Who may talk to the page, without a browser: token, cookie, Host, Origin, headers."""

from __future__ import annotations

import asyncio
import stat
from urllib.parse import urlencode

import pytest

pytest.importorskip("shiny", reason="needs the extra app")

from corrdp.app import server
from corrdp.app.guard import MOST_UPLOADED, Guard
from corrdp.errors import InputError

PORT = 8123
HERE = f"127.0.0.1:{PORT}"


async def inner(scope, receive, send):
    """What is guarded: it says that it was reached."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
    await send({"type": "http.response.body", "body": b"reached"})


def ask(guard, path="/", query=None, method="GET", kind="http", **headers):
    """The messages that answer a request."""
    given = {"host": HERE, **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": urlencode(query or {}).encode(),
        "headers": [(n.encode(), v.encode()) for n, v in given.items() if v is not None],
    }
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    return sent


def status(sent):
    return sent[0]["status"]


def headers_of(sent):
    return dict(sent[0]["headers"])


@pytest.fixture
def guard():
    return Guard(inner, PORT)


@pytest.fixture
def cookie(guard):
    sent = ask(guard, query={"token": guard.token})
    assert status(sent) == 303
    return headers_of(sent)[b"set-cookie"].decode()


def test_the_token_is_exchanged_for_a_cookie_once(guard, cookie):
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guard.token not in cookie
    assert status(ask(guard, query={"token": guard.token})) == 403
    value = cookie.partition(";")[0]
    assert status(ask(guard, cookie=value)) == 200
    # with the cookie the address with the token leads to the page, and leaves the address bar
    again = ask(guard, query={"token": guard.token}, cookie=value)
    assert status(again) == 303
    assert headers_of(again)[b"location"] == b"/"


@pytest.mark.parametrize("given", [None, "", "corrdp-8123=", "corrdp-8123=x", "other=1", "=;;="])
def test_without_the_cookie_nothing_is_reached(guard, cookie, given):
    for path in ("/", "/lib/shiny.js", "/session/1/download/x"):
        sent = ask(guard, path, cookie=given)
        assert status(sent) == 403
        assert b"reached" not in sent[1]["body"]


def test_a_wrong_token_or_another_path_opens_nothing(guard):
    assert status(ask(guard, query={"token": guard.token[:-1]})) == 403
    assert status(ask(guard, "/x", query={"token": guard.token})) == 403
    assert status(ask(guard, query={"token": guard.token}, method="POST")) == 403
    assert status(ask(guard, query={"token": guard.token})) == 303


@pytest.mark.parametrize(
    "foreign",
    [
        {"host": "evil.example"},
        {"host": f"evil.example:{PORT}"},
        {"host": "127.0.0.1"},
        {"host": None},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HERE}"},
        {"origin": "http://127.0.0.1:9"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_other_sites_are_refused_even_with_the_cookie(guard, cookie, foreign):
    value = cookie.partition(";")[0]
    assert status(ask(guard, **{"cookie": value, **foreign})) == 403
    told = {"cookie": value, "origin": f"http://{HERE}", **foreign}
    assert ask(guard, kind="websocket", **told) == [{"type": "websocket.close", "code": 1008}]


def test_a_websocket_needs_cookie_and_origin(guard, cookie):
    value, here = cookie.partition(";")[0], f"http://{HERE}"
    assert ask(guard, kind="websocket", cookie=value, origin=here)[0]["type"] == "websocket.accept"
    for told in ({"origin": here}, {"cookie": value}):
        assert ask(guard, kind="websocket", **told)[0]["type"] == "websocket.close"


def test_every_answer_carries_the_headers(guard, cookie):
    for sent in (ask(guard, cookie=cookie.partition(";")[0]), ask(guard)):
        found = headers_of(sent)
        policy = found[b"content-security-policy"].decode()
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert found[b"cache-control"] == b"no-store"
        assert found[b"x-content-type-options"] == b"nosniff"
        assert found[b"referrer-policy"] == b"no-referrer"


@pytest.mark.parametrize(("length", "code"), [(None, 411), ("x", 411), (MOST_UPLOADED + 1, 413)])
def test_uploads_have_a_limit(guard, cookie, length, code):
    told = {} if length is None else {"content_length": str(length)}
    sent = ask(guard, "/session/1/upload/2", method="POST", cookie=cookie.partition(";")[0], **told)
    assert status(sent) == code


def test_a_header_given_twice_is_refused(guard, cookie):
    value = cookie.partition(";")[0].encode()
    pairs = [(b"host", HERE.encode()), (b"host", b"evil.example"), (b"cookie", value)]
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": pairs}
    asyncio.run(guard(scope, None, send))
    assert status(sent) == 403


def test_the_workspace_is_private_and_is_removed():
    import tempfile

    with server.workspace() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        kept = tempfile.mkdtemp()  # as uploads are
        assert str(folder) in kept
    assert not folder.exists()


def test_it_listens_on_this_machine_alone():
    with server.bound_socket(0) as first:
        address, port = first.getsockname()
        assert address == "127.0.0.1"
        with pytest.raises(InputError, match=f"port {port} cannot be used"):
            server.bound_socket(port)


def test_what_goes_wrong_is_not_printed(capsys):
    import sys

    quiet = server.Quiet(sys.stdout)
    quiet.write("Traceback (most recent call last):\n  in ada\nasyncio.CancelledError\n")
    assert capsys.readouterr().out == ""
    quiet.write("ValueError: steps of Ada = 7\n")
    quiet.write("KeyError: more of Ada\n")
    out = capsys.readouterr().out
    assert "Ada" not in out
    assert out.count("something unexpected") == 1
