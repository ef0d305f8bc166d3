"""The file of the scheduler's configuration, followed while longshore runs.

If the file cannot be read or has a mistake, the last good settings stay, and a warning says why. A mounted
ConfigMap works: its files are replaced as a whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from longshore.machinery.file_trees import identity
from longshore.machinery.time.clock import Clock
from longshore.scheduler.gang.conf import scheduler_conf
from longshore.scheduler.gang.conf.scheduler_conf import BadConf, Read
from longshore.scheduler.gang.settings import Settings

LOOK_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


class ConfFile:
    """A configuration file. `settings` are those in force."""

    def __init__(self, path: Path) -> None:
        """Raises BadConf if the file is bad at the start."""
        self.path = path
        self.problem = ""
        """Why the present content of the file is not in force; empty if it is."""
        self._seen = identity(path)
        self.settings = self._told(_read(path))

    def look(self) -> bool:
        """Reads the file again if it has changed. Returns whether the settings changed."""
        now = identity(self.path)
        if now == self._seen:
            return False
        self._seen = now
        before = self.settings
        try:
            self.settings, self.problem = self._told(_read(self.path)), ""
        except BadConf as err:
            self.problem = str(err)
            log.warning("the scheduler's settings stay as they were: %s", self.problem)
            return False
        log.info("the scheduler's settings are read again from %s", self.path)
        return self.settings != before

    async def follow(self, clock: Clock, changed: Callable[[Settings], object]) -> None:
        """Checks the file every second until cancelled; calls `changed` with new settings."""
        while True:
            await clock.sleep(LOOK_SECONDS)
            if self.look():
                changed(self.settings)

    def _told(self, found: Read) -> Settings:
        for warning in found.warnings:
            log.warning("%s: %s", self.path, warning)
        return found.settings


def _read(path: Path) -> Read:
    try:
        return scheduler_conf.read(path.read_bytes())
    except OSError as err:
        raise BadConf(f"{path}: {err.strerror}") from None
    except BadConf as err:
        raise BadConf(f"{path}: {err}") from None
