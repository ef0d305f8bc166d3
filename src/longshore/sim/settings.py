"""The question of a simulation, the nodes it is played on, and outcome files.

default: {duration: 3m±20s}                      # default and pods: see scripts/script_documents.py
nodes: {mtbf: 30d, repair: 10m}               # or, beside it: {at: "03:00", for: 20m, name: node-0}
evictions: {mean: 12h}
expect:
  job/report: done before 06:00              # or a list of rules: see checks.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.scripts import script_documents
from longshore.scripts.pod_rules import Rule
from longshore.sim.checks import Expectation, expectations, seconds_until
from longshore.testing.troubles import NodeFailure, Troubles

DAY_SECONDS: Final = 86_400.0
DEFAULT_NODE: Final = {"cpu": "64", "memory": "256Gi", "pods": "500"}
MAX_SECONDS: Final = 3660 * DAY_SECONDS
DEFAULT_RUN_SECONDS: Final = 60.0
"""The duration of a run for which no other is given."""
_NODE_FIELDS: Final = ("mtbf", "repair", "at", "for", "name")
_OUTCOME_FIELDS: Final = ("default", "evictions", "expect", "nodes", "pods")


class SimSettings(msgspec.Struct, frozen=True):
    """One question: what would happen?"""

    objects: Sequence[Obj]
    """Manifests: Jobs, CronJobs, Volcano Jobs, queues, priority classes, quotas, nodes and the like."""
    start: datetime
    """A whole second: a CronJob runs at it if that is one of its times."""
    zone: str
    """The time zone of CronJobs without one, and of the times that are shown."""
    seconds: float
    """The longest time that is simulated."""
    until_done: bool = False
    """Whether the simulation ends when nothing is left to do."""
    seed: int = 0
    nodes: Sequence[Obj] = ()
    """Used if the manifests have no nodes."""
    rules: Sequence[Rule] = ()
    """Rules about how pods run and end. The last rule that matches counts; without one, the pod's
    annotations."""
    named: Sequence[Rule] = ()
    """The rules for named pods of the outcome file, each of which should match a pod."""
    troubles: Troubles = Troubles()
    """Moments of failures are in seconds from the start."""
    windows: tuple[Expectation, ...] = ()
    """The answer says how late the work of `done before` rules ends."""
    shortcuts: bool = True
    """Whether shortcuts spare work where the result stays the same (`apiserver/shortcuts`)."""


def amounts(text: str) -> dict[str, str]:
    """`cpu=64,memory=256Gi,nvidia.com/gpu=8` as amounts. Raises ValueError with what is wrong."""
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, equals, amount = part.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"{part!r} is not NAME=AMOUNT, such as cpu=64 or nvidia.com/gpu=8")
        try:
            quantity.value(amount)
        except ValueError:
            raise ValueError(f"{part!r}: {amount!r} is no quantity, such as 64, 500m or 256Gi") from None
        found[name.strip()] = amount
    return found


def nodes(count: int, given: dict[str, str]) -> list[Obj]:
    """Makes `count` equal nodes. Amounts that are not given are those of the default node."""
    capacity = {**DEFAULT_NODE, **given}
    width = len(str(count - 1))
    return [node(f"node-{number:0{width}}", capacity) for number in range(count)]


def node(name: str, capacity: dict[str, str]) -> Obj:
    labels = {"kubernetes.io/hostname": name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def check_node(given: Obj) -> None:
    """Raises ValueError for a Node whose status does not give its resources as quantities."""
    name, status = given["metadata"].get("name"), given.get("status")
    has: object = None
    if isinstance(status, dict):
        has = status.get("allocatable") or status.get("capacity")
    if not has or not isinstance(has, dict):
        raise ValueError(f"Node {name}: status.capacity: say what it has, such as cpu: 64, memory: 256Gi")
    for key, amount in has.items():
        try:
            quantity.value("" if isinstance(amount, bool) else str(amount))
        except ValueError:
            text = f"{amount!r} is no quantity, such as 64, 500m or 256Gi"
            raise ValueError(f"Node {name}: {key} of status.capacity: {text}") from None


class Outcomes(msgspec.Struct, frozen=True):
    """The content of an outcome file."""

    rules: tuple[Rule, ...] = ()
    named: tuple[Rule, ...] = ()
    """The rules but for the default."""
    troubles: Troubles = Troubles()
    expect: tuple[Expectation, ...] = ()


def outcomes_of(document: Any, start: datetime) -> Outcomes:
    """The outcomes in a decoded YAML document, for a simulation with this start, in its zone. Raises
    ValueError with field, value and rule."""
    found = script_documents.mapping(document, "the outcome file", _OUTCOME_FIELDS)
    script = script_documents.script_of(found, DEFAULT_RUN_SECONDS)
    nodes = script_documents.mapping(found.get("nodes") or {}, "nodes", _NODE_FIELDS)
    evictions = script_documents.mapping(found.get("evictions") or {}, "evictions", ("mean",))
    troubles = Troubles(
        node_mtbf=_seconds(nodes.get("mtbf", 0), "nodes.mtbf"),
        node_repair=_seconds(nodes.get("repair", 600), "nodes.repair"),
        eviction_mean=_seconds(evictions.get("mean", 0), "evictions.mean"),
        failures=_failures(nodes, start),
    )
    default = () if script.default is None else (script.default,)
    return Outcomes((*default, *script.rules), script.rules, troubles, expectations(found.get("expect")))


def _failures(nodes: Mapping[str, Any], start: datetime) -> tuple[NodeFailure, ...]:
    """The failure at a given time; its moment is in seconds from the start."""
    if "at" not in nodes:
        odd = [key for key in ("for", "name") if key in nodes]
        if odd:
            raise ValueError(f'nodes: {odd[0]} needs at: the time of the failure, such as "03:00"')
        return ()
    try:
        if not isinstance(nodes["at"], str):
            raise ValueError(f'{nodes["at"]!r} is no text: quote it, as in "03:00"')
        at = seconds_until(nodes["at"], start)
    except ValueError as err:
        raise ValueError(f"nodes.at: {err}") from None
    return (NodeFailure(str(nodes.get("name") or ""), at, _seconds(nodes.get("for", 600), "nodes.for")),)


def _seconds(value: Any, where: str) -> float:
    try:
        return script_documents.seconds_of(value)
    except ValueError as err:
        raise ValueError(f"{where}: {err}") from None
