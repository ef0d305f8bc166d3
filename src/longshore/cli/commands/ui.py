"""Opens the dashboard in your browser, and prints its address: a login link that works once, within a minute.

longshore ui
longshore ui --no-open
longshore ui --as system:serviceaccount:default:viewer

In the browser you have the rights that you have here, for eight hours or until you log out. The browser does
not know longshore's certificate and asks; compare the fingerprint that is printed.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server

_LOGINS: Final = "/apis/longshore.dev/v1/uilogins"


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    switch(parser, "--open", help="open the address in a browser", default=True)
    parser.add_argument("--as", dest="user", default="", metavar="USER", help="log in as this user")
    parser.add_argument("--as-group", default="", metavar="GROUP", help="log in as a member of this group")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from contextlib import closing

    from longshore.cli.main import Said
    from longshore.cli.server import connecting, refusals

    if arguments.as_group and not arguments.user:
        raise Said("error: --as-group needs --as", 2)
    with refusals.told(), closing(connecting.server(arguments)) as server:
        if arguments.user:
            server.connection.headers.append(("Impersonate-User", arguments.user))
        if arguments.as_group:
            server.connection.headers.append(("Impersonate-Group", arguments.as_group))
        address = _address(server)
        print(address, flush=True)
        if fingerprint := server.fingerprint():
            print(f"certificate (SHA-256): {fingerprint}", flush=True)
    if arguments.open:
        _open(address)
    return 0


def _address(server: Server) -> str:
    """A login link."""
    from longshore.cli.main import Failure
    from longshore.cli.server.requests import refusal

    answer = server.request("POST", _LOGINS, body=b"{}")
    if answer.code == 404:
        raise Failure(f"{server.connection.server} has no dashboard: only longshore up serves one")
    if answer.code >= 400:
        raise refusal(answer)
    import json

    return str(server.connection.server + json.loads(answer.body)["status"]["path"])


def _open(address: str) -> None:
    """Asks the desktop for a browser; without a desktop, the printed address has to do."""
    import os
    import webbrowser

    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER"):
        webbrowser.open(address)
