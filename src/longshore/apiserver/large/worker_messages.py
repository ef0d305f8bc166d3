"""The messages between a server and the process of its large writes: msgpack, preceded by its length."""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

LENGTH: Final = struct.Struct("<I")

Place = tuple[str, str, str]
"""Storage, namespace and name."""
Stored = tuple[str, str, str, int, bytes]
"""An object as it is in the store: its place, revision and JSON."""


class Write(msgspec.Struct, tag=True, frozen=True):
    """A call to work on. See `Call`."""

    group: str
    version: str
    plural: str
    verb: str
    namespace: str
    name: str
    subresource: str
    query: dict[str, list[str]]
    user: str
    groups: list[str]
    uid: str
    extra: dict[str, list[str]]
    agent: str
    body: bytes
    content_type: str | None
    warnings: list[str]
    now: float


class StoreQuestion(msgspec.Struct, tag=True, frozen=True):
    """A question to the store, by the name of its method."""

    name: str
    args: tuple[str | None, ...]


class StoreAnswer(msgspec.Struct, tag=True, frozen=True):
    """The store's answer to a `StoreQuestion`."""

    found: list[Stored]
    revision: int = 0
    is_empty: bool = False


class Planned(msgspec.Struct, frozen=True):
    """A write to stage."""

    place: Place
    raw: bytes
    deletes: bool
    joined: bool


class Done(msgspec.Struct, tag=True, frozen=True):
    """The outcome of a verb: the writes to stage, and the answer."""

    writes: list[Planned]
    staged: list[int]
    """The writes that must be durable before the answer is sent, by their index in `writes`."""
    warnings: list[str]
    code: int
    needs_room: bool
    deleted: list[bytes]
    """Objects whose deletion begins, as they were before."""
    entry: int | Place | None = None
    """The object of the answer, if it is one of the writes or a stored one."""
    obj: bytes | None = None
    """The object of the answer, if it is not stored."""
    document: bytes | None = None
    """The document of the answer, if it is no object."""


class Failed(msgspec.Struct, tag=True, frozen=True):
    """The refusal of a verb, or the traceback of a bug."""

    code: int
    reason: str
    message: str
    details: Any = None
    metadata: Any = None
    headers: dict[str, str] = {}
    trace: str = ""
    warnings: list[str] = []


ToWorker = Write | StoreAnswer
FromWorker = StoreQuestion | Done | Failed

encode: Final = msgspec.msgpack.Encoder().encode
decode_for_worker: Final = msgspec.msgpack.Decoder(ToWorker).decode
decode_from_worker: Final = msgspec.msgpack.Decoder(FromWorker).decode


def framed(message: ToWorker | FromWorker) -> bytes:
    """The bytes of a message."""
    data = encode(message)
    return LENGTH.pack(len(data)) + data
