"""The bodies of requests at the door for other languages. A field that is not here is refused."""

from __future__ import annotations

from typing import Any

import msgspec

Duration = str | float
"""`90s`, `1h30m`, or a number of seconds."""


class Empty(msgspec.Struct, forbid_unknown_fields=True):
    """No fields."""


class Advance(msgspec.Struct, forbid_unknown_fields=True):
    """How long time passes."""

    duration: Duration


class Moment(msgspec.Struct, forbid_unknown_fields=True):
    """A moment such as `2027-03-28T00:30`, in a time zone such as `Europe/Berlin`."""

    moment: str
    zone: str = "UTC"


class Until(msgspec.Struct, forbid_unknown_fields=True):
    """An object and a condition of it, as `job/x complete`."""

    what: str
    at_most: Duration
    namespace: str = "default"


class Flow(msgspec.Struct, forbid_unknown_fields=True):
    """The speed of the clock, as a multiple of real time; 0 stops it."""

    speed: float


class Wait(msgspec.Struct, forbid_unknown_fields=True):
    """An object, such as `job/x`, and a condition, such as `Complete`."""

    object: str
    condition: str
    timeout: Duration = "60s"
    namespace: str = "default"


class Object(msgspec.Struct, forbid_unknown_fields=True):
    """One object, such as `job/x`. If it may be empty, empty means all objects of the namespace."""

    object: str = ""
    namespace: str = "default"


class Snapshot(msgspec.Struct, forbid_unknown_fields=True):
    """The id that the snapshot was given."""

    id: int


class Command(msgspec.Struct, forbid_unknown_fields=True):
    """Pods and commands, by patterns of the shell, and the result of the commands."""

    name: str
    command: str = "*"
    namespace: str = ""
    labels: str = ""
    container: str = ""
    code: int = 0
    output: str = ""
    seconds: float = 0.0
    reads_input: bool = False
    ends: int | None = None


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    """A method with a path, and the answer: a document, or a text that is sent unchanged."""

    on: str
    body: dict[str, Any] | list[Any] | str = ""
    status: int = 200
    query: dict[str, str] = {}
    media_type: str = ""
    headers: dict[str, str] = {}
    stream: list[dict[str, Any] | str] | None = None
    cut: int | None = None
    times: int | None = None


class Whose(msgspec.Struct, forbid_unknown_fields=True):
    """The clients that a fault strikes: all, clients over HTTP, or controllers."""

    who: str = "all"


class Conflict(msgspec.Struct, forbid_unknown_fields=True):
    """How often a conflict strikes, and which requests: a method and a resource."""

    times: int = 1
    on: str = "PUT *"
    who: str = "all"


class Unavailable(msgspec.Struct, forbid_unknown_fields=True):
    """How long the server is unavailable by the cluster's clock, and for which requests."""

    for_: Duration = msgspec.field(name="for")
    on: str = "*"
    who: str = "all"


class Throttle(msgspec.Struct, forbid_unknown_fields=True):
    """The code (429, 500 or 503), the time until the next try, and how often; null for always."""

    code: int = 429
    retry_after: Duration = 1.0
    times: int | None = 1
    on: str = "*"
    who: str = "all"


class Slow(msgspec.Struct, forbid_unknown_fields=True):
    """How much longer requests take."""

    delay: Duration
    times: int | None = None
    on: str = "*"
    who: str = "all"


class Fail(msgspec.Struct, forbid_unknown_fields=True):
    """The exit code."""

    code: int = 1


class CrashNode(msgspec.Struct, forbid_unknown_fields=True):
    """The time until the cluster notices the crash; 0 if the machine is back at once."""

    noticed: Duration = "40s"
