"""A client for simulations: months pass in seconds, so what only costs is left out.

Watches never end and say nothing while nothing happens (`Api.quiet_watches`): their bookmarks and renewals
were most of what happens in an idle day. Three things are left out by shortcuts, and stay without these:
Events are heard (`heard`) and not stored, nobody owns a field (`Api.owns_fields`), and statuses, which here
only controllers and nodes write, are not judged (`Api.judges_statuses`). Of the calls of a CronJob's Job,
Events would be 2,129 more, owners of fields 773, and judging 259 (bench/sim.py --calls has 6,813).
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
            api.owns_fields = api.judges_statuses = False
            self.hears = heard
