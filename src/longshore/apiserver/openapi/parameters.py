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


_PATH: Final = {
    "name": "name of the object",
    "namespace": "namespace the object is in",
}
_QUERY: Final = {
    "pretty": ("string", "'true' for indented output."),
    "allowWatchBookmarks": ("boolean", "Ask a watch for BOOKMARK events, which carry no change."),
    "continue": ("string", "Token of an earlier list: go on where that page ended."),
    "dryRun": ("string", "'All': do everything but store the result."),
    "fieldManager": ("string", "Who makes this change, at most 128 printable characters."),
    "fieldSelector": ("string", "Only objects with these field values, e.g. metadata.name=x."),
    "fieldValidation": (
        "string",
        "What becomes of unknown and duplicate fields: 'Ignore', 'Warn' (default) or 'Strict'.",
    ),
    "force": ("boolean", "Take over fields from other managers (apply patches only)."),
    "gracePeriodSeconds": ("integer", "Seconds to wait before removing; 0 removes at once."),
    "labelSelector": ("string", "Only objects with these labels, e.g. app=x,tier in (a,b)."),
    "limit": ("integer", "At most so many objects on one page."),
    "orphanDependents": ("boolean", "Older form of propagationPolicy=Orphan."),
    "propagationPolicy": ("string", "What becomes of dependents: 'Orphan', 'Background' or 'Foreground'."),
    "resourceVersion": ("string", "Version the answer may be served from, or a watch starts at."),
    "resourceVersionMatch": ("string", "How to read resourceVersion: 'Exact' or 'NotOlderThan'."),
    "sendInitialEvents": ("boolean", "Begin a watch with all objects there are, then a bookmark."),
    "timeoutSeconds": ("integer", "End the list or watch after so many seconds."),
    "watch": ("boolean", "Stream changes instead of listing."),
}
_BY_NAME: Final = {
    **{name: Parameter(name, "path", "string", text) for name, text in _PATH.items()},
    **{name: Parameter(name, "query", type_, text) for name, (type_, text) in _QUERY.items()},
}
_TYPES: Final = {"bool": "boolean", "int32": "integer", "int64": "integer"}


def find(name: str) -> Parameter:
    """A parameter by name, or by `<message>:<field>` for the fields of an options kind."""
    message, colon, field = name.rpartition(":")
    if not colon:
        return _BY_NAME[name]
    type_ = schema.message(message).fields[field].type
    return Parameter(field, "query", _TYPES.get(type_.name, "string"), descriptions.of_field(message, field))
