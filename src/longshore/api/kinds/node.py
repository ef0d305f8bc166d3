"""Nodes: a node brings its status when it registers; later the status belongs to /status.

A new node carries the `not-ready` taint, so that no pod is scheduled on it before it is ready. The node
lifecycle controller removes the taint.
"""

from __future__ import annotations

from typing import Final

from longshore.api import field, label_syntax
from longshore.api.facts.taints import NOT_READY
from longshore.api.field import FieldError
from longshore.api.quantity import round_up_list
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata, net
from longshore.api.validation.pod import resources

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NODE_INFO: Final = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
    "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip


def _default(obj: Obj) -> None:
    _default_cidrs(obj.setdefault("spec", {}))
    status = obj["status"] = dict(obj.get("status") or {})
    for key in ("capacity", "allocatable"):
        if status.get(key):
            status[key] = dict(status[key])
            round_up_list(status[key])
    if not status.get("allocatable") and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 0, **endpoint}}
    status["nodeInfo"] = {**dict.fromkeys(_NODE_INFO, ""), **(status.get("nodeInfo") or {})}


def _prepare_create(obj: Obj, ctx: Context) -> None:
    taints = obj["spec"].setdefault("taints", [])
    if not any(t.get("key") == NOT_READY and t.get("effect") == "NoSchedule" for t in taints):
        taints.append({"key": NOT_READY, "effect": "NoSchedule"})


def _validate_create(obj: Obj) -> list[FieldError]:
    return _taints(obj["spec"]) + _amounts(obj["status"]) + _cidrs(obj["spec"])


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_create(new["metadata"], namespaced=False, name_rule="subdomain")
    found += _validate_create(new)
    return found + _validate_status(new, old)


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    found += _amounts(new["status"])
    found += _addresses(new["status"].get("addresses") or ())
    spec, before = new["spec"], old["spec"]
    fixed = 'node updates may not change {} except from "" to valid'
    if before.get("podCIDRs") and before["podCIDRs"] != spec.get("podCIDRs"):
        found.append(field.forbidden("spec.podCIDRs", fixed.format("podCIDR")))
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        found.append(field.forbidden("spec.providerID", fixed.format("providerID")))
    found += _taints(spec)
    if spec.get("externalID", "") != before.get("externalID", ""):
        found.append(field.forbidden("spec.externalID", "may not be updated"))
    return found


def _default_cidrs(spec: Obj) -> None:
    """Makes `podCIDR` and the first of `podCIDRs` equal; when they differ, `podCIDR` wins."""
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many and not one:
        spec["podCIDR"] = many[0]


def _taints(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(spec.get("taints") or ()):
        # Upstream says metadata here, and clients see it.
        path = f"metadata.taints[{i}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        found += [field.invalid(f"{path}.key", key, text) for text in label_syntax.qualified_name(key)]
        wrong = label_syntax.label_value(value)
        if wrong:
            found.append(field.invalid(f"{path}.value", value, ";".join(wrong)))
        found += field.chosen(f"{path}.effect", effect, _EFFECTS)
        if (effect, key) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            text = "taints must be unique by key and effect pair"
            found.append(FieldError("FieldValueDuplicate", path, shown, text))
        seen.add((effect, key))
    return found


def _amounts(status: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    for key in ("capacity", "allocatable"):
        for name, amount in (status.get(key) or {}).items():
            resources.validate_quantity(name, amount, f"status.{key}.{name}", found)
    return found


def _addresses(addresses: list[Obj] | tuple[()]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[frozenset[tuple[str, str]]] = set()
    for i, address in enumerate(addresses):
        mark = frozenset(address.items())
        if mark in seen:
            shown = {"Type": address.get("type", ""), "Address": address.get("address", "")}
            found.append(field.duplicate(f"status.addresses[{i}]", shown))
        seen.add(mark)
    return found


def _cidrs(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    cidrs = spec.get("podCIDRs") or []
    for i, cidr in enumerate(cidrs):
        found += net.validate_cidr(cidr, f"spec.podCIDRs[{i}]")
    if len(cidrs) > 1:
        if len(cidrs) > 2 or len({net.is_v6(cidr) for cidr in cidrs}) < 2:
            text = "may specify no more than one CIDR for each IP family"
            found.append(field.invalid("spec.podCIDRs", cidrs, text))
        seen: set[str] = set()
        for i, cidr in enumerate(cidrs):
            if cidr in seen:
                found.append(field.duplicate(f"spec.podCIDRs[{i}]", cidr))
            seen.add(cidr)
    return found


STRATEGY: Final = Strategy(
    counts_generation=False,
    default=_default,
    prepare_create=_prepare_create,
    validate_create=_validate_create,
    validate_update=_validate_update,
    validate_status=_validate_status,
)
