"""One request after routing: its user, resource, verb and options. Shared by HTTP and LocalClient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from longshore.api.resources import Resource

Query = Mapping[str, Sequence[str]]


class User(msgspec.Struct, frozen=True):
    """The caller, as authentication found it (or as impersonation made it)."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
INTERNAL: Final = User("system:longshore", ("system:masters", "system:authenticated"))


class Call(msgspec.Struct):
    """The call of a verb. `warnings` collects texts for `Warning:` headers on the way.

    A struct, as `Answer` is: one is made for every request, in 0.1 µs instead of the 0.25 of a dataclass.
    """

    resource: Resource
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Query = msgspec.field(default_factory=dict)
    user: User = INTERNAL
    agent: str = "longshore"
    body: bytes = b""
    content_type: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list)
    value: Any = None
    """A value in place of a body, from a caller in this process; it is never changed."""

    def one(self, key: str) -> str:
        """The first value of a query parameter, or an empty string."""
        values = self.query.get(key)
        return values[0] if values else ""

    def warn(self, texts: Sequence[str]) -> None:
        """Adds warnings, each text once."""
        if texts:
            self.warnings[:] = list(dict.fromkeys((*self.warnings, *texts)))
