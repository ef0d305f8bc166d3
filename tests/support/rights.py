"""The rights that `longshore manifests` gives, and a client that notes which of them are used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from longshore.api.types import Obj
from longshore.apiserver.request.call import User
from longshore.client import Client
from longshore.client.local import LocalClient

_RBAC = "rbac.authorization.k8s.io"
Right = tuple[str, str, str]
"""Verb, group and resource, with its subresource."""


class Noting(LocalClient):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked: set[Right] = set()

    def _call(self, ask: Any) -> Any:
        resource = "/".join(filter(None, (ask.resource.plural, ask.subresource)))
        self.asked.add((ask.verb, ask.resource.group, resource))
        return super()._call(ask)


def rights_of(rules: Iterable[Obj]) -> set[Right]:
    return {
        (verb, group, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


async def grant(client: Client, name: str, rules: list[Obj]) -> User:
    """A user that may do what these rules allow, and nothing else."""
    await client.create((f"{_RBAC}/v1", "ClusterRole"), {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": name, "apiGroup": _RBAC}],
    }
    await client.create((f"{_RBAC}/v1", "ClusterRoleBinding"), binding)
    return User(name, ("system:authenticated",))
