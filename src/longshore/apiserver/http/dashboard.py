"""The dashboard's files over HTTP, its login and its logout. All data comes from the API, as for any client.

`/ui/login#CODE` is a page whose script posts the code to `/ui/login`; a code in a fragment reaches no server
and no log by itself. Pages need a session, scripts and styles do not: nothing in them is secret. The bundle
is asked at the first request, so an unused dashboard costs nothing.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Protocol

import msgspec

from longshore.api import errors
from longshore.apiserver.access.browser_sessions import SESSION_SECONDS, BrowserSessions
from longshore.apiserver.http import cookie_authn
from longshore.apiserver.http.request import Headers, Request
from longshore.apiserver.http.response import NO_CACHE, Fields, Reply

PATH: Final = "/ui"
_ASSETS: Final = "/ui/assets/"
_FOREVER: Final = "public, max-age=31536000, immutable"
"""The caching of files whose address changes with their content."""
_HOST: Final = re.compile(r"[A-Za-z0-9.:\[\]-]+")
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src https://{host}/ui/assets/",
        "style-src https://{host}/ui/assets/",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Scripts come from the bundle alone, since this origin also serves logs, which other users write."""
_GUARDS: Final[Fields] = (
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)


class Asset(NamedTuple):
    """A file as it is sent."""

    media_type: str
    body: bytes
    packed: bytes
    """The body in gzip; empty where that would not be shorter."""
    etag: str


class Bundle(Protocol):
    """The files of the dashboard."""

    @property
    def version(self) -> str:
        """Part of the URLs of scripts and styles; it changes if the files do."""

    def find(self, name: str) -> Asset | None: ...


class _Login(msgspec.Struct):
    code: str


class Dashboard:
    """Answers all paths that begin with `/ui`."""

    def __init__(self, bundle: Bundle, sessions: BrowserSessions) -> None:
        self._bundle, self._sessions = bundle, sessions

    def answer(self, request: Request) -> Reply:
        """Answers a request. Raises StatusError if its path does not exist or is not allowed."""
        path = request.target.partition("?")[0]
        if request.method == "POST":
            return self._post(request, path)
        if request.method not in ("GET", "HEAD"):
            raise errors.method_not_allowed()
        if path.startswith(_ASSETS):
            version, _, name = path.removeprefix(_ASSETS).partition("/")
            asset = self._bundle.find(f"assets/{name}") if version == self._bundle.version else None
            if asset is None:
                raise errors.StatusError(404, "NotFound", f"the dashboard has no file {name!r}", details={})
            return _sent(request, asset, 200, _FOREVER)
        if path == "/ui/login":
            return self._page(request, "login.html", 200)
        secret = cookie_authn.secret_of(request.headers)
        if secret and self._sessions.user_of(secret) is not None:
            return self._page(request, "index.html", 200)
        return self._page(request, "signed-out.html", 401)

    def _page(self, request: Request, name: str, code: int) -> Reply:
        asset = self._bundle.find(name)
        assert asset is not None, name
        return _sent(request, asset, code, NO_CACHE)

    def _post(self, request: Request, path: str) -> Reply:
        headers = request.headers
        if path not in ("/ui/login", "/ui/logout"):
            raise errors.method_not_allowed()
        cookie_authn.check_origin(request)
        if path == "/ui/logout":
            self._sessions.end(cookie_authn.secret_of(headers))
            return _done(request, _cookie(headers, "", 0))
        try:
            code = msgspec.json.decode(request.body, type=_Login).code
        except msgspec.DecodeError as err:
            raise errors.bad_request(f'a login is {{"code": "…"}}: {err}') from None
        secret = self._sessions.begin(code)
        if secret is None:
            why = "this link has been used, or is older than a minute; get a new one with: longshore ui"
            raise errors.StatusError(401, "Unauthorized", why, details={})
        if before := cookie_authn.secret_of(headers):
            self._sessions.end(before)
        return _done(request, _cookie(headers, secret, SESSION_SECONDS))


def _guards(request: Request) -> Fields:
    """The security headers of every answer."""
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise errors.bad_request(f"the dashboard is not at {host!r}")
    return (("Content-Security-Policy", _POLICY.format(host=host)), *_GUARDS)


def _sent(request: Request, asset: Asset, code: int, caching: str) -> Reply:
    headers = (*_guards(request), ("ETag", asset.etag), ("Vary", "Accept-Encoding"))
    if code == 200 and asset.etag in request.headers.listed("if-none-match"):
        return Reply(304, "", b"", headers, caching)
    if asset.packed and "gzip" in request.headers.get("accept-encoding", ""):
        return Reply(code, asset.media_type, asset.packed, (*headers, ("Content-Encoding", "gzip")), caching)
    return Reply(code, asset.media_type, asset.body, headers, caching)


def _done(request: Request, cookie: str) -> Reply:
    return Reply(200, "application/json", b"{}\n", (*_guards(request), ("Set-Cookie", cookie)))


def _cookie(headers: Headers, secret: str, seconds: int) -> str:
    name = cookie_authn.cookie_name(headers)
    return f"{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict"
