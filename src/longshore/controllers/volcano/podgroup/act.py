"""Carries plans out. A crash after any single write is safe: the name of a group contains its owner's UID."""

from __future__ import annotations

from msgspec.structs import replace

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.volcano.podgroup.decide import Ask, PodGroupPlan, PodGroupView, decide
from longshore.controllers.volcano.podgroup.wanted import GROUP, name_of


async def decided(view: PodGroupView, namespace: str, client: Client) -> PodGroupPlan:
    """Decides and reads until the plan is final."""
    answers: dict[Ask, Obj | None] = {}
    while True:
        plan = decide(replace(view, answers=answers) if answers else view)
        if not plan.read:
            return plan
        for ask in plan.read:
            answers[ask] = await _read(ask, namespace, client)


async def act(plan: PodGroupPlan, namespace: str, client: Client) -> Obj | None:
    """Makes all writes of a plan, in order. Returns the PodGroup, or None if there is none."""
    group = None
    if plan.create is not None:
        group = await _create(plan.create, namespace, client)
    if plan.update is not None:
        group = await client.update(kinds.POD_GROUPS, plan.update, namespace)
    if plan.remove:
        group = await _remove(plan.remove, namespace, client)
    if plan.tell is not None:
        await _tell(plan.tell, namespace, client)
    return group


async def _read(ask: Ask, namespace: str, client: Client) -> Obj | None:
    try:
        return await client.get(ask.kind, ask.name, namespace)
    except LookupError:  # the server knows no such kind
        return None
    except StatusError as err:
        if err.code != 404:
            raise
        return None


async def _create(group: Obj, namespace: str, client: Client) -> Obj:
    try:
        return await client.create(kinds.POD_GROUPS, group, namespace)
    except StatusError as err:
        if err.reason != "AlreadyExists":
            raise
        return await client.get(kinds.POD_GROUPS, group["metadata"]["name"], namespace)


async def _remove(name: str, namespace: str, client: Client) -> Obj | None:
    with errors.tolerated(404):
        return await client.delete(kinds.POD_GROUPS, name, namespace)
    return None


async def _tell(pod: Obj, namespace: str, client: Client) -> None:
    """Annotates this pod with the group's name, unless another pod has its name now."""
    meta = pod["metadata"]
    patch = {"metadata": {"uid": meta["uid"], "annotations": {GROUP: name_of(pod)}}}
    try:
        await client.patch(kinds.PODS, meta["name"], patch, namespace)
    except StatusError as err:
        if err.code not in (404, 409):  # it is gone, or another one has its name
            raise
