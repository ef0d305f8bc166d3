"""Describes a node: its resources, the requests against them, and the pods that request them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from longshore.api import pod_resources, quantity
from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.cli.describing.description_lines import NONE, Lines, head, when
from longshore.cli.showing import event_lines

_ROLE: Final = "node-role.kubernetes.io/"
_SYSTEM: Final = (
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
)


def describe(
    node: Obj, happened: Sequence[Obj], now: datetime, lease: Obj | None, pods: Sequence[Obj]
) -> str:
    """Describes a node. `pods` are the pods on this node that have not ended."""
    lines = Lines()
    meta, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    head(lines, node, namespaced=False)
    labels = meta.get("labels") or {}
    roles = sorted(key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE))
    lines.pair(0, "Roles", ",".join(roles) or NONE)
    lines.labels("Labels", labels)
    lines.annotations("Annotations", meta.get("annotations"))
    lines.pair(0, "CreationTimestamp", when(meta.get("creationTimestamp")))
    lines.several("Taints", (_taint(taint) for taint in spec.get("taints") or ()))
    lines.pair(0, "Unschedulable", "true" if spec.get("unschedulable") else "false")
    _lease(lines, lease)
    lines.add(0, "Conditions:")
    lines.add(1, "Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage")
    lines.add(1, "----\t------\t-----------------\t------------------\t------\t-------")
    for each in status.get("conditions") or ():
        times = when(each.get("lastHeartbeatTime")), when(each.get("lastTransitionTime"))
        why = each.get("reason", ""), each.get("message", "")
        lines.add(1, " \t".join((each["type"], each["status"], *times, *why)))
    lines.add(0, "Addresses:")
    for address in status.get("addresses") or ():
        lines.pair(1, address["type"], address["address"])
    for key in ("capacity", "allocatable"):
        lines.add(0, f"{key.capitalize()}:")
        for name, amount in sorted((status.get(key) or {}).items()):
            lines.pair(1, name, amount)
    lines.add(0, "System Info:")
    for title, key in _SYSTEM:
        lines.pair(1, title, (status.get("nodeInfo") or {}).get(key, ""))
    _pods(lines, pods, status.get("allocatable") or status.get("capacity") or {}, now)
    event_lines.table(lines, happened, now)
    return lines.text()


def _taint(taint: Obj) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _lease(lines: Lines, lease: Obj | None) -> None:
    spec = (lease or {}).get("spec") or {}
    lines.add(0, "Lease:")
    lines.pair(1, "HolderIdentity", spec.get("holderIdentity", "<unset>"))
    for title, key in (("AcquireTime", "acquireTime"), ("RenewTime", "renewTime")):
        lines.pair(1, title, when(spec[key]) if spec.get(key) else "<unset>")


def _pods(lines: Lines, pods: Sequence[Obj], has: Mapping[str, str], now: datetime) -> None:
    lines.pair(0, "Non-terminated Pods", f"({len(pods)} in total)")
    lines.add(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge")
    lines.add(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---")
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for pod in pods:
        asked, capped = pod_resources.pod_requests(pod["spec"]), pod_resources.pod_limits(pod["spec"])
        for total, own in ((requests, asked), (limits, capped)):
            for name, amount in own.items():
                total[name] = quantity.add(total[name], amount) if name in total else amount
        cells = [_share(own, name, has) for name in ("cpu", "memory") for own in (asked, capped)]
        meta = pod["metadata"]
        age = ages.age(meta.get("creationTimestamp"), now)
        lines.add(1, f"{meta['namespace']}\t{meta['name']}\t\t" + "\t".join(cells) + f"\t{age}")
    lines.add(0, "Allocated resources:")
    lines.add(1, "(Total limits may be over 100 percent, i.e., overcommitted.)")
    lines.add(1, "Resource\tRequests\tLimits")
    lines.add(1, "--------\t--------\t------")
    for name in dict.fromkeys(("cpu", "memory", "ephemeral-storage", *sorted({*has, *requests} - {"pods"}))):
        lines.add(1, f"{name}\t{_share(requests, name, has)}\t{_share(limits, name, has)}")


def _share(amounts: Mapping[str, str], name: str, has: Mapping[str, str]) -> str:
    """`250m (12%)`: the amount, and its share of the node's."""
    amount = amounts.get(name, "0")
    whole = quantity.milli_value(has.get(name, "0"))
    percent = quantity.milli_value(amount) * 100 // whole if whole else 0
    return f"{amount} ({percent}%)"
