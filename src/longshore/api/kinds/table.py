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

from longshore.api.kinds import volcano
from longshore.api.kinds.configmap import ConfigMapStrategy
from longshore.api.kinds.cronjob import CronJobStrategy
from longshore.api.kinds.customresourcedefinition import CustomResourceDefinitionStrategy
from longshore.api.kinds.endpoints import EndpointsStrategy
from longshore.api.kinds.event import EventStrategy, NewEventStrategy
from longshore.api.kinds.job import JobStrategy
from longshore.api.kinds.lease import LeaseStrategy
from longshore.api.kinds.limitrange import LimitRangeStrategy
from longshore.api.kinds.namespace import NamespaceStrategy
from longshore.api.kinds.networkpolicy import NetworkPolicyStrategy
from longshore.api.kinds.node import NodeStrategy
from longshore.api.kinds.persistentvolume import PersistentVolumeStrategy
from longshore.api.kinds.persistentvolumeclaim import PersistentVolumeClaimStrategy
from longshore.api.kinds.pod import PodStrategy
from longshore.api.kinds.poddisruptionbudget import PodDisruptionBudgetStrategy
from longshore.api.kinds.podtemplate import PodTemplateStrategy
from longshore.api.kinds.priorityclass import PriorityClassStrategy
from longshore.api.kinds.rbac import RoleBindingStrategy, RoleStrategy
from longshore.api.kinds.replicationcontroller import ReplicationControllerStrategy
from longshore.api.kinds.resourcequota import ResourceQuotaStrategy
from longshore.api.kinds.runtimeclass import RuntimeClassStrategy
from longshore.api.kinds.secret import SecretStrategy
from longshore.api.kinds.service import ServiceStrategy
from longshore.api.kinds.serviceaccount import ServiceAccountStrategy
from longshore.api.kinds.storageclass import StorageClassStrategy
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
    yield row("ConfigMap", "configmaps", "cm", strategy=ConfigMapStrategy())
    yield row("Endpoints", "endpoints", "ep", strategy=EndpointsStrategy())
    yield row("Event", "events", "ev", strategy=EventStrategy())
    yield row("LimitRange", "limitranges", "limits", strategy=LimitRangeStrategy())
    yield row(
        "Namespace",
        "namespaces",
        "ns",
        strategy=NamespaceStrategy(),
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
        strategy=NodeStrategy(),
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
        strategy=PersistentVolumeClaimStrategy(),
        subresources=_status("PersistentVolumeClaim"),
    )
    yield row(
        "PersistentVolume",
        "persistentvolumes",
        "pv",
        strategy=PersistentVolumeStrategy(),
        namespaced=False,
        subresources=_status("PersistentVolume"),
    )
    yield row(
        "Pod",
        "pods",
        "po",
        strategy=PodStrategy(),
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
    yield row("PodTemplate", "podtemplates", strategy=PodTemplateStrategy())
    yield row(
        "ReplicationController",
        "replicationcontrollers",
        "rc",
        strategy=ReplicationControllerStrategy(),
        categories=("all",),
        subresources=_status("ReplicationController"),
    )
    yield row(
        "ResourceQuota",
        "resourcequotas",
        "quota",
        strategy=ResourceQuotaStrategy(),
        subresources=_status("ResourceQuota"),
    )
    yield row("Secret", "secrets", strategy=SecretStrategy())
    yield row(
        "ServiceAccount",
        "serviceaccounts",
        "sa",
        strategy=ServiceAccountStrategy(),
        subresources=_subs(Subresource("token", _CREATE, "TokenRequest", "authentication.k8s.io/v1")),
    )
    yield row(
        "Service",
        "services",
        "svc",
        strategy=ServiceStrategy(),
        categories=("all",),
        subresources=_status("Service"),
    )


def _groups() -> Iterable[Resource]:
    """The named groups of Kubernetes itself."""

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

    yield row("events.k8s.io", "Event", "events", "ev", strategy=NewEventStrategy(), storage="events")
    yield review("authentication.k8s.io", "SelfSubjectReview")
    yield review("authentication.k8s.io", "TokenReview")
    yield review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True)
    yield review("authorization.k8s.io", "SelfSubjectAccessReview")
    yield review("authorization.k8s.io", "SelfSubjectRulesReview")
    yield review("authorization.k8s.io", "SubjectAccessReview")
    yield row(
        "batch", "CronJob", "cronjobs", "cj", strategy=CronJobStrategy(), categories=("all",), status=True
    )
    yield row("batch", "Job", "jobs", strategy=JobStrategy(), categories=("all",), status=True)
    yield row(
        "networking.k8s.io", "NetworkPolicy", "networkpolicies", "netpol", strategy=NetworkPolicyStrategy()
    )
    yield row(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "pdb",
        strategy=PodDisruptionBudgetStrategy(),
        status=True,
    )
    rbac = "rbac.authorization.k8s.io"
    for namespaced, prefix in ((False, "Cluster"), (True, "")):
        binding, role = f"{prefix}RoleBinding", f"{prefix}Role"
        yield row(
            rbac,
            binding,
            binding.lower() + "s",
            strategy=RoleBindingStrategy(namespaced=namespaced),
            namespaced=namespaced,
        )
        yield row(
            rbac,
            role,
            role.lower() + "s",
            strategy=RoleStrategy(namespaced=namespaced),
            namespaced=namespaced,
        )
    yield row(
        "storage.k8s.io",
        "StorageClass",
        "storageclasses",
        "sc",
        strategy=StorageClassStrategy(),
        namespaced=False,
    )
    yield row(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd",
        "crds",
        strategy=CustomResourceDefinitionStrategy(),
        categories=("api-extensions",),
        namespaced=False,
        status=True,
    )
    yield row(
        "scheduling.k8s.io",
        "PriorityClass",
        "priorityclasses",
        "pc",
        strategy=PriorityClassStrategy(),
        namespaced=False,
    )
    yield row("coordination.k8s.io", "Lease", "leases", strategy=LeaseStrategy())
    yield row(
        "node.k8s.io", "RuntimeClass", "runtimeclasses", strategy=RuntimeClassStrategy(), namespaced=False
    )


def _volcano() -> Iterable[Resource]:
    """Volcano's kinds are custom resources whose definitions are built in."""

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
