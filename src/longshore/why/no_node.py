"""The step that ends a pod's wait for a node, from the scheduler's words, the pod, the nodes and the claims.

The words are upstream's, so this works for any scheduler that uses them. If unsure, it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from longshore.api import pod_resources, quantity
from longshore.api.facts import taints
from longshore.api.types import Obj
from longshore.why.needs import Step

_PREEMPTION: Final = re.compile(r" preemption: .*?\.(?= \(|$)")
_NONE: Final = "no nodes available to schedule pods"
_CLAIM: Final = re.compile(r'persistentvolumeclaim "([^"]+)" (not found|is being deleted|bound to)')
_BYTES: Final = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))
_MAX_SHOWN: Final = 3
_SEE_LABELS: Final = ("the labels that nodes have: longshore get nodes --show-labels",)
_OPERATORS: Final = {"In": "in", "NotIn": "not in", "Gt": "above", "Lt": "below"}


def plain(message: str) -> str:
    """The scheduler's words without the part on preemption, on which no person can act."""
    return _NONE if message.startswith("0/0 nodes") else _PREEMPTION.sub("", message)


def is_start(message: str) -> bool:
    """Whether the words only say that no node is ready, which is usual in the first seconds of a
    longshore."""
    return plain(message) == _NONE or ("0/1 nodes" in message and taints.NOT_READY in message)


def step(pod: Obj, message: str, nodes: Sequence[Obj], claims: Sequence[Obj]) -> Step | None:
    """The next step; None if the words name no known one."""
    said = plain(message)
    found = [
        *_claims(pod, said, claims),
        *_nodes(said),
        *_room(pod, said, nodes),
        *_labels(pod, said, nodes),
        *_taints(pod, said, nodes),
        *_neighbours(pod, said),
    ]
    if not found:
        return None
    see = dict.fromkeys(line for each in found for line in each.see)
    return Step(", or ".join(each.until for each in found), tuple(see))


# ---- claims


def _claims(pod: Obj, said: str, claims: Sequence[Obj]) -> Iterator[Step]:
    for name, state in _CLAIM.findall(said):
        about = (f"about the claim: longshore why pvc/{name}",)
        if state == "not found":
            yield Step(f"claim {name} exists", ("the claims that exist: longshore get pvc",))
        elif state == "is being deleted":
            yield Step(f"claim {name}, which is being deleted, was created anew", about)
        else:
            yield Step(f"claim {name} has its volume again, which is gone", about)
    if "unbound immediate PersistentVolumeClaims" not in said:
        return
    phases = {claim["metadata"]["name"]: (claim.get("status") or {}).get("phase") for claim in claims}
    names = [name for name in claim_names(pod) if name in phases and phases[name] != "Bound"]
    if names:
        which = f"claim {names[0]} is bound" if len(names) == 1 else f"claims {', '.join(names)} are bound"
        yield Step(which, tuple(f"about the claim: longshore why pvc/{name}" for name in names[:_MAX_SHOWN]))


def claim_names(pod: Obj) -> list[str]:
    """The claims that a pod uses, by name."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            found.append(claim["claimName"])
        elif volume.get("ephemeral"):
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found


# ---- nodes


def _nodes(said: str) -> Iterator[Step]:
    if said == _NONE:
        yield Step("a node joins", ("the nodes: longshore get nodes",))


def _room(pod: Obj, said: str, nodes: Sequence[Obj]) -> Iterator[Step]:
    if "Insufficient " not in said and "Too many pods" not in said:
        return
    asked = pod_resources.pod_requests(pod["spec"])
    if small := too_large(asked, [node for node in nodes if _may_use(pod, node)]):
        yield Step(f"a larger node joins or less is asked for: a pod asks {small}")
    else:
        see = ("what the nodes have: longshore describe node",)
        yield Step("other pods end and leave room", see)


def too_large(asked: pod_resources.Amounts, nodes: Sequence[Obj]) -> str:
    """The request that no node can meet even when empty: `40 cpu, the largest node has 2`; else empty."""
    sizes = [(node.get("status") or {}).get("allocatable") or {} for node in nodes]
    if not sizes or any(_covers(size, asked) for size in sizes):
        return ""
    lacking = []
    for name, amount in sorted(asked.items()):
        largest = max((str(size.get(name, "0")) for size in sizes), key=_amount)
        if quantity.compare(amount, largest) > 0:
            lacking.append(f"{shown(amount)} {name}, the largest node has {shown(largest)}")
    if lacking:
        return "; ".join(lacking)
    whole = " + ".join(f"{shown(amount)} {name}" for name, amount in sorted(asked.items()))
    return f"{whole}, no node has all of it"


def _amount(text: str) -> Decimal:
    return quantity.parse(text).amount


def _covers(size: dict[str, str], asked: pod_resources.Amounts) -> bool:
    return all(quantity.compare(amount, str(size.get(name, "0"))) <= 0 for name, amount in asked.items())


def shown(amount: str) -> str:
    """A quantity as people read it: `2` for `2000m`, `15.6Gi` for `16374560Ki`."""
    value = quantity.parse(amount).amount
    if value >= 1 << 20:
        unit, size = next((unit, size) for unit, size in _BYTES if value >= size)
        return f"{float(value) / size:.3g}{unit}"
    return f"{value:f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def _may_use(pod: Obj, node: Obj) -> bool:
    """Whether the pod tolerates the node's taints and its nodeSelector matches the node."""
    if (node.get("spec") or {}).get("unschedulable") or _taint_against(pod, node) is not None:
        return False
    labels = node["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in (pod["spec"].get("nodeSelector") or {}).items())


def _taint_against(pod: Obj, node: Obj) -> Obj | None:
    found = (node.get("spec") or {}).get("taints") or ()
    return taints.untolerated(found, pod["spec"].get("tolerations") or ())


def _labels(pod: Obj, said: str, nodes: Sequence[Obj]) -> Iterator[Step]:
    if "node affinity" not in said:
        return
    wanted = [f"{key}={value}" for key, value in (pod["spec"].get("nodeSelector") or {}).items()]
    there = {f"{k}={v}" for node in nodes for k, v in (node["metadata"].get("labels") or {}).items()}
    missing = [label for label in wanted if label not in there]
    name = nodes[0]["metadata"]["name"] if len(nodes) == 1 else "NODE"
    if missing and nodes:
        labels = f"the label {missing[0]}" if len(missing) == 1 else f"the labels {', '.join(missing)}"
        give = f"give a node what its nodeSelector asks for: kubectl label node {name} {' '.join(missing)}"
        yield Step(f"a node has {labels}, which none has", (give,))
    elif terms := list(_terms(pod)):
        either = f" {', '.join(wanted)} and" if wanted else ""
        yield Step(f"a node matches its node affinity:{either} {' or '.join(terms)}", _SEE_LABELS)
    elif wanted:
        yield Step(f"one node has all labels of its nodeSelector: {', '.join(wanted)}", _SEE_LABELS)


def _terms(pod: Obj) -> Iterator[str]:
    """The terms of the pod's required node affinity: `zone in (a, b) and gpu exists`."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        parts = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        if parts:
            yield " and ".join(map(_requirement, parts))


def _requirement(part: Obj) -> str:
    values = ", ".join(part.get("values") or ())
    match part["operator"]:
        case "Exists":
            return f"{part['key']} exists"
        case "DoesNotExist":
            return f"{part['key']} does not exist"
        case operator:
            return f"{part['key']} {_OPERATORS.get(operator, operator)} ({values})"


def _taints(pod: Obj, said: str, nodes: Sequence[Obj]) -> Iterator[Step]:
    if "taint" in said:
        found = [
            f"{_title(taint)} on node {node['metadata']['name']}"
            for node in nodes
            if (taint := _taint_against(pod, node)) is not None
        ]
        listed = (
            f": {', '.join(found[:_MAX_SHOWN])}" + (", …" if len(found) > _MAX_SHOWN else "") if found else ""
        )
        yield Step(f"a node's taints are tolerated or removed{listed}")
    if "were unschedulable" in said:
        names = [node["metadata"]["name"] for node in nodes if (node.get("spec") or {}).get("unschedulable")]
        name = names[0] if len(names) == 1 else "NODE"
        yield Step("a cordoned node is uncordoned", (f"uncordon it: kubectl uncordon {name}",))


def _title(taint: Obj) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _neighbours(pod: Obj, said: str) -> Iterator[Step]:
    if "match pod affinity rules" not in said:
        return
    affinity = (pod["spec"].get("affinity") or {}).get("podAffinity") or {}
    labels = [
        f"{key}={value}"
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for key, value in ((term.get("labelSelector") or {}).get("matchLabels") or {}).items()
    ]
    which = f" with {', '.join(labels)}" if labels else ""
    yield Step(f"a pod{which}, which its podAffinity wants as a neighbour, has a node")
