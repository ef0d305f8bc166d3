"""The API over HTTP: a listener with an `ApiFront` behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.apiserver.http import begin
from longshore.apiserver.http.listener import Listener
from longshore.apiserver.http.timeouts import Timeouts

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

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
        dashboard: Callable[[], Dashboard] | None = None,
    ) -> None:
        def front() -> begin.ApiFront:
            return begin.ApiFront(api, dashboard() if dashboard is not None else None, apart=True)

        super().__init__(front, tls=tls, timeouts=timeouts or Timeouts())
