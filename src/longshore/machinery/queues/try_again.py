"""The error of a sync that must be retried although the controller works correctly."""

from __future__ import annotations

import logging
from typing import ClassVar


class TryAgain(Exception):
    """Something that has to come first is not there yet. The key is looked at again, later each time."""

    log_level: ClassVar[int] = logging.INFO
