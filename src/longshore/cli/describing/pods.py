"""A pod, and a pod template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.cli.describing import containers, events, pod_volumes
from longshore.cli.describing.description_lines import NONE, Lines, controlled_by, head, when


def describe(pod: Obj, happened: Sequence[Obj], now: datetime) -> str:
    lines = Lines()
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    head(lines, pod)
    if spec.get("priority") is not None:
        lines.pair(0, "Priority", spec["priority"])
    for title, key in (
        ("Priority Class Name", "priorityClassName"),
        ("Runtime Class Name", "runtimeClassName"),
        ("Service Account", "serviceAccountName"),
    ):
        if spec.get(key):
            lines.pair(0, title, spec[key])
    node = spec.get("nodeName")
    lines.pair(0, "Node", f"{node}/{status.get('hostIP', '')}" if node else NONE)
    if status.get("startTime"):
        lines.pair(0, "Start Time", when(status["startTime"]))
    lines.labels("Labels", meta.get("labels"))
    lines.annotations("Annotations", meta.get("annotations"))
    if meta.get("deletionTimestamp"):
        lines.pair(0, "Status", f"Terminating (lasts {ages.age(meta['deletionTimestamp'], now)})")
        lines.pair(0, "Termination Grace Period", f"{meta.get('deletionGracePeriodSeconds', 0)}s")
    else:
        lines.pair(0, "Status", status.get("phase", ""))
    for title, key in (("Reason", "reason"), ("Message", "message")):
        if status.get(key):
            lines.pair(0, title, status[key])
    lines.pair(0, "IP", status.get("podIP", ""))
    addresses = status.get("podIPs") or ()
    if not addresses:
        lines.pair(0, "IPs", NONE)
    else:
        lines.add(0, "IPs:")
        for address in addresses:
            lines.pair(1, "IP", address.get("ip", ""))
    controlled_by(lines, pod)
    if status.get("nominatedNodeName"):
        lines.pair(0, "NominatedNodeName", status["nominatedNodeName"])
    if spec.get("initContainers"):
        states = status.get("initContainerStatuses")
        containers.describe(lines, "Init Containers", spec["initContainers"], states, pod=pod)
    containers.describe(
        lines, "Containers", spec.get("containers") or (), status.get("containerStatuses"), pod=pod
    )
    if spec.get("ephemeralContainers"):
        states = status.get("ephemeralContainerStatuses")
        containers.describe(lines, "Ephemeral Containers", spec["ephemeralContainers"], states, pod=pod)
    if status.get("conditions"):
        lines.add(0, "Conditions:")
        lines.add(1, "Type\tStatus")
        for condition in status["conditions"]:
            lines.add(1, f"{condition['type']} \t{condition['status']} ")
    pod_volumes.describe(lines, spec.get("volumes") or ())
    lines.pair(0, "QoS Class", status.get("qosClass", ""))
    lines.labels("Node-Selectors", spec.get("nodeSelector"))
    lines.several("Tolerations", _tolerations(spec.get("tolerations") or ()))
    events.describe(lines, happened, now)
    return lines.text()


def template(lines: Lines, template: Obj | None) -> None:
    """The fields that all pods of a template share."""
    lines.add(0, "Pod Template:")
    if template is None:
        lines.add(1, "<unset>")
        return
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    lines.labels("  Labels", meta.get("labels"))
    if meta.get("annotations"):
        lines.annotations("  Annotations", meta["annotations"])
    if spec.get("serviceAccountName"):
        lines.pair(1, "Service Account", spec["serviceAccountName"])
    if spec.get("initContainers"):
        containers.describe(lines, "Init Containers", spec["initContainers"], template=True)
    containers.describe(lines, "Containers", spec.get("containers") or (), template=True)
    pod_volumes.describe(lines, spec.get("volumes") or (), template=True)
    if spec.get("priorityClassName"):
        lines.pair(1, "Priority Class Name", spec["priorityClassName"])
    lines.labels("  Node-Selectors", spec.get("nodeSelector"))
    lines.several("  Tolerations", _tolerations(spec.get("tolerations") or ()))


def _tolerations(tolerations: Sequence[Obj]) -> Iterator[str]:
    for each in tolerations:
        text = str(each.get("key", ""))
        if each.get("value"):
            text += f"={each['value']}"
        if each.get("effect"):
            text += f":{each['effect']}"
        if each.get("operator") == "Exists" and not each.get("value"):
            text += " op=Exists" if text else "op=Exists"
        if each.get("tolerationSeconds") is not None:
            text += f" for {each['tolerationSeconds']}s"
        yield text
