"""Who may do what: members of system:masters everything, others what RBAC objects in the store grant.

Roles and bindings are read from the store at each check of an ordinary user; the administrator's
requests never get that far. Service accounts are users like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api import errors, field
from longshore.api.types import Obj
from longshore.apiserver.request.call import Call, User
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.store import Store

MASTERS: Final = "system:masters"
_RBAC: Final = "rbac.authorization.k8s.io"
_OPEN_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version")
_KNOWN_USER_PATHS: Final = (
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/openapi",
    "/openapi/*",
    "/version",
    "/version/",
)
_SELF_REVIEWS: Final = frozenset(
    ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")
)


class Wish(msgspec.Struct, frozen=True):
    """An access in RBAC's words."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""


class Authorizer:
    """Decides by group membership first and by RBAC objects second."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check(self, call: Call) -> None:
        """Raises the 403 that Kubernetes gives when the caller may not do this."""
        if MASTERS in call.user.groups:
            return
        resource = call.resource
        what = f"{resource.plural}/{call.subresource}" if call.subresource else resource.plural
        wish = Wish(call.verb, resource.group, what, call.name, call.namespace)
        if self.allows(call.user, wish):
            return
        where = (
            f"in the namespace {field.quoted(call.namespace)}" if call.namespace else "at the cluster scope"
        )
        raise errors.forbidden(
            resource.group,
            resource.plural,
            call.name,
            f"User {field.quoted(call.user.name)} cannot {call.verb} resource {field.quoted(what)} "
            f"in API group {field.quoted(resource.group)} {where}",
        )

    def check_path(self, user: User, verb: str, path: str) -> None:
        """Checks access to a path that is no resource: discovery, health, metrics."""
        if not self.allows(user, Wish(verb, path=path)):
            raise errors.StatusError(
                403,
                "Forbidden",
                f"forbidden: User {field.quoted(user.name)} cannot {verb} path {field.quoted(path)}",
                details={},
            )

    def allows(self, user: User, wish: Wish) -> bool:
        if MASTERS in user.groups:
            return True
        if wish.path:
            if any(wish.path == p or wish.path.startswith(p + "/") for p in _OPEN_PATHS):
                return True
            if "system:authenticated" in user.groups and _path_fits(wish.path, _KNOWN_USER_PATHS):
                return True
        if wish.resource in _SELF_REVIEWS and "system:authenticated" in user.groups:
            return True
        return any(_grants(rule, wish) for rule in self.rules(user, wish.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Obj]:
        """Every RBAC rule that applies to this user, in this namespace or everywhere."""
        for binding in self._objects("clusterrolebindings"):
            if _binds(binding, user):
                yield from self._rules_of(binding["roleRef"], "")
        if namespace:
            for binding in self._objects("rolebindings", namespace):
                if _binds(binding, user, namespace):
                    yield from self._rules_of(binding["roleRef"], namespace)

    def _objects(self, plural: str, namespace: str | None = None) -> Iterable[Obj]:
        return (e.obj for e in self._store.list(f"{_RBAC}/{plural}", namespace).entries)

    def _rules_of(self, ref: Obj, namespace: str) -> Sequence[Obj]:
        if ref["kind"] == "ClusterRole":
            key = Key(f"{_RBAC}/clusterroles", "", ref["name"])
        else:
            key = Key(f"{_RBAC}/roles", namespace, ref["name"])
        entry = self._store.get(key)
        return entry.obj.get("rules") or () if entry is not None else ()


def _binds(binding: Obj, user: User, namespace: str = "") -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject["kind"], subject["name"]
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        if kind == "ServiceAccount":
            where = subject.get("namespace") or namespace
            if user.name == f"system:serviceaccount:{where}:{name}":
                return True
    return False


def _grants(rule: Obj, wish: Wish) -> bool:
    if not _has(rule.get("verbs"), wish.verb):
        return False
    if wish.path:
        return _path_fits(wish.path, rule.get("nonResourceURLs") or ())
    if not _has(rule.get("apiGroups"), wish.group):
        return False
    resources = rule.get("resources") or ()
    _, slash, sub = wish.resource.partition("/")
    if not (_has(resources, wish.resource) or (slash and f"*/{sub}" in resources)):
        return False
    names = rule.get("resourceNames") or ()
    return not names or wish.name in names


def _has(options: Sequence[str] | None, wanted: str) -> bool:
    return options is not None and (wanted in options or "*" in options)


def _path_fits(path: str, patterns: Sequence[str]) -> bool:
    return any(path == p or (p.endswith("*") and path.startswith(p[:-1])) for p in patterns)
