"""Grants the service accounts of every namespace the rights that batch work needs, by RBAC objects.

One ClusterRole is bound in each namespace to all its service accounts, and to no other subject: read pods,
their logs and explanations, events and ConfigMaps; run batch work. No Secrets, no other namespaces. Role and
bindings are never updated, so that changes to them stay. A namespace with the annotation
`longshore.dev/workload-rights: none` has no binding. `decide` is pure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers import every_namespace
from longshore.machinery.controller_context import ControllerContext
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


class RightsView(msgspec.Struct, frozen=True):
    """The input of `decide`."""

    namespaces: Sequence[Obj]
    bindings: Mapping[str, Obj]
    """The bindings named `longshore:workload`, by namespace."""


class RightsPlan(msgspec.Struct, frozen=True):
    """The plan for one namespace: creates or deletes its binding."""

    namespace: Obj
    create: Obj | None = None
    delete: Obj | None = None
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Always None: every change arrives as a watch event."""


_CREATED: Final = Reason("RightsGranted", {"role": NAME})
_DELETED: Final = Reason("RightsRevoked", {"role": NAME})


def decide(view: RightsView) -> list[RightsPlan]:
    """Returns a plan for every namespace that lacks its binding, or has it but opted out."""
    plans = []
    for namespace in view.namespaces:
        meta = namespace["metadata"]
        if "deletionTimestamp" in meta:
            continue
        found = view.bindings.get(meta["name"])
        unwanted = (meta.get("annotations") or {}).get(own_names.WORKLOAD_RIGHTS) == NONE
        if unwanted and found is not None and found["metadata"].get("labels") == _LABELS:
            plans.append(RightsPlan(namespace, delete=found, why=(_DELETED,)))
        elif not unwanted and found is None:
            plans.append(RightsPlan(namespace, create=_binding(meta["name"]), why=(_CREATED,)))
    return plans


def _binding(namespace: str) -> Obj:
    everybody = {"apiGroup": _RBAC, "kind": "Group", "name": f"system:serviceaccounts:{namespace}"}
    return {
        "metadata": {"name": NAME, "namespace": namespace, "labels": _LABELS},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": NAME},
        "subjects": [everybody],
    }


async def run(context: ControllerContext) -> None:
    """Creates and deletes bindings until cancelled."""
    client, informers = context.client, context.informers
    namespaces = informers.get(kinds.NAMESPACES)
    bindings = informers.get(kinds.ROLE_BINDINGS, fields=f"metadata.name={NAME}")
    await _make_role(client)

    def decided() -> Sequence[RightsPlan]:
        there = {binding["metadata"]["namespace"]: binding for binding in bindings.cache}
        return decide(RightsView([*namespaces.cache], there))

    def writes(plan: RightsPlan) -> Iterator[Awaitable[object]]:
        if plan.create is not None:
            yield client.create(kinds.ROLE_BINDINGS, plan.create)
        if plan.delete is not None:
            meta = plan.delete["metadata"]
            yield client.delete(kinds.ROLE_BINDINGS, NAME, meta["namespace"], DeleteOptions(uid=meta["uid"]))

    await every_namespace.run(context, (namespaces, bindings), decided, writes)


async def _make_role(client: Client) -> None:
    try:
        await client.get(kinds.CLUSTER_ROLES, NAME)
    except StatusError as err:
        if err.code != 404:
            raise
        await client.create(kinds.CLUSTER_ROLES, ROLE)
