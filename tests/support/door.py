"""An API with the roles and bindings that every longshore has, and people who come to its door."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.apiserver.access.authz import Access
from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.request.call import User
from longshore.client.local import LocalClient
from longshore.plane import bootstrap
from longshore.store import Store
from support.fixed_clock import FixedClock

RBAC = "rbac.authorization.k8s.io"


def person(name: str = "bob", *groups: str) -> User:
    return User(name, (*groups, "system:authenticated"))


@dataclass(slots=True)
class Door:
    """An API, its administrator, and whoever else comes."""

    api: Api
    admin: LocalClient
    clock: FixedClock

    def of(self, user: User) -> LocalClient:
        return LocalClient(self.api, user=user)

    def may(self, user: User, verb: str, what: str, namespace: str = "", name: str = "") -> bool:
        """Whether a user may do this to `resource.group`, or to a path."""
        if what.startswith("/"):
            return self.api.authorizer.allows(user, Access(verb, path=what))
        resource, _, group = what.partition(".")
        return self.api.authorizer.allows(user, Access(verb, group, resource, name, namespace))

    async def give(self, user: User, rules: Sequence[Obj], namespace: str = "", name: str = "given") -> None:
        """Binds a new role with these rules to a user, in one namespace or everywhere."""
        await self.admin.create(kinds.CLUSTER_ROLES, {"metadata": {"name": name}, "rules": list(rules)})
        await self.bind(user, name, namespace)

    async def bind(self, user: User, role: str, namespace: str = "") -> None:
        """Binds a ClusterRole to a user, in one namespace or everywhere."""
        what = kinds.ROLE_BINDINGS if namespace else kinds.CLUSTER_ROLE_BINDINGS
        await self.admin.create(what, binding(role, user.name, name=f"{user.name}-{role}"), namespace)


def binding(role: str, user: str, *, kind: str = "ClusterRole", name: str = "b") -> Obj:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    }


def rule(verbs: str, resources: str, group: str = "", *, names: str = "") -> Obj:
    """A rule from words: `rule("get list", "pods")`."""
    made: Obj = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**made, "resourceNames": names.split()} if names else made


async def refusal(work: Awaitable[object]) -> StatusError:
    with pytest.raises(StatusError) as refused:
        await work
    return refused.value


@asynccontextmanager
async def a_door() -> AsyncIterator[Door]:
    """A door with nobody in front of it yet."""
    store, clock = Store.open(None), FixedClock()
    tokens = Tokens(store, admin_token="root", key=b"k" * 32, clock=clock)
    api = Api(ApiParts(store, clock, random.Random(1), tokens=tokens))
    admin = LocalClient(api)
    await bootstrap.objects(admin)
    yield Door(api, admin, clock)
    await store.close()
