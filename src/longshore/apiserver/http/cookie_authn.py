"""Authentication by the dashboard's cookie, and the check that a page of the dashboard sends it.

A browser attaches the cookie to every request to this server, whichever page makes it, and treats all ports
of a machine as one site. So the cookie counts only in requests from pages of this server: another origin is
refused, a request that changes something needs a header that only such a page can add, and an upgrade needs
the header `Origin`. Pages of pods are never served: on this origin their scripts could act for the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import errors
from longshore.api.resources import OWN_GROUP
from longshore.apiserver.request import router
from longshore.apiserver.request.call import ANONYMOUS, User

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.request import Headers, Request

CHANGE_HEADER: Final = "x-longshore-ui"
_PREFIX: Final = "__Host-longshore-ui"
"""Browsers take a cookie of such a name from this host alone, over TLS alone, and for all paths."""
_HARMLESS: Final = ("GET", "HEAD")


def cookie_name(headers: Headers) -> str:
    """The cookie's name, with the port: a browser keeps one jar for all ports of a host."""
    return f"{_PREFIX}-{headers.get('host', '').rpartition(':')[2]}"


def secret_of(headers: Headers) -> str:
    """The secret in the cookie; empty without one."""
    wanted = cookie_name(headers)
    for pair in "; ".join(headers.all("cookie")).split(";"):
        name, _, value = pair.strip().partition("=")
        if name == wanted:
            return value
    return ""


def user_of(api: Api, request: Request) -> User:
    """The user of the session; anonymous without a cookie. Raises 401 for a session that has ended, 403 for a
    request that a page of another origin may have made."""
    headers = request.headers
    secret = secret_of(headers)
    if not secret or api.browser_sessions is None:
        return ANONYMOUS
    user = api.browser_sessions.user_of(secret)
    if user is None:
        raise errors.unauthorized()
    check_origin(request)
    route = router.split(request.target.partition("?")[0])
    if route is None:
        return user
    if route.subresource == "proxy":
        raise _refused(
            "the pages of a pod are not shown with the dashboard's login; use longshore port-forward"
        )
    if (route.group, route.plural) == (OWN_GROUP, "uilogins"):
        raise _refused("a login does not make another, which would last longer; use longshore ui")
    return user


def check_origin(request: Request) -> None:
    """Raises 403 unless the request comes from a page of this server."""
    headers = request.headers
    origin = headers.get("origin")
    if origin is not None and origin != f"https://{headers.get('host', '')}":
        raise _refused(f"the dashboard's login is not for pages of {origin}")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise _refused("the dashboard's login is not for pages of other origins")
    if request.upgrade and origin is None:
        raise _refused('a connection by the dashboard\'s login needs the header "Origin"')
    if request.method not in _HARMLESS and CHANGE_HEADER not in headers:
        raise _refused(f'a change by the dashboard\'s login needs the header "{CHANGE_HEADER}"')


def _refused(why: str) -> errors.StatusError:
    return errors.StatusError(403, "Forbidden", why, details={})
