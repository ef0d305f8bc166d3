"""Which namespaces lack the binding that gives their accounts rights, or have it against their will. Pure.

The rights are those of one ClusterRole, bound in each namespace to all its service accounts and to nobody
else: read pods, their logs and stories, events and ConfigMaps; run batch work. No Secrets, no other
namespaces. Role and bindings are only ever created: whoever changes one is left alone. A namespace annotated
`longshore.dev/workload-rights: none` has no binding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason

NAME: Final = "longshore:workload"
NONE: Final = "none"
_RBAC: Final = "rbac.authorization.k8s.io"
_LABELS: Final = {"app.kubernetes.io/managed-by": "longshore"}
_READ: Final = ["get", "list", "watch"]
_WORK: Final = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]

ROLE: Final[Obj] = {
    "metadata": {"name": NAME, "labels": _LABELS},
    "rules": [
        {"apiGroups": [""], "resources": ["configmaps", "events", "pods", "pods/log"], "verbs": _READ},
        {"apiGroups": ["batch"], "resources": ["cronjobs", "jobs"], "verbs": _WORK},
        {"apiGroups": ["batch"], "resources": ["cronjobs/status", "jobs/status"], "verbs": ["get"]},
        {"apiGroups": ["batch.volcano.sh"], "resources": ["cronjobs", "jobs"], "verbs": _WORK},
        {"apiGroups": ["longshore.dev"], "resources": ["explanations"], "verbs": ["get"]},
    ],
}


class View(msgspec.Struct, frozen=True):
    """All that `decide` may know."""

    namespaces: Sequence[Obj]
    bindings: Mapping[str, Obj]
    """The bindings of this name, by namespace."""


class Plan(msgspec.Struct, frozen=True):
    """The plan for one namespace: its binding is created or deleted."""

    namespace: Obj
    create: Obj | None = None
    delete: Obj | None = None
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Never set: every change comes as an event."""


_CREATED: Final = Reason("RightsGranted", f"binds the namespace's service accounts to the role {NAME}")
_DELETED: Final = Reason(
    "RightsRevoked", f"deletes the binding {NAME}: {own_names.WORKLOAD_RIGHTS} says {NONE}"
)


def decide(view: View) -> list[Plan]:
    """One plan for every namespace that lacks its binding, or has it against its will."""
    plans = []
    for namespace in view.namespaces:
        meta = namespace["metadata"]
        if "deletionTimestamp" in meta:
            continue
        found = view.bindings.get(meta["name"])
        unwanted = (meta.get("annotations") or {}).get(own_names.WORKLOAD_RIGHTS) == NONE
        if unwanted and found is not None and found["metadata"].get("labels") == _LABELS:
            plans.append(Plan(namespace, delete=found, why=(_DELETED,)))
        elif not unwanted and found is None:
            plans.append(Plan(namespace, create=_binding(meta["name"]), why=(_CREATED,)))
    return plans


def _binding(namespace: str) -> Obj:
    everybody = {"apiGroup": _RBAC, "kind": "Group", "name": f"system:serviceaccounts:{namespace}"}
    return {
        "metadata": {"name": NAME, "namespace": namespace, "labels": _LABELS},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": NAME},
        "subjects": [everybody],
    }
