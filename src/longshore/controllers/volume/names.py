"""Names of annotations, finalizers and classes: Kubernetes' own, except the class and its provisioner."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import own_names
from longshore.api.types import Obj

CLASS: Final = "longshore-local"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"

CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"

LOCAL_CLASS: Final[Obj] = {
    "metadata": {"name": CLASS, "annotations": {DEFAULT_CLASS: "true"}},
    "provisioner": own_names.LOCAL_PROVISIONER,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "Immediate",
}
"""Binds at once: there is one node, so there is no need to wait for a pod."""


def marks_of(obj: Obj) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def is_going(obj: Obj) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def volume_name(claim: Obj) -> str:
    """Returns the name of the volume for this claim, equal at every attempt, so that it is made once."""
    return f"pvc-{claim['metadata']['uid']}"
