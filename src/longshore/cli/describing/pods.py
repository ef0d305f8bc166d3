"""Describes a pod or a pod template."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.cli.describing import containers
from longshore.cli.describing.description_lines import NONE, Lines, controlled_by, head, when
from longshore.cli.showing import event_lines


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
    volumes(lines, spec.get("volumes") or ())
    lines.pair(0, "QoS Class", status.get("qosClass", ""))
    lines.labels("Node-Selectors", spec.get("nodeSelector"))
    lines.several("Tolerations", _tolerations(spec.get("tolerations") or ()))
    event_lines.table(lines, happened, now)
    return lines.text()


def template(lines: Lines, template: Obj | None) -> None:
    """Adds the fields that all pods of a template share."""
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
    volumes(lines, spec.get("volumes") or (), template=True)
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


def volumes(lines: Lines, volumes: Sequence[Obj], *, template: bool = False) -> None:
    space = "  " if template else ""
    if not volumes:
        lines.add(0, f"{space}Volumes:\t{NONE}")
        return
    lines.add(0, f"{space}Volumes:")
    for volume in volumes:
        lines.add(1, f"{' ' if template else ''}{volume['name']}:")
        for source, write in _VOLUMES.items():
            if source in volume:
                write(lines, volume[source])
                break
        else:
            lines.pair(2, "Type", next((key for key in volume if key != "name"), "<unknown>"))


def _volume(type: str, *fields: tuple[str, str, Any]) -> Callable[[Lines, Obj], None]:
    def write(lines: Lines, source: Obj) -> None:
        lines.pair(2, "Type", type)
        for title, key, default in fields:
            value = source.get(key, default)
            lines.pair(2, title, ("true" if value else "false") if isinstance(value, bool) else value)

    return write


def _downward_volume(lines: Lines, source: Obj) -> None:
    lines.pair(2, "Type", "DownwardAPI (a volume populated by information about the pod)")
    lines.add(2, "Items:")
    for item in source.get("items") or ():
        of = item.get("fieldRef", {}).get("fieldPath") or item.get("resourceFieldRef", {}).get("resource", "")
        lines.add(3, f"{of} -> {item['path']}")


def _projected_volume(lines: Lines, source: Obj) -> None:
    lines.pair(2, "Type", "Projected (a volume that contains injected data from multiple sources)")
    for part in source.get("sources") or ():
        if ref := part.get("secret"):
            lines.pair(2, "SecretName", ref.get("name", ""))
            lines.pair(2, "Optional", "true" if ref.get("optional") else "false")
        elif "downwardAPI" in part:
            lines.pair(2, "DownwardAPI", "true")
        elif ref := part.get("configMap"):
            lines.pair(2, "ConfigMapName", ref.get("name", ""))
            lines.pair(2, "Optional", "true" if ref.get("optional") else "false")
        elif ref := part.get("serviceAccountToken"):
            lines.pair(2, "TokenExpirationSeconds", ref.get("expirationSeconds", 3600))


_VOLUMES: Final[dict[str, Callable[[Lines, Obj], None]]] = {
    "hostPath": _volume(
        "HostPath (bare host directory volume)", ("Path", "path", ""), ("HostPathType", "type", "")
    ),
    "emptyDir": _volume(
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        ("Medium", "medium", ""),
        ("SizeLimit", "sizeLimit", "<unset>"),
    ),
    "configMap": _volume(
        "ConfigMap (a volume populated by a ConfigMap)", ("Name", "name", ""), ("Optional", "optional", False)
    ),
    "secret": _volume(
        "Secret (a volume populated by a Secret)",
        ("SecretName", "secretName", ""),
        ("Optional", "optional", False),
    ),
    "persistentVolumeClaim": _volume(
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        ("ClaimName", "claimName", ""),
        ("ReadOnly", "readOnly", False),
    ),
    "downwardAPI": _downward_volume,
    "projected": _projected_volume,
}
