"""Gives each ClusterRole with an aggregationRule the rules of the roles that it selects.

All ClusterRoles are synced whenever one of them changes. `decide` is pure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from longshore.api.errors import tolerated
from longshore.api.facts import kinds
from longshore.api.selectors import labels
from longshore.api.types import Obj, encode
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import SHORT_PAUSES
from longshore.machinery.reasons import Reason

_ALL: Final = "every role"


class AggregationPlan(msgspec.Struct, frozen=True):
    """The rules that one aggregated role should have."""

    role: Obj
    rules: Sequence[Obj]
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Always None: every change arrives as a watch event."""


def decide(roles: Iterable[Obj]) -> list[AggregationPlan]:
    """Returns a plan for every aggregated role whose rules are not those of the roles it selects.

    If a selected role is aggregated itself, the roles that it selects are followed; its own rules may be
    outdated, and two roles that select each other would otherwise wait for each other."""
    by_name = sorted(roles, key=lambda role: str(role["metadata"]["name"]))
    plans = []
    for role in by_name:
        if _is_aggregated(role):
            found: dict[bytes, Obj] = {}
            _gather(role, by_name, found, set())
            rules = [*found.values()]
            if rules != (role.get("rules") or []):
                why = Reason("RulesAggregated", {"rules": len(rules)})
                plans.append(AggregationPlan(role, rules, why=(why,)))
    return plans


def _is_aggregated(role: Obj) -> bool:
    return "aggregationRule" in role and "deletionTimestamp" not in role["metadata"]


def _gather(role: Obj, by_name: Sequence[Obj], rules: dict[bytes, Obj], seen: set[str]) -> None:
    """Adds the rules of all selected roles to `rules`, each rule once. Skips roles in `seen`."""
    seen.add(role["metadata"]["name"])
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        matches = labels.from_selector(selector).matches
        for other in by_name:
            meta = other["metadata"]
            if meta["name"] in seen or not matches(meta.get("labels") or {}):
                continue
            if _is_aggregated(other):
                _gather(other, by_name, rules, seen)
            else:
                rules.update((encode(rule), rule) for rule in other.get("rules") or ())


async def run(context: ControllerContext) -> None:
    """Writes the rules of aggregated roles until cancelled."""
    roles = context.informers.get(kinds.CLUSTER_ROLES)
    queue = context.queue(pauses=SHORT_PAUSES)
    roles.add_handler(OnChange(lambda _: queue.add(_ALL)))

    async def sync(_: str) -> None:
        await context.informers.synced()  # a cache that is still filling lacks roles
        for plan in decide(roles.cache):
            meta = plan.role["metadata"]
            context.explain(("", meta["name"]), plan.role, plan.why)
            change = {
                "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
                "rules": plan.rules,
            }
            with tolerated(404, 409):  # the other writer's change causes another sync
                await context.client.patch(kinds.CLUSTER_ROLES, meta["name"], change)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(context.informers.run())
        tasks.create_task(run_workers(queue, sync))
