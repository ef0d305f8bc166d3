"""Every resource the server has from the start, in the order discovery shows them.

Rows only: paths, names, verbs, and which strategy belongs to which kind. Resources that users add
with a CustomResourceDefinition are not here. Groups stand in Kubernetes' own order of priority, so
`batch` comes before `batch.volcano.sh` and `kubectl get jobs` means Kubernetes' Jobs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
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


def _subs(*subs: Subresource) -> Mapping[str, Subresource]:
    return {s.name: s for s in subs}


def _status(kind: str) -> Mapping[str, Subresource]:
    return _subs(Subresource("status", STATUS_VERBS, kind))


_PLAIN: Final = Strategy()


def _core() -> Iterable[Resource]:
    def row(
        kind: str,
        plural: str,
        *short_names: str,
        strategy: Strategy = _PLAIN,
        namespaced: bool = True,
        categories: tuple[str, ...] = (),
        verbs: tuple[str, ...] = ALL_VERBS,
        subresources: Mapping[str, Subresource] | None = None,
    ) -> Resource:
        return Resource(
            group="",
            version="v1",
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=namespaced,
            strategy=strategy,
            message=f"core/v1.{kind}",
            short_names=short_names,
            categories=categories,
            verbs=verbs,
            subresources=subresources or {},
        )

    yield row("Binding", "bindings", verbs=_CREATE)
    yield row("ConfigMap", "configmaps", "cm", strategy=configmap.STRATEGY)
    yield row("Endpoints", "endpoints", "ep", strategy=endpoints.STRATEGY)
    yield row("Event", "events", "ev", strategy=event.CORE)
    yield row("LimitRange", "limitranges", "limits", strategy=limitrange.STRATEGY)
    yield row(
        "Namespace",
        "namespaces",
        "ns",
        strategy=namespace.STRATEGY,
        namespaced=False,
        verbs=_NO_COLLECTION,
        subresources=_subs(
            Subresource("finalize", ("update",), "Namespace"),
            Subresource("status", STATUS_VERBS, "Namespace"),
        ),
    )
    yield row(
        "Node",
        "nodes",
        "no",
        strategy=node.STRATEGY,
        namespaced=False,
        subresources=_subs(
            Subresource("proxy", _PROXY, "NodeProxyOptions"),
            Subresource("status", STATUS_VERBS, "Node"),
        ),
    )
    yield row(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        "pvc",
        strategy=persistentvolumeclaim.STRATEGY,
        subresources=_status("PersistentVolumeClaim"),
    )
    yield row(
        "PersistentVolume",
        "persistentvolumes",
        "pv",
        strategy=persistentvolume.STRATEGY,
        namespaced=False,
        subresources=_status("PersistentVolume"),
    )
    yield row(
        "Pod",
        "pods",
        "po",
        strategy=pod.STRATEGY,
        categories=("all",),
        subresources=_subs(
            Subresource("attach", _CONNECT, "PodAttachOptions"),
            Subresource("binding", _CREATE, "Binding"),
            Subresource("ephemeralcontainers", STATUS_VERBS, "Pod"),
            Subresource("eviction", _CREATE, "Eviction", "policy/v1"),
            Subresource("exec", _CONNECT, "PodExecOptions"),
            Subresource("log", ("get",), "Pod"),
            Subresource("portforward", _CONNECT, "PodPortForwardOptions"),
            Subresource("proxy", _PROXY, "PodProxyOptions"),
            Subresource("resize", STATUS_VERBS, "Pod"),
            Subresource("status", STATUS_VERBS, "Pod"),
        ),
    )
    yield row("PodTemplate", "podtemplates", strategy=podtemplate.STRATEGY)
    yield row(
        "ReplicationController",
        "replicationcontrollers",
        "rc",
        strategy=replicationcontroller.STRATEGY,
        categories=("all",),
        subresources=_status("ReplicationController"),
    )
    yield row(
        "ResourceQuota",
        "resourcequotas",
        "quota",
        strategy=resourcequota.STRATEGY,
        subresources=_status("ResourceQuota"),
    )
    yield row("Secret", "secrets", strategy=secret.STRATEGY)
    yield row(
        "ServiceAccount",
        "serviceaccounts",
        "sa",
        strategy=serviceaccount.STRATEGY,
        subresources=_subs(Subresource("token", _CREATE, "TokenRequest", "authentication.k8s.io/v1")),
    )
    yield row(
        "Service",
        "services",
        "svc",
        strategy=service.STRATEGY,
        categories=("all",),
        subresources=_status("Service"),
    )


def _groups() -> Iterable[Resource]:
    """The rows of Kubernetes' own named groups."""

    def row(
        group: str,
        kind: str,
        plural: str,
        *short_names: str,
        strategy: Strategy = _PLAIN,
        singular: str = "",
        namespaced: bool = True,
        categories: tuple[str, ...] = (),
        verbs: tuple[str, ...] = ALL_VERBS,
        status: bool = False,
        storage: str = "",
    ) -> Resource:
        return Resource(
            group=group,
            version="v1",
            kind=kind,
            plural=plural,
            singular=singular or kind.lower(),
            namespaced=namespaced,
            strategy=strategy,
            message=f"{group.partition('.')[0]}/v1.{kind}",
            short_names=short_names,
            categories=categories,
            verbs=verbs,
            subresources=_status(kind) if status else {},
            storage=storage,
        )

    def review(group: str, kind: str, namespaced: bool = False) -> Resource:
        return row(group, kind, kind.lower() + "s", namespaced=namespaced, verbs=_CREATE)

    yield row("events.k8s.io", "Event", "events", "ev", strategy=event.NEW, storage="events")
    yield review("authentication.k8s.io", "SelfSubjectReview")
    yield review("authentication.k8s.io", "TokenReview")
    yield review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True)
    yield review("authorization.k8s.io", "SelfSubjectAccessReview")
    yield review("authorization.k8s.io", "SelfSubjectRulesReview")
    yield review("authorization.k8s.io", "SubjectAccessReview")
    yield row(
        "batch", "CronJob", "cronjobs", "cj", strategy=cronjob.STRATEGY, categories=("all",), status=True
    )
    yield row("batch", "Job", "jobs", strategy=job.STRATEGY, categories=("all",), status=True)
    yield row(
        "networking.k8s.io", "NetworkPolicy", "networkpolicies", "netpol", strategy=networkpolicy.STRATEGY
    )
    yield row(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "pdb",
        strategy=poddisruptionbudget.STRATEGY,
        status=True,
    )
    for namespaced, prefix in ((False, "Cluster"), (True, "")):
        binding, role = f"{prefix}RoleBinding", f"{prefix}Role"
        yield row(
            rbac.GROUP,
            binding,
            binding.lower() + "s",
            strategy=rbac.role_binding(namespaced=namespaced),
            namespaced=namespaced,
        )
        yield row(
            rbac.GROUP,
            role,
            role.lower() + "s",
            strategy=rbac.role(namespaced=namespaced),
            namespaced=namespaced,
        )
    yield row(
        "storage.k8s.io",
        "StorageClass",
        "storageclasses",
        "sc",
        strategy=storageclass.STRATEGY,
        namespaced=False,
    )
    yield row(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd",
        "crds",
        strategy=customresourcedefinition.STRATEGY,
        categories=("api-extensions",),
        namespaced=False,
        status=True,
    )
    yield row(
        "scheduling.k8s.io",
        "PriorityClass",
        "priorityclasses",
        "pc",
        strategy=priorityclass.STRATEGY,
        namespaced=False,
    )
    yield row("coordination.k8s.io", "Lease", "leases", strategy=lease.STRATEGY)
    yield row(
        "node.k8s.io", "RuntimeClass", "runtimeclasses", strategy=runtimeclass.STRATEGY, namespaced=False
    )


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
