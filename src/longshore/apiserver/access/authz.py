"""Authorization: system:masters may do everything, other users what RBAC objects in the store grant.

Roles and bindings are read from the store at each check of an ordinary user; requests of the administrator
skip them. Service accounts and anonymous callers are users like any other: a binding
(`plane/default_roles.py`) opens the health endpoints to callers without credentials.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api import errors, field, policy_rules
from longshore.api.selectors import fields
from longshore.api.types import Obj
from longshore.apiserver.request.call import Call, User
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.store import Store

MASTERS: Final = "system:masters"
RBAC: Final = "rbac.authorization.k8s.io"
_CLUSTER_ROLES, _ROLES = f"{RBAC}/clusterroles", f"{RBAC}/roles"


class Access(msgspec.Struct, frozen=True):
    """One access to decide on: an RBAC verb on a resource or a path."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""


class Granted(msgspec.Struct, frozen=True):
    """The rules that one binding gives to a user, because of one of its subjects."""

    binding: Obj
    subject: Obj
    role: Obj | None
    """None where the binding names a role that does not exist."""

    @property
    def rules(self) -> Sequence[Obj]:
        return self.role.get("rules") or () if self.role is not None else ()

    def described(self) -> str:
        """The binding, in Kubernetes' words for a reason."""
        meta, ref, subject = self.binding["metadata"], self.binding["roleRef"], self.subject
        kind, name, who = "ClusterRoleBinding", meta["name"], subject["name"]
        where = meta.get("namespace")
        if where:
            kind, name = "RoleBinding", f"{name}/{where}"
        if subject["kind"] == "ServiceAccount":
            who = f"{who}/{subject.get('namespace') or where}"
        return (
            f"{kind} {field.quoted(name)} of {ref['kind']} {field.quoted(ref['name'])} "
            f"to {subject['kind']} {field.quoted(who)}"
        )

    def fault(self) -> str:
        """The message about the missing role, in Kubernetes' words."""
        ref = self.binding["roleRef"]
        return f"{ref['kind'].lower()}.{RBAC} {field.quoted(ref['name'])} not found"


class Verdict(msgspec.Struct, frozen=True):
    """The decision about a `Access`."""

    allowed: bool
    by: Granted | None = None
    """The binding that allows the access; None for system:masters, and if the access is refused."""
    missing: Sequence[Granted] = ()
    """If the access is refused: the user's bindings whose roles do not exist."""

    @property
    def reason(self) -> str:
        """The reason in Kubernetes' words; empty if there is none."""
        if self.by is not None:
            return f"RBAC: allowed by {self.by.described()}"
        faults = [granted.fault() for granted in self.missing]
        return f"RBAC: {policy_rules.joined(faults)}" if faults else ""


class Authorizer:
    """Decides by group membership first and by RBAC objects second."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check(self, call: Call, verb: str = "") -> None:
        """Raises Kubernetes' 403 unless the caller may do `verb` (default: the verb of the call)."""
        if MASTERS in call.user.groups:
            return
        resource, verb = call.resource, verb or call.verb
        what = f"{resource.plural}/{call.subresource}" if call.subresource else resource.plural
        # A Namespace object counts as inside itself, so a role in that namespace can grant access to it.
        where = call.name if resource.storage == "namespaces" else call.namespace
        self.insist(call.user, Access(verb, resource.group, what, call.name or _selected(call), where))

    def insist(self, user: User, access: Access) -> None:
        """Raises a 403 if a access about a resource is not granted."""
        verdict = self.decide(user, access)
        if verdict.allowed:
            return
        namespace = access.namespace
        where = f"in the namespace {field.quoted(namespace)}" if namespace else "at the cluster scope"
        why = (
            f"User {field.quoted(user.name)} cannot {access.verb} resource {field.quoted(access.resource)} "
            f"in API group {field.quoted(access.group)} {where}"
        )
        plural = access.resource.partition("/")[0]
        raise errors.forbidden(access.group, plural, access.name, _with(why, verdict.reason))

    def check_path(self, user: User, verb: str, path: str) -> None:
        """Raises a 403 unless the user may access a path that is no resource: discovery, health, metrics."""
        verdict = self.decide(user, Access(verb, path=path))
        if not verdict.allowed:
            why = f"User {field.quoted(user.name)} cannot {verb} path {field.quoted(path)}"
            text = f"forbidden: {_with(why, verdict.reason)}"
            raise errors.StatusError(403, "Forbidden", text, details={})

    def allows(self, user: User, access: Access) -> bool:
        return self.decide(user, access).allowed

    def decide(self, user: User, access: Access) -> Verdict:
        """Decides whether a access of a user is granted, and why."""
        if MASTERS in user.groups:
            return Verdict(True)
        missing = []
        for granted in self.grants(user, access.namespace):
            if granted.role is None:
                missing.append(granted)
            elif any(_grants(rule, access) for rule in granted.rules):
                return Verdict(True, granted)
        return Verdict(False, None, missing)

    def rules(self, user: User, namespace: str) -> Iterator[Obj]:
        """Every RBAC rule that applies to this user, in this namespace or everywhere."""
        for granted in self.grants(user, namespace):
            yield from granted.rules

    def grants(self, user: User, namespace: str) -> Iterator[Granted]:
        """The bindings that apply to a user, in this namespace or everywhere, each with its role."""
        for binding in self._objects("clusterrolebindings"):
            if (subject := _applies(binding, user)) is not None:
                yield Granted(binding, subject, self.role(binding["roleRef"], ""))
        if namespace:
            for binding in self._objects("rolebindings", namespace):
                if (subject := _applies(binding, user, namespace)) is not None:
                    yield Granted(binding, subject, self.role(binding["roleRef"], namespace))

    def role(self, ref: Obj, namespace: str) -> Obj | None:
        """The Role or ClusterRole that a binding in this namespace names."""
        anywhere = ref.get("kind") == "ClusterRole"
        key = Key(_CLUSTER_ROLES, "", ref["name"]) if anywhere else Key(_ROLES, namespace, ref["name"])
        entry = self._store.get(key)
        return entry.obj if entry is not None else None

    def _objects(self, plural: str, namespace: str | None = None) -> Iterable[Obj]:
        return (e.obj for e in self._store.list(f"{RBAC}/{plural}", namespace).entries)


def _applies(binding: Obj, user: User, namespace: str = "") -> Obj | None:
    """The subject by which a binding applies to a user; None when it does not."""
    for subject in binding.get("subjects") or ():
        kind, name = subject["kind"], subject["name"]
        if kind == "User":
            applies = name == user.name
        elif kind == "Group":
            applies = name in user.groups
        else:
            where = subject.get("namespace") or namespace
            applies = user.name == f"system:serviceaccount:{where}:{name}"
        if applies:
            return subject  # type: ignore[no-any-return] # an object is its JSON
    return None


def _with(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text


def _selected(call: Call) -> str:
    """The name that the field selector of a list or watch fixes, for rules with resourceNames; else empty."""
    text = call.one("fieldSelector") if call.verb in ("list", "watch") else ""
    return fields.exact_name(text) if text else ""


def _grants(rule: Obj, access: Access) -> bool:
    if not _has(rule.get("verbs"), access.verb):
        return False
    if access.path:
        return any(policy_rules.path_covers(own, access.path) for own in rule.get("nonResourceURLs") or ())
    if not _has(rule.get("apiGroups"), access.group):
        return False
    resources = rule.get("resources") or ()
    _, slash, sub = access.resource.partition("/")
    if not (_has(resources, access.resource) or (slash and f"*/{sub}" in resources)):
        return False
    names = rule.get("resourceNames") or ()
    return not names or access.name in names


def _has(options: Sequence[str] | None, wanted: str) -> bool:
    return options is not None and (wanted in options or "*" in options)
