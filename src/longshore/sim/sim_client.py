"""A client for simulations: months pass in seconds, so what only costs is left out.

Watches never end and say nothing while nothing happens (`Api.quiet_watches`): their bookmarks and renewals
were most of what happens in an idle day. Two things are left out by shortcuts, and stay where these are off:
Events are heard (`heard`) and not stored, and nobody owns a field (`Api.owns_fields`). Of the calls of a
CronJob's Job, Events would be 2,129 more, and owners of fields 773 (bench/sim.py --calls has 7,522).
"""

from __future__ import annotations

from longshore.apiserver.api import Api
from longshore.client.in_process import Hears
from longshore.client.local import LocalClient


class SimClient(LocalClient):
    """The client of all parts of a simulated plane. `heard` is told of every Event that one of them makes;
    without shortcuts Events are objects, to be read as such."""

    def __init__(self, api: Api, heard: Hears) -> None:
        super().__init__(api)
        api.quiet_watches = True
        if api.shortcuts.on:
            api.owns_fields = False
            self.hears = heard
