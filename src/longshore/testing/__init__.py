"""Fakes and proofs for tests of programs that use longshore: nodes that run nothing, clients that die.

All of them work on any clock; on the virtual clock (`machinery.time.virtual`) a day takes a second, and the
same seed gives the same run. Imports only what every operating system has.

| to stand in for | take |
| --- | --- |
| the runtime that runs containers | `ScriptedRuntime` on a `ScriptedMachine`, scripted by `Run`s |
| a whole node, of a plane or beside any API | `ScriptedNode` |
| what prepares pods | `ScriptedPreparer` |
| key maker, directories of volumes | `SeededKeys`, `MemoryDirectories` |
| a bad network and a busy server | `FaultyClient` |
| faults of your own | `OneByOne`: override `reach` |
| a process that dies at one of its writes | `MortalClient`, `every_crash`; `Telling` for whole stories |
"""

from importlib import import_module
from typing import TYPE_CHECKING

from longshore.up.startup import resting_collector

with resting_collector(stays=True):
    from longshore.scripts.pod_rules import Rule, Scripts
    from longshore.scripts.runs import Chance, Exec, Exit, Run
    from longshore.scripts.spreads import Exponential, LogNormal, Normal, OneOf, Uniform
    from longshore.testing.cluster_for_tests import Cluster, WaitFailed
    from longshore.testing.faulty_client import FaultyClient
    from longshore.testing.scripted_node import ScriptedNode, ScriptedPreparer
    from longshore.testing.scripted_runtime import ScriptedMachine, ScriptedRuntime
    from longshore.testing.world import MemoryDirectories, SeededKeys

if TYPE_CHECKING:
    from longshore.testing.crashing import Death, MortalClient, OneByOne, every_crash, until_dead
    from longshore.testing.stories import Telling, an_api, beside

__all__ = [
    "Chance",
    "Cluster",
    "Death",
    "Exec",
    "Exit",
    "Exponential",
    "FaultyClient",
    "LogNormal",
    "MemoryDirectories",
    "MortalClient",
    "Normal",
    "OneByOne",
    "OneOf",
    "Rule",
    "Run",
    "ScriptedMachine",
    "ScriptedNode",
    "ScriptedPreparer",
    "ScriptedRuntime",
    "Scripts",
    "SeededKeys",
    "Telling",
    "Uniform",
    "WaitFailed",
    "an_api",
    "beside",
    "every_crash",
    "until_dead",
]

_PROOFS = {
    "Death": "crashing",
    "MortalClient": "crashing",
    "OneByOne": "crashing",
    "every_crash": "crashing",
    "until_dead": "crashing",
    "Telling": "stories",
    "an_api": "stories",
    "beside": "stories",
}
"""Names that a cluster for tests does not need, by module. Each is imported at its first use."""


def __getattr__(name: str) -> object:
    if name not in _PROOFS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PROOFS[name]}"), name)
