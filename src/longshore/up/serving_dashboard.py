"""The dashboard of one longshore: its files, its sessions, and `uilogins` of longshore.dev, each a one-time
login link.

Whoever may talk to the API may create a login: the session has their own rights, nothing more.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longshore.api.types import Obj
from longshore.apiserver.access.browser_sessions import CODE_SECONDS, BrowserSessions
from longshore.apiserver.documents import own_group
from longshore.apiserver.http.dashboard import Dashboard
from longshore.apiserver.request.call import Call
from longshore.ui.bundle import Bundle
from longshore.up.browser_sessions_file import SessionsFile

if TYPE_CHECKING:
    from longshore.apiserver.access.tokens import Tokens
    from longshore.apiserver.api import Api
    from longshore.machinery.time.clock import Clock

ROW: Final = own_group.row("UILogin", "uilogins", namespaced=False, verbs=("create",))
_SECRET_BYTES: Final = 32


def serve(api: Api, tokens: Tokens, directory: Path, clock: Clock) -> Dashboard:
    """Lets this API take the dashboard's cookies, and returns what serves its files."""
    sessions = api.browser_sessions = BrowserSessions(
        SessionsFile(directory / "ui-sessions.json"),
        tokens,
        clock=clock.timestamp,
        secret=lambda: secrets.token_urlsafe(_SECRET_BYTES),
    )

    async def link(call: Call) -> Obj:
        path = f"/ui/login#{sessions.code_for(call.user)}"
        return {"metadata": {}, "status": {"path": path, "expirationSeconds": CODE_SECONDS}}

    api.own.serve(ROW, link)
    return Dashboard(Bundle(), sessions)
