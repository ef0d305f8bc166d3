"""Reconciles the default roles and bindings at each start: creates missing ones, adds rights and subjects
that a newer longshore knows, and removes none.

A role or binding whose annotation `rbac.authorization.kubernetes.io/autoupdate` is `false` is left alone. All
writes are made at once, so they share one transaction; if nothing differs, nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

from longshore.api import policy_rules
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, What
from longshore.controllers.aggregation import decide
from longshore.plane import default_roles

_DEFAULTS: Final[tuple[tuple[What, str, Sequence[Obj]], ...]] = (
    (kinds.CLUSTER_ROLES, "", default_roles.CLUSTER_ROLES),
    (kinds.CLUSTER_ROLE_BINDINGS, "", default_roles.CLUSTER_ROLE_BINDINGS),
    (kinds.ROLES, "kube-system", default_roles.ROLES),
)


async def reconcile(client: Client) -> None:
    """Writes the roles and bindings that differ from the defaults."""
    writes: list[Coroutine[Any, Any, object]] = []
    for what, namespace, defaults in _DEFAULTS:
        there = {role["metadata"]["name"]: role for role in (await client.list(what, namespace)).items}
        wanted = _gathered(defaults, there) if what == kinds.CLUSTER_ROLES else defaults
        for row in wanted:
            found = there.get(row["metadata"]["name"])
            if found is None:
                writes.append(client.create(what, row, namespace))
            elif found.get("roleRef", None) != row.get("roleRef", None):
                writes.append(_replace(client, what, row, found))
            elif (new := reconciled(found, row)) is not None:
                writes.append(client.update(what, new, namespace))
    await asyncio.gather(*writes)


def reconciled(found: Obj, wanted: Obj) -> Obj | None:
    """The stored role or binding with all that the default has; None if nothing needs to change."""
    if _is_protected(found):
        return None
    meta = dict(found["metadata"])
    for part in ("labels", "annotations"):
        meta[part] = {**wanted["metadata"][part], **(meta.get(part) or {})}
    new = {**found, "metadata": meta}
    if rules := policy_rules.uncovered(found.get("rules") or (), wanted.get("rules") or ()):
        new["rules"] = [*(found.get("rules") or ()), *rules]
    if "aggregationRule" in wanted:
        new["aggregationRule"] = _with_selectors(
            found.get("aggregationRule") or {}, wanted["aggregationRule"]
        )
    if "subjects" in wanted:
        has = found.get("subjects") or []
        new["subjects"] = [*has, *(subject for subject in wanted["subjects"] if subject not in has)]
    return None if new == found else new


def _is_protected(found: Obj) -> bool:
    annotations = found["metadata"].get("annotations") or {}
    return bool(annotations.get(default_roles.AUTOUPDATE) == "false")


def _with_selectors(has: Obj, wanted: Obj) -> Obj:
    selectors = has.get("clusterRoleSelectors") or []
    missing = (each for each in wanted["clusterRoleSelectors"] if each not in selectors)
    return {"clusterRoleSelectors": [*selectors, *missing]}


async def _replace(client: Client, what: What, wanted: Obj, found: Obj) -> None:
    """Replaces a binding of another role by the default one, since a roleRef cannot be changed."""
    if not _is_protected(found):
        await client.delete(what, found["metadata"]["name"])
        await client.create(what, wanted)


def _gathered(defaults: Sequence[Obj], there: Mapping[str, Obj]) -> Sequence[Obj]:
    """The default roles; those that do not exist yet already have their aggregated rules, so that they work
    from the moment they are created."""
    new = {row["metadata"]["name"]: row for row in defaults if row["metadata"]["name"] not in there}
    if not any("aggregationRule" in row for row in new.values()):
        return defaults
    while plans := [p for p in decide([*there.values(), *new.values()]) if p.role["metadata"]["name"] in new]:
        new.update((plan.role["metadata"]["name"], {**plan.role, "rules": plan.rules}) for plan in plans)
    return [new.get(row["metadata"]["name"], row) for row in defaults]
