"""A client that leaves out what a simulation does not need, so that months pass in seconds.

Its Api has `quiet_watches`: bookmarks and renewals of watches were most of what happens in an idle day.
Shortcuts leave out three things more: Events go to `heard` and are not stored, fields have no owners
(`owns_fields`), and statuses, which only controllers and nodes write here, are not validated
(`judges_statuses`). A CronJob's Job takes 7,544 calls (bench/sim.py --calls); Events would add 2,129, owners
of fields 773, and validation 259.
"""

from __future__ import annotations

from longshore.apiserver.api import Api
from longshore.client.local import LocalClient
from longshore.client.protocol import Hears


class SimClient(LocalClient):
    """The client of all parts of a simulated plane. `heard` is called with every Event that one of them
    makes; without shortcuts Events are stored as objects."""

    def __init__(self, api: Api, heard: Hears) -> None:
        super().__init__(api)
        if api.shortcuts.on:
            self.hears = heard
