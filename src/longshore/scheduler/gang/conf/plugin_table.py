"""The plugins of the gang scheduler: the points at which each is called, and its arguments. Data only.

`docs/reference/scheduler-conf.md` has the same table for people; a test compares both.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

Kind = Literal["number", "flag", "seconds", "hours", "names", "mapping", "percents", "strategies"]

JOB_ORDER, TASK_ORDER, QUEUE_ORDER = "enableJobOrder", "enableTaskOrder", "enableQueueOrder"
JOB_READY, JOB_PIPELINED, JOB_ENQUEUED = "enableJobReady", "enableJobPipelined", "enableJobEnqueued"
JOB_STARVING = "enableJobStarving"
PREEMPTABLE, RECLAIMABLE, PREEMPTIVE = "enablePreemptable", "enableReclaimable", "enablePreemptive"
PREDICATE, NODE_ORDER = "enablePredicate", "enableNodeOrder"
OVERUSED, ALLOCATABLE, VICTIM = "enabledOverused", "enabledAllocatable", "enabledVictim"
HIERARCHY = "enableHierarchy"
POINTS: Final = frozenset(
    (
        *(JOB_ORDER, TASK_ORDER, QUEUE_ORDER, JOB_READY, JOB_PIPELINED, JOB_ENQUEUED, JOB_STARVING),
        *(PREEMPTABLE, RECLAIMABLE, PREEMPTIVE, PREDICATE, NODE_ORDER, OVERUSED, ALLOCATABLE, VICTIM),
        *("enableBestNode", "enableTargetJob", "enableReservedNodes", "enableNamespaceOrder"),
        *("enableClusterOrder", "enabledHyperNodeOrder", "enabledSubJobReady", "enabledSubJobPipelined"),
        *("enabledSubJobOrder", "enabledHyperNodeGradient"),
    )
)
"""Every switch that Volcano knows. A switch of a point that the plugin does not use has no effect."""


class Argument(msgspec.Struct, frozen=True):
    """An argument. A name that ends in `*` covers all names with that prefix; its value is a mapping."""

    name: str
    kind: Kind
    default: Any = None
    least: float | None = None
    """The smallest number allowed."""


class Row(msgspec.Struct, frozen=True, dict=True):
    """The points and arguments of a plugin."""

    points: tuple[str, ...]
    arguments: tuple[Argument, ...] = ()
    reads: Literal["", "loads", "quotas"] = ""
    """Facts that are gathered only for such plugins: measured loads of nodes, or quotas."""

    @cached_property
    def _by_name(self) -> dict[str, Argument]:
        return {each.name: each for each in self.arguments}

    def argument(self, name: str) -> Argument:
        return self._by_name[name]


def _numbers(**defaults: float) -> tuple[Argument, ...]:
    return tuple(Argument(f"{name}.weight", "number", default, least=0) for name, default in defaults.items())


HOURS: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])-([01]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
"""Hours such as `20:00-06:00`."""
STRATEGIES: Final = ("lowNodeUtilization",)
"""The strategies of `rescheduling`."""
_HIERARCHY: Final = (Argument(HIERARCHY, "flag", False),)
"""The switch of hierarchies, which is off by default and stands beside the plugin's name."""
PREDICATES: Final = {
    "predicate.NodeAffinityEnable": "node affinity",
    "predicate.NodePortsEnable": "ports",
    "predicate.TaintTolerationEnable": "taints",
    "predicate.PodAffinityEnable": "pod affinity",
    "predicate.PodTopologySpreadEnable": "spread",
    "predicate.VolumeZoneEnable": "volumes",
}
"""The filters that can be turned off, by argument."""

PLUGINS: Final[dict[str, Row]] = {
    "priority": Row((JOB_ORDER, TASK_ORDER, PREEMPTABLE, JOB_STARVING)),
    "gang": Row((JOB_ORDER, JOB_READY, JOB_PIPELINED, PREEMPTABLE, RECLAIMABLE, JOB_STARVING)),
    "conformance": Row((PREEMPTABLE, RECLAIMABLE)),
    "overcommit": Row((JOB_ENQUEUED,), (Argument("overcommit-factor", "number", 1.2),)),
    "drf": Row((JOB_ORDER, PREEMPTABLE, QUEUE_ORDER), _HIERARCHY),
    "predicates": Row((PREDICATE,), tuple(Argument(name, "flag", True) for name in PREDICATES)),
    "proportion": Row((QUEUE_ORDER, RECLAIMABLE, PREEMPTIVE, OVERUSED, ALLOCATABLE, JOB_ENQUEUED)),
    "capacity": Row((QUEUE_ORDER, RECLAIMABLE, PREEMPTIVE, OVERUSED, ALLOCATABLE, JOB_ENQUEUED), _HIERARCHY),
    "nodeorder": Row(
        (NODE_ORDER,),
        _numbers(
            leastrequested=1,
            mostrequested=0,
            nodeaffinity=2,
            podaffinity=2,
            balancedresource=1,
            tainttoleration=3,
            podtopologyspread=2,
        ),
    ),
    "binpack": Row(
        (NODE_ORDER,),
        (
            Argument("binpack.weight", "number", 1, least=0),
            Argument("binpack.cpu", "number", 1, least=0),
            Argument("binpack.memory", "number", 1, least=0),
            Argument("binpack.resources", "names", ()),
            Argument("binpack.resources.*", "number", {}, least=0),
        ),
    ),
    "nodegroup": Row((PREDICATE, NODE_ORDER)),
    "task-topology": Row((TASK_ORDER, NODE_ORDER), (Argument("task-topology.weight", "number", 1, least=0),)),
    "resource-strategy-fit": Row(
        (NODE_ORDER,),
        (Argument("resourceStrategyFitWeight", "number", 10, least=0), Argument("resources", "mapping", {})),
    ),
    "tdm": Row(
        (JOB_ORDER, PREDICATE, NODE_ORDER, PREEMPTABLE, VICTIM),
        (
            Argument("tdm.revocable-zone.*", "hours", {}),
            Argument("tdm.evict.period", "seconds", 60.0, least=0),
        ),
    ),
    "cdp": Row((PREEMPTABLE, RECLAIMABLE)),
    "usage": Row(
        (PREDICATE, NODE_ORDER),
        (
            Argument("usage.weight", "number", 5, least=0),
            Argument("cpu.weight", "number", 1, least=0),
            Argument("memory.weight", "number", 1, least=0),
            Argument("thresholds", "percents", {}),
        ),
        reads="loads",
    ),
    "rescheduling": Row(
        (VICTIM,),
        (
            Argument("interval", "seconds", 300.0, least=1),
            Argument("strategies", "strategies", ({"name": "lowNodeUtilization"},)),
        ),
        reads="loads",
    ),
    "pdb": Row((PREEMPTABLE, RECLAIMABLE, VICTIM)),
    "resourcequota": Row((JOB_ENQUEUED,), reads="quotas"),
    "network-topology-aware": Row(()),
    "sla": Row(
        (JOB_ORDER, JOB_ENQUEUED, JOB_PIPELINED), (Argument("sla-waiting-time", "seconds", None, least=0),)
    ),
}
"""Every plugin there is, by name."""

LEFT_OUT: Final = {
    "numaaware": "nodes do not tell their NUMA layout here",
    "deviceshare": "there are no devices to share; ask for whole ones as extended resources",
    "extender": "no other server has a say here",
}
"""Volcano's other plugins, with the reason why they have no effect."""

ACTIONS: Final[dict[str, dict[str, Argument]]] = {
    "enqueue": {},
    "allocate": {},
    "backfill": {},
    "preempt": {
        "enableTopologyAwarePreemption": Argument("enableTopologyAwarePreemption", "flag", False),
    },
    "reclaim": {},
    "shuffle": {},
    "gangpreempt": {},
    "gangreclaim": {},
}
"""The arguments of each action."""
