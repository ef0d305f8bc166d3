"""Claims of a pod and what they mean for its placement. Pure: reads objects, writes nothing.

A bound claim may restrict the pod to its volume's nodes. An unbound claim of a class that binds immediately
must be waited for. A claim of a class that waits for its first consumer gets its node with the pod:
`acting/binding.py` tells the provisioner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from longshore.api.field import quoted
from longshore.api.types import Obj
from longshore.scheduler.fitting import node_selection
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.fitting.verdict import NODE, VOLUMES, Failure, Refusal
from longshore.scheduler.ledger import Node

WAITS: Final = "WaitForFirstConsumer"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_ELSEWHERE: Final = Failure(("node(s) didn't match PersistentVolume's node affinity",), NODE | VOLUMES)
_PROVISIONED_ELSEWHERE: Final = Failure(
    ("node(s) didn't find available persistent volumes to bind",), VOLUMES
)

Lookup: TypeAlias = Callable[[str, str], Obj | None]
"""Maps namespace (empty for cluster-scoped objects) and name to the object as last seen."""


class Volumes(msgspec.Struct, frozen=True):
    """The caches of claims, volumes and classes."""

    claim: Lookup
    volume: Lookup
    storage_class: Lookup


class Needs(msgspec.Struct, frozen=True):
    """The requirements of a pod's claims on a node."""

    ties: tuple[node_selection.Chooses, ...] = ()
    waiting: tuple[Obj, ...] = ()
    """Claims that get their volume once the pod has a node."""
    fixed: str = ""
    """The node for which a provisioner is making a volume already."""

    def check(self, node: Node) -> Failure | None:
        if any(not tie(node.labels, node.name) for tie in self.ties):
            return _ELSEWHERE
        if self.fixed and self.fixed != node.name:
            return _PROVISIONED_ELSEWHERE
        return None


NOTHING: Final = Needs()


def claims_of(pod: Obj) -> list[tuple[str, bool]]:
    """Names of the pod's claims, and whether each is only for this pod (a generic ephemeral volume)."""
    found: list[tuple[str, bool]] = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append((volume["persistentVolumeClaim"]["claimName"], False))
        elif "ephemeral" in volume:
            found.append((f"{pod['metadata']['name']}-{volume['name']}", True))
    return found


def needs(pod: Pod, volumes: Volumes) -> Needs | Refusal:
    """The requirements of a pod's claims, or the reason why no node fits until a claim or volume changes."""
    names = claims_of(pod.obj)
    if not names:
        return NOTHING
    claims = []
    for name, own in names:
        claim = volumes.claim(pod.key[0], name)
        if claim is None:
            text = (
                f"waiting for ephemeral volume controller to create the persistentvolumeclaim {quoted(name)}"
            )
            missing = f"persistentvolumeclaim {quoted(name)} not found"
            return Refusal(text if own else missing, VOLUMES)
        if "deletionTimestamp" in claim["metadata"]:
            return Refusal(f"persistentvolumeclaim {quoted(name)} is being deleted", VOLUMES)
        status = claim.get("status") or {}
        if status.get("phase") == "Lost":
            volume = claim["spec"].get("volumeName") or ""
            lost = f"bound to non-existent persistentvolume {quoted(volume)}"
            return Refusal(f"persistentvolumeclaim {quoted(name)} {lost}", VOLUMES)
        claims.append(claim)
    return _asked(claims, volumes)


def _asked(claims: list[Obj], volumes: Volumes) -> Needs | Refusal:
    ties: list[node_selection.Chooses] = []
    waiting, fixed = [], ""
    for claim in claims:
        if not is_bound(claim):
            if not _waits(claim, volumes):
                return Refusal("pod has unbound immediate PersistentVolumeClaims", VOLUMES)
            waiting.append(claim)
            fixed = fixed or (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, "")
            continue
        volume = volumes.volume("", claim["spec"]["volumeName"])
        if volume is None:
            text = f"error getting PV {quoted(claim['spec']['volumeName'])}: not found"
            return Refusal(text, VOLUMES)
        wanted = (volume["spec"].get("nodeAffinity") or {}).get("required")
        if wanted is not None:
            ties.append(node_selection.any_of(wanted.get("nodeSelectorTerms") or ()))
    return Needs(tuple(ties), tuple(waiting), fixed)


def is_bound(claim: Obj) -> bool:
    return bool(claim["spec"].get("volumeName")) and (claim.get("status") or {}).get("phase") == "Bound"


def _waits(claim: Obj, volumes: Volumes) -> bool:
    name = claim["spec"].get("storageClassName")
    found = volumes.storage_class("", name) if name else None
    return found is not None and found.get("volumeBindingMode") == WAITS
