"""Query and path parameters, described once for both dialects."""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api import schema
from longshore.apiserver.openapi import descriptions


class Parameter(msgspec.Struct, frozen=True):
    name: str
    place: str
    type: str
    description: str

    @property
    def required(self) -> bool:
        return self.place == "path"


_TABLE: Final = (
    Parameter("name", "path", "string", "name of the object"),
    Parameter("namespace", "path", "string", "namespace the object is in"),
    Parameter("pretty", "query", "string", "'true' for indented output."),
    Parameter(
        "allowWatchBookmarks", "query", "boolean", "Ask a watch for BOOKMARK events, which carry no change."
    ),
    Parameter("continue", "query", "string", "Token of an earlier list: go on where that page ended."),
    Parameter("dryRun", "query", "string", "'All': do everything but store the result."),
    Parameter("fieldManager", "query", "string", "Who makes this change, at most 128 printable characters."),
    Parameter(
        "fieldSelector", "query", "string", "Only objects with these field values, e.g. metadata.name=x."
    ),
    Parameter(
        "fieldValidation",
        "query",
        "string",
        "What becomes of unknown and duplicate fields: 'Ignore', 'Warn' (default) or 'Strict'.",
    ),
    Parameter("force", "query", "boolean", "Take over fields from other managers (apply patches only)."),
    Parameter(
        "gracePeriodSeconds", "query", "integer", "Seconds to wait before removing; 0 removes at once."
    ),
    Parameter(
        "labelSelector", "query", "string", "Only objects with these labels, e.g. app=x,tier in (a,b)."
    ),
    Parameter("limit", "query", "integer", "At most so many objects on one page."),
    Parameter("orphanDependents", "query", "boolean", "Older form of propagationPolicy=Orphan."),
    Parameter(
        "propagationPolicy",
        "query",
        "string",
        "What becomes of dependents: 'Orphan', 'Background' or 'Foreground'.",
    ),
    Parameter(
        "resourceVersion", "query", "string", "Version the answer may be served from, or a watch starts at."
    ),
    Parameter(
        "resourceVersionMatch", "query", "string", "How to read resourceVersion: 'Exact' or 'NotOlderThan'."
    ),
    Parameter(
        "sendInitialEvents", "query", "boolean", "Begin a watch with all objects there are, then a bookmark."
    ),
    Parameter("timeoutSeconds", "query", "integer", "End the list or watch after so many seconds."),
    Parameter("watch", "query", "boolean", "Stream changes instead of listing."),
)
_BY_NAME: Final = {p.name: p for p in _TABLE}
_TYPES: Final = {"bool": "boolean", "int32": "integer", "int64": "integer"}


def find(name: str) -> Parameter:
    """A parameter by name, or by `<message>:<field>` for the fields of an options kind."""
    message, colon, field = name.rpartition(":")
    if not colon:
        return _BY_NAME[name]
    type_ = schema.message(message).fields[field].type
    return Parameter(field, "query", _TYPES.get(type_.name, "string"), descriptions.of_field(message, field))
