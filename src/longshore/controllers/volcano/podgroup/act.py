"""Makes the group, overwrites it, removes it, and tells the pod of it."""

from __future__ import annotations

from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.volcano.podgroup.wanted import GROUP

OWNERS: Final = {
    kinds.REPLICA_SETS,
    kinds.DAEMON_SETS,
    kinds.STATEFUL_SETS,
    kinds.JOBS,
}
"""Those whose annotations count for their pods."""


async def owners_of(pod: Obj, client: Client) -> list[Obj]:
    """The owners that can be found."""
    found = []
    for ref in pod["metadata"].get("ownerReferences") or ():
        if (ref["apiVersion"], ref["kind"]) in OWNERS:
            try:
                what = (ref["apiVersion"], ref["kind"])
                found.append(await client.get(what, ref["name"], pod["metadata"]["namespace"]))
            except LookupError:
                continue
            except StatusError as err:
                if err.code != 404:
                    raise
    return found


async def create(group: Obj, client: Client) -> None:
    """One that is there already was made for another pod of the same owner."""
    try:
        await client.create(kinds.POD_GROUPS, group, group["metadata"]["namespace"])
    except StatusError as err:
        if err.reason != "AlreadyExists":
            raise


async def overwrite(group: Obj, client: Client) -> None:
    """Brings an existing group up to what is wanted now, or makes it."""
    meta = group["metadata"]
    try:
        old = await client.get(kinds.POD_GROUPS, meta["name"], meta["namespace"])
    except StatusError as err:
        if err.code != 404:
            raise
        await create(group, client)
        return
    marks = {part: meta.get(part) or {} for part in ("labels", "annotations")}
    new = {**old, "metadata": {**old["metadata"], **marks}, "spec": {**group["spec"]}}
    new["spec"].setdefault("queue", old["spec"].get("queue", ""))
    await client.update(kinds.POD_GROUPS, new, meta["namespace"])


async def remove(namespace: str, name: str, client: Client) -> None:
    """Nothing to do if it is gone."""
    try:
        await client.delete(kinds.POD_GROUPS, name, namespace)
    except StatusError as err:
        if err.code != 404:
            raise


async def tell(pod: Obj, group: str, client: Client) -> None:
    """Writes the group's name on this very pod, not on another one of its name."""
    meta = pod["metadata"]
    patch = {"metadata": {"uid": meta["uid"], "annotations": {GROUP: group}}}
    try:
        await client.patch(kinds.PODS, meta["name"], patch, meta["namespace"])
    except StatusError as err:
        if err.code not in (404, 409):  # it is gone, or another one has its name
            raise
