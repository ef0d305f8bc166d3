"""The whole state of a cluster at one moment, to begin many tests from it.

A snapshot has the objects, the time, the running containers of the scripted machine with the rest of their
runs, the scripts with how often each was used, and the dice. It has no connections: after a restore clients
connect again, and watches start anew, because versions go on from where they are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from longshore.machinery.time.virtual import VirtualClock
from longshore.node.runtime import Container, Key, State
from longshore.scripts.pod_rules import CommandRule, Rule
from longshore.scripts.runs import Run
from longshore.store import Key as StoreKey
from longshore.testing.cut_store import CutStore
from longshore.testing.promises import Ledger
from longshore.testing.scripted_runtime import End

if TYPE_CHECKING:
    from longshore.testing.installation import Installation


class Snapshot(msgspec.Struct, frozen=True):
    """The state that `Cluster.restore` takes, of this cluster or of another one of the process."""

    objects: list[tuple[StoreKey, int, bytes]]
    revision: int
    now: float
    rules: list[Rule]
    commands: list[CommandRule]
    default: Rule
    used: Counter[tuple[int, tuple[object, ...]]]
    dice: Any
    script_dice: Any
    """State of the dice for scripts that leave something open."""
    states: dict[Key, State]
    runs: dict[Key, Run]
    containers: dict[Key, Container]
    ends: dict[Key, End]
    """How each running container ends by itself, and in how many seconds."""
    ledger: Ledger


def take(inside: Installation) -> Snapshot:
    """Takes a snapshot. Call it when nothing is left to do at this moment."""
    machine, scripts = inside.node.machine, inside.scripts
    return Snapshot(
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


async def put_back(inside: Installation, snapshot: Snapshot) -> None:
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
