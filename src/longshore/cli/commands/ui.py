"""Opens the dashboard in your browser, and prints its address: a login link that works once, within a minute.

longshore ui
longshore ui --no-open
longshore ui --as system:serviceaccount:default:viewer

In the browser you have the rights that you have here, for eight hours or until you log out. The browser does
not know longshore's certificate and asks; compare the fingerprint that is printed.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from longshore.cli.arguments.flags import switch
from longshore.cli.main import Failure
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server

_LOGINS: Final = "/apis/longshore.dev/v1/uilogins"


def add_arguments(parser: ArgumentParser) -> None:
    switch(parser, "--open", help="open the address in a browser", default=True)
    connecting.add_impersonation(parser, "log in")


def run(arguments: Namespace) -> int:
    with connecting.opened_as(arguments) as server:
        address = _address(server)
        print(address, flush=True)
        if fingerprint := server.fingerprint():
            print(f"certificate (SHA-256): {fingerprint}", flush=True)
    if arguments.open:
        _open(address)
    return 0


def _address(server: Server) -> str:
    """Asks the server for a login link."""
    from longshore.cli.server.requests import refusal

    answer = server.request("POST", _LOGINS, body=b"{}")
    if answer.code == 404:
        raise Failure(f"{server.connection.server} has no dashboard: only longshore up serves one")
    if answer.code >= 400:
        raise refusal(answer)
    import json

    return str(server.connection.server + json.loads(answer.body)["status"]["path"])


def _open(address: str) -> None:
    """Opens the address in the desktop's browser; without a desktop, it is only printed."""
    import webbrowser

    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER"):
        webbrowser.open(address)
