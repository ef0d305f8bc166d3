"""The time zone of this process, found as Go finds it: $TZ, else /etc/localtime, else UTC.

CronJobs without a time zone use it. It is read once; a machine that moves needs a restart.
"""

from __future__ import annotations

import os
import zoneinfo
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from longshore.api import cron

_MACHINE: Final = Path("/etc/localtime")


def local_zone(environ: Mapping[str, str] = os.environ, machine: Path = _MACHINE) -> cron.Zone:
    """The local zone. Never fails: if it cannot be read, it is UTC."""
    wanted = environ.get("TZ")
    if wanted is None:
        return _from_file(machine)
    wanted = wanted.removeprefix(":")
    if wanted.startswith("/"):
        return _from_file(Path(wanted))
    try:
        return cron.load(wanted)
    except cron.UnknownZone:
        return cron.UTC


def _from_file(path: Path) -> cron.Zone:
    """Loads the zone by its name if the file is a link into a zone database, so that people see the name."""
    name = str(path.resolve()).rpartition("/zoneinfo/")[2]
    try:
        if not name.startswith("/"):
            return cron.load(name)
        with path.open("rb") as file:
            return cron.Zone("Local", zoneinfo.ZoneInfo.from_file(file))
    except (cron.UnknownZone, OSError, ValueError):
        return cron.UTC
