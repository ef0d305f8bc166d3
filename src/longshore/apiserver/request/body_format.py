"""The format of a request's body: JSON, YAML or protobuf, as its Content-Type says."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

from longshore.api import codec
from longshore.api.codec import Document
from longshore.api.errors import StatusError

Format = Literal["json", "yaml", "protobuf"]
_FORMS: Final[dict[str, Format]] = {
    "application/json": "json",
    "application/yaml": "yaml",
    "application/vnd.kubernetes.protobuf": "protobuf",
}
READ: Final[dict[Format, Callable[[bytes], Document]]] = {
    "json": codec.read_json,
    "yaml": codec.read_yaml,
    "protobuf": codec.read_protobuf,
}
# Possessive throughout: a head may bring 128 KiB, and no part is worth reading twice.
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_MEDIA_TYPE: Final = re.compile(
    rf"\s*+({_TOKEN}/{_TOKEN})\s*+"
    rf"(?:;\s*+{_TOKEN}\s*+=\s*+(?:{_TOKEN}|\"(?:[^\"\\]|\\.)*+\")\s*+)*+;?\s*+"
)
NO_KIND: Final = "couldn't get version/kind; json parse error: "
"""The beginning of refusals of JSON whose kind cannot be read."""


@lru_cache(maxsize=64)
def of(content_type: str | None) -> Format:
    """The format a Content-Type names; a missing one means JSON."""
    if not content_type:
        return "json"
    match = _MEDIA_TYPE.fullmatch(content_type)
    form = _FORMS.get(match[1].lower()) if match else None
    if form is None:
        raise StatusError(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(_FORMS),
        )
    return form
