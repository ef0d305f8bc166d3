"""The whole state of a cluster at one moment, to begin many tests from it.

A snapshot has the objects, the time, the running containers of the scripted machine with the rest of their
runs, the scripts with their numbers of uses, and the dice. It has no connections: after a restore clients
connect again, and watches start anew, because resourceVersions continue from the present one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from longshore.machinery.time.virtual import VirtualClock
from longshore.node.runtime import Container, ContainerState, Key
from longshore.scripts.pod_rules import CommandRule, Rule
from longshore.scripts.runs import Run
from longshore.store import Key as StoreKey
from longshore.store import Store
from longshore.store.batch import Batch
from longshore.store.contents import FIRST_REVISION, Contents
from longshore.store.memory_limits import Limits
from longshore.store.types import Entry
from longshore.store.watch import Watch
from longshore.testing.observed_front import OVER_HTTP
from longshore.testing.promises import LEDGER_STORAGES, Ledger
from longshore.testing.scripted_runtime import End

if TYPE_CHECKING:
    from longshore.testing.installation import Installation


class ClusterSnapshot(msgspec.Struct, frozen=True):
    """A state for `Cluster.restore`, of any cluster of this process."""

    objects: list[tuple[StoreKey, int, bytes]]
    revision: int
    now: float
    rules: list[Rule]
    commands: list[CommandRule]
    default: Rule
    used: Counter[tuple[int, tuple[object, ...]]]
    dice: Any
    script_dice: Any
    """State of the dice for durations that scripts leave open."""
    states: dict[Key, ContainerState]
    runs: dict[Key, Run]
    containers: dict[Key, Container]
    ends: dict[Key, End]
    """When, in seconds from now, and how each running container ends by itself."""
    ledger: Ledger


def take(inside: Installation) -> ClusterSnapshot:
    """Takes a snapshot. Call it when nothing is left to do at this moment."""
    machine, scripts = inside.node.machine, inside.scripts
    return ClusterSnapshot(
        inside.store.objects(),
        inside.store.revision,
        inside.clock.timestamp(),
        [*scripts.rules],
        [*scripts.commands],
        scripts.default,
        Counter(scripts.used),
        inside.rng.getstate(),
        scripts.rng.getstate(),
        dict(machine.states),
        dict(machine.runs),
        dict(machine.containers),
        machine.remaining(),
        inside.store.ledger.copy(),
    )


async def put_back(inside: Installation, snapshot: ClusterSnapshot) -> None:
    """Restores the snapshot into the cluster."""
    await inside.pause()
    machine, scripts, clock = inside.node.machine, inside.scripts, inside.clock
    if isinstance(clock, VirtualClock):
        clock.jump(snapshot.now - clock.timestamp())
    scripts.rules[:], scripts.default = snapshot.rules, snapshot.default
    scripts.commands[:], scripts.used = snapshot.commands, Counter(snapshot.used)
    inside.rng.setstate(snapshot.dice)
    scripts.rng.setstate(snapshot.script_dice)
    machine.become(snapshot.states, snapshot.runs, snapshot.containers, snapshot.ends)
    inside.requests.clear()
    inside.faults.clear()
    inside.answers.clear()
    revision = max(snapshot.revision, inside.store.revision) + 1
    store = CutStore.of(snapshot.objects, revision)
    store.ledger = snapshot.ledger.copy()
    await inside.resume(store)


# A store in memory whose watches can be cut and whose history can be forgotten, to test watchers.
#
# `of` makes a store with given objects; the restore of a snapshot uses it.


class CutStore(Store):
    """Keeps nothing on disk. `of` makes a store with initial objects."""

    def __init__(self, found: Contents, limits: Limits) -> None:
        super().__init__(None, found, limits)
        self.ledger = Ledger()
        self._local: list[Watch] = []
        """Watches of this process's own parts."""

    @classmethod
    def of(
        cls, objects: Iterable[tuple[StoreKey, int, bytes]] = (), revision: int = FIRST_REVISION
    ) -> CutStore:
        """A store with these objects, each with its revision, and no history before `revision`."""
        limits = Limits()
        contents = Contents(limits, revision, journalled=False)
        for key, at, raw in objects:
            contents.state.put(Entry(key, at, raw, contents.decoded))
        return cls(contents, limits)

    def objects(self) -> list[tuple[StoreKey, int, bytes]]:
        """Every object as it is now."""
        return [
            (entry.key, entry.revision, entry.raw)
            for storage in self.counts()
            for entry in self._contents.state.entries(storage, None)
        ]

    def _durable(self, batch: Batch) -> None:
        super()._durable(batch)
        for event in batch.events:
            if event.entry.key.storage in LEDGER_STORAGES:
                self.ledger.note(event)

    def watch(self, storage: str, namespace: str | None = None, since: int | None = None) -> Watch:
        made = super().watch(storage, namespace, since)
        if not OVER_HTTP.get():
            self._local = [each for each in self._local if each.is_open]
            self._local.append(made)
        return made

    def cut_local_watches(self) -> None:
        """Ends all watches of this process's own parts, as a connection that breaks does."""
        for each in self._local:
            each.close()
        self._local.clear()

    def forget_history(self) -> None:
        """Forgets older revisions: a watch that goes on from one of them has to list again."""
        self._contents.window.forget(self.revision)
