"""A client for simulations: months pass in seconds, so what only costs is left out.

Events are heard (`heard`) and not stored. Watches never end and say nothing while nothing happens
(`Api.quiet_watches`): their bookmarks and renewals were most of what happens in an idle day. Nobody owns a
field (`Api.owns_fields`).
"""

from __future__ import annotations

from longshore.apiserver.api import Api
from longshore.client.in_process import Hears
from longshore.client.local import LocalClient


class SimClient(LocalClient):
    """The client of all parts of a simulated plane. `heard` is told of every Event that one of them makes."""

    def __init__(self, api: Api, heard: Hears) -> None:
        super().__init__(api)
        api.quiet_watches, api.owns_fields = True, False
        self.hears = heard
