"""The contract of a job plugin. Subclass `Plugin`, override its methods, and register an entry point.

The maker of SSH keys is a parameter: keys need the machine's randomness, and making one takes tenths of a
second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple, Protocol

import msgspec

from longshore.api import goflags
from longshore.api.types import Obj


class KeyPair(NamedTuple):
    private: str
    """The private key, as PKCS #1 in PEM."""
    public: str
    """The public key, as one line of authorized_keys."""


class KeyMaker(Protocol):
    async def rsa(self, bits: int) -> KeyPair:
        """Returns a new key of this size."""


class NeedsKey(msgspec.Struct, frozen=True):
    """An object that cannot be written without a new key."""

    bits: int
    with_key: Callable[[KeyPair], Obj]


class PluginError(Exception):
    """A plugin cannot do its work for this Job; the message says why."""


class Wanted(msgspec.Struct, frozen=True):
    """An object that a Job's plugin needs, in the Job's namespace and owned by the Job."""

    what: tuple[str, str]
    """apiVersion and kind."""
    name: str
    make: Callable[[Obj | None], Obj | NeedsKey | None]
    """Takes the existing object (or None); returns the object to write, or None if it may stay as it is.
    Name, namespace and owner are filled in. Returns `NeedsKey` if the object needs a new key."""
    follows: bool = False
    """Whether each sync of the Job updates the object, not only the start of the Job."""


class Plugin:
    """`arguments` come from spec.plugins; `flags` are these, parsed as Go's flag package does."""

    name: ClassVar[str]
    """The plugin's name in spec.plugins."""
    marked: ClassVar[bool] = True
    """Whether status.controlledResources records the plugin. Required for a plugin with objects: without the
    record they are not removed when the Job is killed."""
    defaults: ClassVar[Mapping[str, goflags.Value]] = {}
    """The plugin's flags, with their default values."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self.flags = goflags.parse(arguments, self.defaults)

    def on_pod_create(self, pod: Obj, job: Obj) -> None:
        """Changes a pod that is about to be created, in place. The Job is frozen. Raises `PluginError`."""

    def objects(self, job: Obj) -> Iterable[Wanted]:
        """Returns objects that must exist while the Job runs: created before its pods, removed by a kill."""
        return ()

    def text(self, flag: str) -> str:
        return str(self.flags[flag])

    def number(self, flag: str) -> int:
        return int(self.flags[flag])
