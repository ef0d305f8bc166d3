"""The roles and bindings that every Kubernetes has from its start, for the resources that longshore serves;
`reconcile` writes them at each start.

`admin`, `edit` and `view` are empty in this table: they aggregate the rules of the roles that have their
label, which may include roles of custom resources. `longshore:aggregate-to-*` are such roles, for Volcano's
kinds and longshore's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

from longshore.api import policy_rules
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, What
from longshore.controllers.aggregation import decide

GROUP: Final = "rbac.authorization.k8s.io"
AUTOUPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
"""The annotation that, if `false`, excludes a role or binding from reconciling."""
_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")
_ALL: Final = tuple(sorted(_READ + _WRITE))
_PUBLIC: Final = "/healthz /livez /readyz /version /version/"
_AUTHENTICATED, _ANYBODY = "system:authenticated", "system:unauthenticated"

_ON_PODS: Final = "pods/attach pods/exec pods/portforward pods/proxy"
_WRITTEN_APPS: Final = (
    "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale "
    "statefulsets statefulsets/scale"
)
_READ_APPS: Final = (
    "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status "
    "replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status"
)
_FORMER_WRITTEN: Final = (
    "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets "
    "replicasets/scale replicationcontrollers/scale"
)
_FORMER_READ: Final = (
    "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
    "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
    "replicationcontrollers/scale"
)


def _rule(verbs: tuple[str, ...], group: str, resources: str, *names: str) -> Obj:
    rule: Obj = {"apiGroups": [group], "resources": resources.split(), "verbs": list(verbs)}
    return {**rule, "resourceNames": list(names)} if names else rule


def _paths(verbs: tuple[str, ...], paths: str) -> Obj:
    return {"nonResourceURLs": paths.split(), "verbs": list(verbs)}


def _meta(name: str, labels: Obj, namespace: str = "") -> Obj:
    meta: Obj = {"name": name, "labels": labels, "annotations": {AUTOUPDATE: "true"}}
    return {**meta, "namespace": namespace} if namespace else meta


def _role(name: str, *rules: Obj, to: str = "", gathers: str = "") -> Obj:
    """A ClusterRole. `to` names the role that aggregates it; `gathers` says which label it aggregates."""
    labels = {**_LABELS, f"{GROUP}/aggregate-to-{to}": "true"} if to else _LABELS
    role: Obj = {"metadata": _meta(name, labels), "rules": list(rules)}
    if gathers:
        selector = {"matchLabels": {f"{GROUP}/aggregate-to-{gathers}": "true"}}
        role["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    return role


def _binding(name: str, *groups: str) -> Obj:
    """A ClusterRoleBinding that grants the role of its name to groups."""
    return {
        "metadata": _meta(name, _LABELS),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups],
    }


CLUSTER_ROLES: Final[tuple[Obj, ...]] = (
    _role("cluster-admin", _rule(("*",), "*", "*"), _paths(("*",), "*")),
    _role("admin", gathers="admin"),
    _role("edit", to="admin", gathers="edit"),
    _role("view", to="edit", gathers="view"),
    _role(
        "system:aggregate-to-admin",
        _rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
        _rule(_ALL, GROUP, "rolebindings roles"),
        to="admin",
    ),
    _role(
        "system:aggregate-to-edit",
        _rule(_READ, "", f"{_ON_PODS} secrets services/proxy"),
        _rule(("impersonate",), "", "serviceaccounts"),
        _rule(_WRITE, "", f"pods {_ON_PODS}"),
        _rule(("create",), "", "pods/eviction"),
        _rule(
            _WRITE,
            "",
            "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale "
            "secrets serviceaccounts services services/proxy",
        ),
        _rule(("create",), "", "serviceaccounts/token"),
        _rule(_WRITE, "apps", _WRITTEN_APPS),
        _rule(_WRITE, "autoscaling", "horizontalpodautoscalers"),
        _rule(_WRITE, "batch", "cronjobs jobs"),
        _rule(_WRITE, "extensions", _FORMER_WRITTEN),
        _rule(_WRITE, "policy", "poddisruptionbudgets"),
        _rule(_WRITE, "networking.k8s.io", "ingresses networkpolicies"),
        _rule(_ALL, "coordination.k8s.io", "leases"),
        to="edit",
    ),
    _role(
        "system:aggregate-to-view",
        _rule(
            _READ,
            "",
            "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
            "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
        ),
        _rule(
            _READ,
            "",
            "bindings events limitranges namespaces/status pods/log pods/status "
            "replicationcontrollers/status resourcequotas resourcequotas/status",
        ),
        _rule(_READ, "", "namespaces"),
        _rule(_READ, "discovery.k8s.io", "endpointslices"),
        _rule(_READ, "apps", _READ_APPS),
        _rule(_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
        _rule(_READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
        _rule(_READ, "extensions", _FORMER_READ),
        _rule(_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
        _rule(_READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
        to="view",
    ),
    _role(
        "longshore:aggregate-to-edit",
        _rule(_WRITE, "batch.volcano.sh", "cronjobs jobs"),
        _rule(("create", "delete"), "bus.volcano.sh", "commands"),
        _rule(_WRITE, "flow.volcano.sh", "jobflows jobtemplates"),
        _rule(_WRITE, "scheduling.volcano.sh", "podgroups"),
        to="edit",
    ),
    _role(
        "longshore:aggregate-to-view",
        _rule(_READ, "batch.volcano.sh", "cronjobs cronjobs/status jobs jobs/status"),
        _rule(_READ, "bus.volcano.sh", "commands"),
        _rule(_READ, "flow.volcano.sh", "jobflows jobflows/status jobtemplates jobtemplates/status"),
        _rule(_READ, "scheduling.volcano.sh", "podgroups queues queues/status"),
        _rule(_READ, "topology.volcano.sh", "hypernodes hypernodes/status"),
        _rule(_READ, "metrics.k8s.io", "pods"),
        _rule(_READ, "longshore.dev", "cronjobcalendars explanations finishedjobs"),
        to="view",
    ),
    _role("longshore:privileged-pods", _rule(("use",), "longshore.dev", "podprofiles", "privileged")),
    _role("longshore:own-rights", _rule(("create",), "longshore.dev", "jobretries uilogins")),
    _role(
        "system:auth-delegator",
        _rule(("create",), "authentication.k8s.io", "tokenreviews"),
        _rule(("create",), "authorization.k8s.io", "subjectaccessreviews"),
    ),
    _role(
        "system:basic-user",
        _rule(("create",), "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
        _rule(("create",), "authentication.k8s.io", "selfsubjectreviews"),
    ),
    _role("system:discovery", _paths(("get",), f"/api /api/* /apis /apis/* /openapi /openapi/* {_PUBLIC}")),
    _role(
        "system:monitoring",
        _paths(("get",), "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*"),
    ),
    _role(
        "system:persistent-volume-provisioner",
        _rule(("create", "delete", *_READ), "", "persistentvolumes"),
        _rule(("update", *_READ), "", "persistentvolumeclaims"),
        _rule(_READ, "storage.k8s.io", "storageclasses"),
        _rule(("watch",), "", "events"),
        _rule(("create", "patch", "update"), "", "events"),
    ),
    _role("system:public-info-viewer", _paths(("get",), _PUBLIC)),
)
CLUSTER_ROLE_BINDINGS: Final[tuple[Obj, ...]] = (
    _binding("cluster-admin", "system:masters"),
    _binding("longshore:own-rights", _AUTHENTICATED),
    _binding("system:basic-user", _AUTHENTICATED),
    _binding("system:discovery", _AUTHENTICATED),
    _binding("system:monitoring", "system:monitoring"),
    _binding("system:public-info-viewer", _AUTHENTICATED, _ANYBODY),
)
ROLES: Final[tuple[Obj, ...]] = (
    {
        "metadata": _meta("extension-apiserver-authentication-reader", _LABELS, "kube-system"),
        "rules": [_rule(_READ, "", "configmaps", "extension-apiserver-authentication")],
    },
)


_DEFAULTS: Final[tuple[tuple[What, str, Sequence[Obj]], ...]] = (
    (kinds.CLUSTER_ROLES, "", CLUSTER_ROLES),
    (kinds.CLUSTER_ROLE_BINDINGS, "", CLUSTER_ROLE_BINDINGS),
    (kinds.ROLES, "kube-system", ROLES),
)


async def reconcile(client: Client) -> None:
    """Creates missing roles and bindings, adds rights and subjects that a newer longshore knows, and removes
    none.

    A role or binding whose annotation `AUTOUPDATE` is `false` is left alone. All writes are made at once, so
    they share one transaction; if nothing differs, nothing is written.
    """
    writes: list[Coroutine[Any, Any, object]] = []
    for what, namespace, defaults in _DEFAULTS:
        there = {role["metadata"]["name"]: role for role in (await client.list(what, namespace)).items}
        wanted = _gathered(defaults, there) if what == kinds.CLUSTER_ROLES else defaults
        for row in wanted:
            found = there.get(row["metadata"]["name"])
            if found is None:
                writes.append(client.create(what, row, namespace))
            elif found.get("roleRef", None) != row.get("roleRef", None):
                writes.append(_replace(client, what, row, found))
            elif (new := reconciled(found, row)) is not None:
                writes.append(client.update(what, new, namespace))
    await asyncio.gather(*writes)


def reconciled(found: Obj, wanted: Obj) -> Obj | None:
    """The stored role or binding with all that the default has; None if nothing needs to change."""
    if _is_protected(found):
        return None
    meta = dict(found["metadata"])
    for part in ("labels", "annotations"):
        meta[part] = {**wanted["metadata"][part], **(meta.get(part) or {})}
    new = {**found, "metadata": meta}
    if rules := policy_rules.uncovered(found.get("rules") or (), wanted.get("rules") or ()):
        new["rules"] = [*(found.get("rules") or ()), *rules]
    if "aggregationRule" in wanted:
        new["aggregationRule"] = _with_selectors(
            found.get("aggregationRule") or {}, wanted["aggregationRule"]
        )
    if "subjects" in wanted:
        has = found.get("subjects") or []
        new["subjects"] = [*has, *(subject for subject in wanted["subjects"] if subject not in has)]
    return None if new == found else new


def _is_protected(found: Obj) -> bool:
    annotations = found["metadata"].get("annotations") or {}
    return bool(annotations.get(AUTOUPDATE) == "false")


def _with_selectors(has: Obj, wanted: Obj) -> Obj:
    selectors = has.get("clusterRoleSelectors") or []
    missing = (each for each in wanted["clusterRoleSelectors"] if each not in selectors)
    return {"clusterRoleSelectors": [*selectors, *missing]}


async def _replace(client: Client, what: What, wanted: Obj, found: Obj) -> None:
    """Replaces a binding of another role by the default one, since a roleRef cannot be changed."""
    if not _is_protected(found):
        await client.delete(what, found["metadata"]["name"])
        await client.create(what, wanted)


def _gathered(defaults: Sequence[Obj], there: Mapping[str, Obj]) -> Sequence[Obj]:
    """The default roles; those that do not exist yet already have their aggregated rules, so that they work
    from the moment they are created."""
    new = {row["metadata"]["name"]: row for row in defaults if row["metadata"]["name"] not in there}
    if not any("aggregationRule" in row for row in new.values()):
        return defaults
    while plans := [p for p in decide([*there.values(), *new.values()]) if p.role["metadata"]["name"] in new]:
        new.update((plan.role["metadata"]["name"], {**plan.role, "rules": plan.rules}) for plan in plans)
    return [new.get(row["metadata"]["name"], row) for row in defaults]
