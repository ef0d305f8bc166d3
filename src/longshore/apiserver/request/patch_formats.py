"""The formats of PATCH bodies, and the refusal of all others."""

from __future__ import annotations

from typing import Final

from longshore.api.errors import StatusError
from longshore.api.resources import Resource

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
ALL: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


def unsupported(resource: Resource) -> StatusError:
    """The 415 for a patch format that this resource does not take."""
    if resource.style == "builtin":
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    accepted = ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", text)
