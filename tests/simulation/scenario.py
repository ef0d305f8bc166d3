"""A scenario: what people do, what goes wrong, and who dies when. Plain data, so that it can be printed,
replayed and made smaller. Everything else of a run follows from its seed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from longshore.api.types import Obj

Who = Literal["controllers", "scheduler", "node", "all"]
Verb = Literal[
    "create",
    "patch",
    "delete",
    "delete a pod",
    "evict a pod",
    "relabel a pod",
    "command",
    "lose the machine",
    "lose sight",
    "jump",
]

GANG_PREFIX = "g"
"""Names of gangs begin with it, and no others do."""
NAMESPACE, OTHER_NAMESPACE = "default", "other"


class Deed(msgspec.Struct, frozen=True):
    at: float
    """Seconds since the beginning."""
    verb: Verb
    kind: str = ""
    """A word of `world.KINDS`."""
    name: str = ""
    body: Obj = {}
    """The object, the patch, or what else the verb needs."""
    namespace: str = NAMESPACE


class Trouble(msgspec.Struct, frozen=True):
    """How bad the days are until it gets calm."""

    rate: float = 0.0
    """How many of a hundred requests of controllers, schedulers and nodes go wrong."""
    lag: float = 0.0
    """How late watches are at most, in seconds."""


class Crash(msgspec.Struct, frozen=True):
    """One death of a part, or of the whole process."""

    who: Who
    write: int
    """It dies at its so manieth write since it began,"""
    seen: bool
    """before it sees the answer, or after."""
    away: float
    """Seconds until it is started again."""
    stale: bool = False
    """Whether the first look after that is an old one: what an API server with a cache behind may answer."""


class Scenario(msgspec.Struct, frozen=True):
    seed: int
    deeds: tuple[Deed, ...]
    trouble: Trouble = Trouble()
    crashes: tuple[Crash, ...] = ()
    shuffled: bool = True
    """Whether tasks that are ready run in any order."""
    shortcuts: bool = True
    together: bool = True
    """Whether all parts are one process; else controllers, scheduler and node are one each."""
    quiet_watches: bool = False
    """Whether watches neither end nor send bookmarks while nothing happens."""
    cpus: int = 4
    """What a node has. A gang of six takes three."""
    nodes: tuple[Obj, ...] = ()
    """The Nodes beside the first."""
    upgrades: bool = False
    """Whether the process that comes back after its first death finds the journal of an older version."""
    calm_at: float = 120.0
    """From then on nothing goes wrong any more, and nobody does anything."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the objects that are created."""
        return frozenset(deed.kind for deed in self.deeds if deed.verb == "create")

    @property
    def namespaces(self) -> tuple[str, ...]:
        return tuple(sorted({NAMESPACE, *(deed.namespace for deed in self.deeds)}))

    @property
    def loses_sight(self) -> bool:
        """Whether all watches of a resource are cut for a while."""
        return any(deed.verb == "lose sight" for deed in self.deeds)

    @property
    def is_rationed(self) -> bool:
        """Whether a quota may refuse pods and Jobs."""
        return any(deed.kind == "quota" for deed in self.deeds)

    @property
    def is_smooth(self) -> bool:
        """Whether no request fails, nobody dies and watches are late at most."""
        return not self.crashes and not self.trouble.rate and not self.loses_sight

    @property
    def is_prompt(self) -> bool:
        """Whether it is smooth and watches are little late: their delays add up while many pods change, and
        with four seconds each they come to half a minute."""
        return self.is_smooth and self.trouble.lag <= 1.0

    @property
    def patterns(self) -> frozenset[str]:
        """Sieve's patterns in this scenario: the ways in which a controller's idea of the world is wrong."""
        found = set()
        if self.crashes:
            found.add("intermediate state")  # a crash between two writes
        if any(crash.stale for crash in self.crashes):
            found.add("stale state")  # an old cache after a restart
        if self.trouble.rate or self.loses_sight:
            found.add("unobserved state")  # a change that no watch told: it broke, and the list came later
        return frozenset(found)
