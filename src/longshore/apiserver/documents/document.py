"""A JSON document about the server itself: discovery, OpenAPI, its version.

Such documents change rarely and are asked for often, so bytes and ETag are made once and kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property

from longshore.api.types import Obj, encode


class Document:
    """One document. `headers` are sent with it, whatever the answer's code."""

    def __init__(
        self,
        obj: Obj,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
    ) -> None:
        """`body` is for documents that are not JSON on the wire."""
        self.obj = obj
        self.content_type = content_type
        self.headers = dict(headers or {})
        if body is not None:
            self.__dict__["body"] = body

    @cached_property
    def body(self) -> bytes:
        """The bytes on the wire: the document as JSON, unless `body` was passed."""
        return encode(self.obj)

    def with_headers(self, headers: Mapping[str, str]) -> Document:
        """This document with other headers."""
        return Document(self.obj, self.content_type, headers, body=self.body)

    @cached_property
    def etag(self) -> str:
        """The ETag: it changes if, and only if, the content does."""
        return f'"{hashlib.sha256(self.body).hexdigest().upper()}"'

    def unchanged(self, if_none_match: str | None) -> bool:
        """Whether a client that sends this `If-None-Match` has the document already (answer 304)."""
        if not if_none_match:
            return False
        known = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
        return self.etag in known or "*" in known
