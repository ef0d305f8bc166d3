"""The API over HTTP: a listener with the front door behind it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from longshore.apiserver.http.begin import FrontDoor
from longshore.apiserver.http.listener import Listener
from longshore.apiserver.http.timeouts import Timeouts

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.dashboard import Dashboard


class HttpServer(Listener):
    """Serves one Api on one address until it is closed."""

    def __init__(
        self,
        api: Api,
        *,
        tls: ssl.SSLContext | None,
        timeouts: Timeouts | None = None,
        dashboard: Dashboard | None = None,
    ) -> None:
        chosen = timeouts or Timeouts()
        super().__init__(FrontDoor(api, dashboard, apart=True), tls=tls, timeouts=chosen)
