"""Reads an HTTP answer: a JSON document, or the `StatusError` it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client.errors import Garbled
from longshore.client.protocol import Response

_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
"""Reasons of answers that are no `Status`: a proxy gives them, or the path is not served."""


T = TypeVar("T")


def document(response: Response, read: Callable[[bytes], T]) -> T:
    """The value that `read` finds in a successful answer; raises `StatusError` for any other."""
    if not 200 <= response.code < 300:
        raise error(response.code, response.body, response.headers)
    try:
        return read(response.body)
    except UNREADABLE as err:
        raise Garbled(
            f"the server answered {response.code} with something that is not a JSON object"
        ) from err


UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of the decoder: bytes that are no JSON or no UTF-8, or that nest too deeply."""
obj: Final = msgspec.json.Decoder(Obj).decode
"""Decodes a body as one object."""


def error(code: int, body: bytes, headers: Mapping[str, str]) -> StatusError:
    """The error of an answer, with the server's own message if it has one."""
    status = _object(body)
    if status is not None and status.get("kind") == "Status":
        made = StatusError.from_status(status, code)
    else:
        text = " ".join(body[:300].decode("utf-8", "replace").split())
        made = StatusError(code, _REASONS.get(code, "Unknown"), f"the server answered {code}: {text}")
    made.headers = {key.lower(): value for key, value in headers.items()}
    return made


def _object(body: bytes) -> Obj | None:
    try:
        return obj(body)
    except UNREADABLE:
        return None
