"""Every resource the server has from the start, in the order discovery shows them.

Rows only: paths, names, verbs, and which strategy belongs to which kind. Resources that users add
with a CustomResourceDefinition are not here. Groups stand in Kubernetes' own order of priority, so
`batch` comes before `batch.volcano.sh` and `kubectl get jobs` means Kubernetes' Jobs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import Any, Final

from longshore.api.resources import ALL_VERBS, STATUS_VERBS, Resource, Subresource
from longshore.api.strategy import Strategy

_CREATE: Final = ("create",)
_CONNECT: Final = ("create", "get")
_PROXY: Final = ("create", "delete", "get", "patch", "update")
_NO_COLLECTION: Final = tuple(v for v in ALL_VERBS if v != "deletecollection")
_ALL: Final = ("all",)


def _of(module: str, name: str = "STRATEGY", *arguments: str, **options: bool) -> Callable[[], Strategy]:
    """Imports the strategy of a kind, or the function that makes it with these arguments, when it is used."""

    def found() -> Strategy:
        made: Any = getattr(import_module(f"longshore.api.kinds.{module}"), name)
        strategy: Strategy = made if isinstance(made, Strategy) else made(*arguments, **options)
        return strategy

    return found


def _status(kind: str) -> dict[str, Subresource]:
    return {"status": Subresource("status", STATUS_VERBS, kind)}


def _row(
    group: str,
    kind: str,
    plural: str,
    strategy: str | Callable[[], Strategy] = Strategy,
    *short_names: str,
    namespaced: bool = True,
    categories: tuple[str, ...] = (),
    verbs: tuple[str, ...] = ALL_VERBS,
    status: bool = False,
    subresources: tuple[Subresource, ...] = (),
    storage: str = "",
) -> Resource:
    """One of Kubernetes' own kinds; the core group is empty. A strategy may be named by its module."""
    subs = {each.name: each for each in subresources}
    return Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=namespaced,
        behaviour=_of(strategy) if isinstance(strategy, str) else strategy,
        message=f"{group.partition('.')[0] or 'core'}/v1.{kind}",
        short_names=short_names,
        categories=categories,
        verbs=verbs,
        subresources=subs | _status(kind) if status else subs,
        storage=storage,
    )


def _core() -> Iterable[Resource]:
    row = partial(_row, "")
    yield row("Binding", "bindings", verbs=_CREATE)
    yield row("ConfigMap", "configmaps", "configmap", "cm")
    yield row("Endpoints", "endpoints", "endpoints", "ep")
    yield row("Event", "events", _of("event", "CORE"), "ev")
    yield row("LimitRange", "limitranges", "limitrange", "limits")
    yield row(
        "Namespace",
        "namespaces",
        "namespace",
        "ns",
        namespaced=False,
        verbs=_NO_COLLECTION,
        subresources=(Subresource("finalize", ("update",), "Namespace"),),
        status=True,
    )
    yield row(
        "Node",
        "nodes",
        "node",
        "no",
        namespaced=False,
        subresources=(Subresource("proxy", _PROXY, "NodeProxyOptions"),),
        status=True,
    )
    yield row("PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim", "pvc", status=True)
    yield row(
        "PersistentVolume",
        "persistentvolumes",
        "persistentvolume",
        "pv",
        namespaced=False,
        status=True,
    )
    yield row(
        "Pod",
        "pods",
        "pod",
        "po",
        categories=_ALL,
        subresources=(
            Subresource("attach", _CONNECT, "PodAttachOptions"),
            Subresource("binding", _CREATE, "Binding"),
            Subresource("ephemeralcontainers", STATUS_VERBS, "Pod"),
            Subresource("eviction", _CREATE, "Eviction", "policy/v1"),
            Subresource("exec", _CONNECT, "PodExecOptions"),
            Subresource("log", ("get",), "Pod"),
            Subresource("portforward", _CONNECT, "PodPortForwardOptions"),
            Subresource("proxy", _PROXY, "PodProxyOptions"),
            Subresource("resize", STATUS_VERBS, "Pod"),
        ),
        status=True,
    )
    yield row("PodTemplate", "podtemplates", "podtemplate")
    yield row(
        "ReplicationController",
        "replicationcontrollers",
        "replicationcontroller",
        "rc",
        categories=_ALL,
        status=True,
    )
    yield row("ResourceQuota", "resourcequotas", "resourcequota", "quota", status=True)
    yield row("Secret", "secrets", "secret")
    yield row(
        "ServiceAccount",
        "serviceaccounts",
        "serviceaccount",
        "sa",
        subresources=(Subresource("token", _CREATE, "TokenRequest", "authentication.k8s.io/v1"),),
    )
    yield row("Service", "services", "service", "svc", categories=_ALL, status=True)


def _groups() -> Iterable[Resource]:
    """The rows of Kubernetes' own named groups."""

    def review(group: str, kind: str, namespaced: bool = False) -> Resource:
        return _row(group, kind, kind.lower() + "s", namespaced=namespaced, verbs=_CREATE)

    yield _row("events.k8s.io", "Event", "events", _of("event", "NEW"), "ev", storage="events")
    yield review("authentication.k8s.io", "SelfSubjectReview")
    yield review("authentication.k8s.io", "TokenReview")
    yield review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True)
    yield review("authorization.k8s.io", "SelfSubjectAccessReview")
    yield review("authorization.k8s.io", "SelfSubjectRulesReview")
    yield review("authorization.k8s.io", "SubjectAccessReview")
    yield _row("batch", "CronJob", "cronjobs", "cronjob", "cj", categories=_ALL, status=True)
    yield _row("batch", "Job", "jobs", "job", categories=_ALL, status=True)
    yield _row("networking.k8s.io", "NetworkPolicy", "networkpolicies", "networkpolicy", "netpol")
    yield _row(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        "pdb",
        status=True,
    )
    for namespaced, prefix in ((False, "Cluster"), (True, "")):
        for kind, strategy in (("RoleBinding", "role_binding"), ("Role", "role")):
            plural = f"{prefix}{kind}s".lower()
            found = _of("rbac", strategy, namespaced=namespaced)
            yield _row("rbac.authorization.k8s.io", prefix + kind, plural, found, namespaced=namespaced)
    yield _row("storage.k8s.io", "StorageClass", "storageclasses", "storageclass", "sc", namespaced=False)
    yield _row(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "customresourcedefinition",
        "crd",
        "crds",
        categories=("api-extensions",),
        namespaced=False,
        status=True,
    )
    yield _row(
        "scheduling.k8s.io",
        "PriorityClass",
        "priorityclasses",
        "priorityclass",
        "pc",
        namespaced=False,
    )
    yield _row("coordination.k8s.io", "Lease", "leases", "lease")
    yield _row("node.k8s.io", "RuntimeClass", "runtimeclasses", "runtimeclass", namespaced=False)


def _volcano() -> Iterable[Resource]:
    """The rows of Volcano's kinds: custom resources whose definitions are built in."""

    def row(
        group: str,
        version: str,
        kind: str,
        plural: str,
        *short_names: str,
        namespaced: bool = True,
        status: bool = True,
    ) -> Resource:
        return Resource(
            group=f"{group}.volcano.sh",
            version=version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=namespaced,
            behaviour=_of("volcano", "strategy", f"{group}.volcano.sh/{version}", kind, status=status),
            short_names=short_names,
            subresources=_status(kind) if status else {},
            style="custom",
        )

    yield row("batch", "v1alpha1", "CronJob", "cronjobs", "cronvcjob", "cronvj")
    yield row("batch", "v1alpha1", "Job", "jobs", "vcjob", "vj")
    yield row("bus", "v1alpha1", "Command", "commands", status=False)
    yield row("flow", "v1alpha1", "JobFlow", "jobflows", "jf")
    yield row("flow", "v1alpha1", "JobTemplate", "jobtemplates", "jt")
    yield row("scheduling", "v1beta1", "PodGroup", "podgroups", "pg", "podgroup-v1beta1", status=False)
    yield row("scheduling", "v1beta1", "Queue", "queues", "q", "queue-v1beta1", namespaced=False)
    yield row("topology", "v1alpha1", "HyperNode", "hypernodes", "hn", namespaced=False)


RESOURCES: Final[tuple[Resource, ...]] = (*_core(), *_groups(), *_volcano())

_BY_PATH: Final = {(r.group, r.version, r.plural): r for r in RESOURCES}
_BY_KIND: Final = {(r.group_version, r.kind): r for r in RESOURCES}


def find(group: str, version: str, plural: str) -> Resource | None:
    """The row a path names; None when longshore has no such resource built in."""
    return _BY_PATH.get((group, version, plural))


def by_kind(api_version: str, kind: str) -> Resource | None:
    """The row of an object's own `apiVersion` and `kind`."""
    return _BY_KIND.get((api_version, kind))


def storage_version_hash(resource: Resource) -> str:
    """The `storageVersionHash` of discovery: resources that share their objects share it."""
    text = f"{resource.storage_group}/{resource.version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
