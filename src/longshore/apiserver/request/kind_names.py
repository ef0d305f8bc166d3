"""Which kinds Kubernetes would recognise in a body, and what it says when one is not the kind asked for.

Kubernetes decodes a body as the kind it claims to be and then converts it to the one the path is for.
Versions that are no longer served are still known: they get another error than kinds that never existed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api import field, schema

SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"
EXTENSIONS_SCHEME: Final = "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:53"
_EXTENSIONS: Final = "apiextensions.k8s.io"

_OLD: Final = {
    "batch/v1beta1 CronJob": "batch/v1.CronJob",
    "batch/v1beta1 CronJobList": "batch/v1.CronJobList",
    "coordination.k8s.io/v1beta1 Lease": "coordination/v1.Lease",
    "events.k8s.io/v1beta1 Event": "events/v1.Event",
    "node.k8s.io/v1alpha1 RuntimeClass": "node/v1.RuntimeClass",
    "node.k8s.io/v1beta1 RuntimeClass": "node/v1.RuntimeClass",
    "policy/v1beta1 Eviction": "policy/v1.Eviction",
    "policy/v1beta1 PodDisruptionBudget": "policy/v1.PodDisruptionBudget",
    "scheduling.k8s.io/v1alpha1 PriorityClass": "scheduling/v1.PriorityClass",
    "scheduling.k8s.io/v1beta1 PriorityClass": "scheduling/v1.PriorityClass",
    "authentication.k8s.io/v1beta1 TokenReview": "authentication/v1.TokenReview",
    "authentication.k8s.io/v1beta1 SelfSubjectReview": "authentication/v1.SelfSubjectReview",
    "authorization.k8s.io/v1beta1 SelfSubjectAccessReview": "authorization/v1.SelfSubjectAccessReview",
    "authorization.k8s.io/v1beta1 SelfSubjectRulesReview": "authorization/v1.SelfSubjectRulesReview",
    "authorization.k8s.io/v1beta1 SubjectAccessReview": "authorization/v1.SubjectAccessReview",
    "apps/v1beta1 Deployment": "apps/v1.Deployment",
    "apps/v1beta1 StatefulSet": "apps/v1.StatefulSet",
    "apps/v1beta2 DaemonSet": "apps/v1.DaemonSet",
    "apps/v1beta2 Deployment": "apps/v1.Deployment",
    "apps/v1beta2 ReplicaSet": "apps/v1.ReplicaSet",
    "apps/v1beta2 StatefulSet": "apps/v1.StatefulSet",
    "storage.k8s.io/v1beta1 StorageClass": "storage/v1.StorageClass",
    "rbac.authorization.k8s.io/v1beta1 ClusterRole": "rbac/v1.ClusterRole",
    "rbac.authorization.k8s.io/v1beta1 ClusterRoleBinding": "rbac/v1.ClusterRoleBinding",
    "rbac.authorization.k8s.io/v1beta1 Role": "rbac/v1.Role",
    "rbac.authorization.k8s.io/v1beta1 RoleBinding": "rbac/v1.RoleBinding",
}
"""Versions that Kubernetes no longer serves, each with the message as which it is read."""
_UNVERSIONED: Final = frozenset(("Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList"))
_ALSO_ACCEPTED: Final = {("policy/v1", "Eviction"): frozenset(("policy/v1beta1",))}


class Kind(msgspec.Struct, frozen=True):
    """A kind as a body or a path names it."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def message(self) -> str | None:
        """The message to read the kind as; None if no version of Kubernetes knows the kind."""
        if self.kind in _UNVERSIONED:
            return f"meta/v1.{self.kind}"
        key = f"{self.group_version} {self.kind}"
        return schema.kinds().get(key) or _OLD.get(key)

    def with_defaults(self, default: Kind) -> Kind:
        """The kind, with a group, version or name that a body left out taken from the path's."""
        group, version = self.group, self.version
        if not version and (not group or group == default.group):
            group, version = default.group, default.version
        return Kind(group, version, self.kind or default.kind)

    def accepts(self, other: Kind) -> bool:
        """Whether a path of this kind takes data of the given version."""
        if self.group_version == other.group_version:
            return True
        return other.group_version in _ALSO_ACCEPTED.get((self.group_version, self.kind), ())


def parse(api_version: str, kind: str) -> Kind | None:
    """The kind that a body names; None when apiVersion has too many slashes."""
    if api_version.count("/") > 1:
        return None
    group, _, version = api_version.rpartition("/")
    return Kind(group, version, kind)


def not_registered(kind: Kind, scheme: str) -> str:
    name, version = field.quoted(kind.kind), field.quoted(kind.group_version)
    return f"no kind {name} is registered for version {version} in scheme {field.quoted(scheme)}"


def message_of(found: Kind, expected: Kind) -> str | None:
    """The message of `found`; None if the part of Kubernetes that serves `expected` does not know it."""
    if found.kind not in _UNVERSIONED and (found.group == _EXTENSIONS) != (expected.group == _EXTENSIONS):
        return None
    return found.message()


def scheme_of(kind: Kind) -> str:
    """The name of the scheme that knows this kind, as error messages print it."""
    return EXTENSIONS_SCHEME if kind.group == _EXTENSIONS else SCHEME


def wrong_kind(found: Kind, message: str, expected: Kind) -> str:
    """Why a body of a known kind is not what its path takes; empty if it is."""
    target = _internal(expected.message() or "")
    if _internal(message) == target:
        return ""
    version = "v1" if found.kind in _UNVERSIONED else found.version
    return f"converting ({version}.{found.kind}) to ({target}): unknown conversion"


def _internal(message: str) -> str:
    """The unversioned type behind a message: both groups' Events are one."""
    group, _, name = message.partition("/")
    kind = name.rpartition(".")[2]
    return f"core.{kind}" if kind in ("Event", "EventList") else f"{group}.{kind}"
