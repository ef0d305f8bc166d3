"""Checks the right to create less isolated pods, in writes to pods and to objects with pod templates.

Weaker isolation than the default, hostPath, privileged and the like (`levels.isolation_violations`) need the
right to `use` the profile `privileged`, which service accounts of pods do not have by default. The writer of
a template needs this right; controllers then create pods from the allowed template. An update needs it, too,
unless the pod specs that violate isolation stay unchanged.

The label `pod-security.longshore.dev/enforce` of a namespace overrides this: `isolated` also binds the
administrator, `privileged` asks no writer for the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import embedded_pods, errors, field
from longshore.api.facts import isolation_levels, own_names
from longshore.api.pod_security import levels
from longshore.api.types import Obj
from longshore.apiserver.access.authz import MASTERS, Access
from longshore.apiserver.request.call import Call
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

GROUP: Final = "longshore.dev"
PROFILES: Final = "podprofiles"
VERB: Final = "use"
ROLE: Final = "longshore:privileged-pods"
_ACCOUNT: Final = "system:serviceaccount:"


def is_bound(call: Call) -> bool:
    """Whether each pod is checked for the caller's right, even if another caller's equal pod has passed."""
    return call.resource.storage in embedded_pods.PATHS and MASTERS not in call.user.groups


def check(api: Api, call: Call, new: Obj, old: Obj | None = None) -> None:
    """Raises a 403 for a pod or template that needs more rights than its writer has."""
    resource = call.resource
    if not embedded_pods.may_change(resource.storage, call.subresource):
        return
    entry = api.store.latest(Key("namespaces", "", call.namespace))
    own = levels.labels_of(entry.obj if entry is not None else None).get(own_names.POD_SECURITY)
    is_master = MASTERS in call.user.groups
    if own == levels.PRIVILEGED or (is_master and own != levels.ISOLATED):
        return
    usual = isolation_levels.usual(each.obj for each in api.store.latest_list("nodes"))
    before = [] if old is None else [
        (pod.get("spec"), levels.isolation_violations(pod, usual))
        for pod in embedded_pods.of(resource.storage, old)
    ]  # fmt: skip
    for pod in embedded_pods.of(resource.storage, new):
        found = levels.isolation_violations(pod, usual)
        if not found or (pod.get("spec"), found) in before:
            continue
        if own != levels.ISOLATED and _may(api, call):
            return
        why = (
            f'violates PodSecurity "{levels.ISOLATED}:latest": {levels.listed(found)}; {_way_out(call, own)}'
        )
        raise errors.forbidden(resource.group, resource.plural, _name(call, new), why)


def _may(api: Api, call: Call) -> bool:
    access = Access(VERB, GROUP, PROFILES, levels.PRIVILEGED, call.namespace)
    return api.authorizer.allows(call.user, access)


def _way_out(call: Call, own: str | None) -> str:
    if own == levels.ISOLATED:
        return f"the namespace is labelled {own_names.POD_SECURITY}={own}"
    user = call.user.name
    subject = f"--user={user}"
    if user.startswith(_ACCOUNT):
        subject = f"--serviceaccount={user.removeprefix(_ACCOUNT)}"
    return (
        f"user {field.quoted(user)} cannot {VERB} {PROFILES}.{GROUP} {field.quoted(levels.PRIVILEGED)}; an "
        f"administrator grants it with: kubectl create rolebinding privileged-pods -n {call.namespace} "
        f"--clusterrole={ROLE} {subject}"
    )


def _name(call: Call, obj: Obj) -> str:
    meta = obj.get("metadata") or {}
    return str(call.name or meta.get("name") or meta.get("generateName") or "")
