"""The error of a sync that must be retried although the controller works correctly."""

from __future__ import annotations

import logging
from typing import ClassVar


class TryAgain(Exception):
    """A precondition of the sync is not met yet. The key is synced again, after a longer pause each time."""

    log_level: ClassVar[int] = logging.INFO
