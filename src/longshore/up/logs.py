"""The log of a process: to standard error, as text or as one JSON object a line.

A record may carry `fields` (Kubernetes' key names), which JSON has beside the message. A value that is no
JSON is written as text.
"""

from __future__ import annotations

import logging
from typing import Final, Literal

import msgspec

from longshore.api.time import rfc3339
from longshore.api.types import Obj

Format = Literal["text", "json"]
_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class Logging(msgspec.Struct, frozen=True):
    """How a process logs."""

    verbosity: int = 0
    """0: what a person should know; 1: also Events and routine messages; 2: also each sync."""
    format: Format = "text"


def configure(chosen: Logging) -> None:
    """Sets up the log of this process. Records of warnings and worse are always written."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if chosen.format == "json" else logging.Formatter(_TEXT))
    level = _LEVELS[min(chosen.verbosity, len(_LEVELS) - 1)]
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("asyncio").setLevel(max(level, logging.INFO))  # says at DEBUG which selector it uses


class JsonLines(logging.Formatter):
    """One object a line: `ts`, `level`, `logger`, `msg`, and the record's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: Obj = {
            "ts": rfc3339.from_seconds(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()
