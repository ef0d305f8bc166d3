"""Every resource the server has from the start, in the order discovery shows them.

Rows only: paths, names, verbs, and which strategy belongs to which kind. Resources that users add
with a CustomResourceDefinition are not here. Groups stand in Kubernetes' own order of priority, so
`batch` comes before `batch.volcano.sh` and `kubectl get jobs` means Kubernetes' Jobs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Final

from longshore.api.kinds import (
    configmap,
    cronjob,
    customresourcedefinition,
    endpoints,
    event,
    job,
    lease,
    limitrange,
    namespace,
    networkpolicy,
    node,
    persistentvolume,
    persistentvolumeclaim,
    pod,
    poddisruptionbudget,
    podtemplate,
    priorityclass,
    rbac,
    replicationcontroller,
    resourcequota,
    runtimeclass,
    secret,
    service,
    serviceaccount,
    storageclass,
    volcano,
)
from longshore.api.resources import ALL_VERBS, STATUS_VERBS, Resource, Subresource
from longshore.api.strategy import Strategy

_CREATE: Final = ("create",)
_CONNECT: Final = ("create", "get")
_PROXY: Final = ("create", "delete", "get", "patch", "update")
_NO_COLLECTION: Final = tuple(v for v in ALL_VERBS if v != "deletecollection")
_PLAIN: Final = Strategy()
_ALL: Final = ("all",)


def _status(kind: str) -> dict[str, Subresource]:
    return {"status": Subresource("status", STATUS_VERBS, kind)}


def _row(
    group: str,
    kind: str,
    plural: str,
    strategy: Strategy = _PLAIN,
    *short_names: str,
    namespaced: bool = True,
    categories: tuple[str, ...] = (),
    verbs: tuple[str, ...] = ALL_VERBS,
    status: bool = False,
    subresources: tuple[Subresource, ...] = (),
    storage: str = "",
) -> Resource:
    """One of Kubernetes' own kinds; the core group is empty."""
    subs = {each.name: each for each in subresources}
    return Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=namespaced,
        strategy=strategy,
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
    yield row("ConfigMap", "configmaps", configmap.STRATEGY, "cm")
    yield row("Endpoints", "endpoints", endpoints.STRATEGY, "ep")
    yield row("Event", "events", event.CORE, "ev")
    yield row("LimitRange", "limitranges", limitrange.STRATEGY, "limits")
    yield row(
        "Namespace",
        "namespaces",
        namespace.STRATEGY,
        "ns",
        namespaced=False,
        verbs=_NO_COLLECTION,
        subresources=(Subresource("finalize", ("update",), "Namespace"),),
        status=True,
    )
    yield row(
        "Node",
        "nodes",
        node.STRATEGY,
        "no",
        namespaced=False,
        subresources=(Subresource("proxy", _PROXY, "NodeProxyOptions"),),
        status=True,
    )
    yield row(
        "PersistentVolumeClaim", "persistentvolumeclaims", persistentvolumeclaim.STRATEGY, "pvc", status=True
    )
    yield row(
        "PersistentVolume",
        "persistentvolumes",
        persistentvolume.STRATEGY,
        "pv",
        namespaced=False,
        status=True,
    )
    yield row(
        "Pod",
        "pods",
        pod.STRATEGY,
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
    yield row("PodTemplate", "podtemplates", podtemplate.STRATEGY)
    yield row(
        "ReplicationController",
        "replicationcontrollers",
        replicationcontroller.STRATEGY,
        "rc",
        categories=_ALL,
        status=True,
    )
    yield row("ResourceQuota", "resourcequotas", resourcequota.STRATEGY, "quota", status=True)
    yield row("Secret", "secrets", secret.STRATEGY)
    yield row(
        "ServiceAccount",
        "serviceaccounts",
        serviceaccount.STRATEGY,
        "sa",
        subresources=(Subresource("token", _CREATE, "TokenRequest", "authentication.k8s.io/v1"),),
    )
    yield row("Service", "services", service.STRATEGY, "svc", categories=_ALL, status=True)


def _groups() -> Iterable[Resource]:
    """The rows of Kubernetes' own named groups."""

    def review(group: str, kind: str, namespaced: bool = False) -> Resource:
        return _row(group, kind, kind.lower() + "s", namespaced=namespaced, verbs=_CREATE)

    yield _row("events.k8s.io", "Event", "events", event.NEW, "ev", storage="events")
    yield review("authentication.k8s.io", "SelfSubjectReview")
    yield review("authentication.k8s.io", "TokenReview")
    yield review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True)
    yield review("authorization.k8s.io", "SelfSubjectAccessReview")
    yield review("authorization.k8s.io", "SelfSubjectRulesReview")
    yield review("authorization.k8s.io", "SubjectAccessReview")
    yield _row("batch", "CronJob", "cronjobs", cronjob.STRATEGY, "cj", categories=_ALL, status=True)
    yield _row("batch", "Job", "jobs", job.STRATEGY, categories=_ALL, status=True)
    yield _row("networking.k8s.io", "NetworkPolicy", "networkpolicies", networkpolicy.STRATEGY, "netpol")
    yield _row(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        poddisruptionbudget.STRATEGY,
        "pdb",
        status=True,
    )
    for namespaced, prefix in ((False, "Cluster"), (True, "")):
        for kind, strategy in (("RoleBinding", rbac.role_binding), ("Role", rbac.role)):
            plural = f"{prefix}{kind}s".lower()
            yield _row(
                rbac.GROUP, prefix + kind, plural, strategy(namespaced=namespaced), namespaced=namespaced
            )
    yield _row(
        "storage.k8s.io", "StorageClass", "storageclasses", storageclass.STRATEGY, "sc", namespaced=False
    )
    yield _row(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        customresourcedefinition.STRATEGY,
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
        priorityclass.STRATEGY,
        "pc",
        namespaced=False,
    )
    yield _row("coordination.k8s.io", "Lease", "leases", lease.STRATEGY)
    yield _row("node.k8s.io", "RuntimeClass", "runtimeclasses", runtimeclass.STRATEGY, namespaced=False)


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
            strategy=volcano.strategy(f"{group}.volcano.sh/{version}", kind, status=status),
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
