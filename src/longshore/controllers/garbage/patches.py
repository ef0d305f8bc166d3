"""Patches of metadata: removes owner references, unblocks owners, removes finalizers.

A strategic merge patch names only what changes, so it cannot overwrite a concurrent change. Kinds without it
(415) are read, and written by a merge patch that applies to that resourceVersion only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, PatchType

_TRIES: Final = 5


async def drop_references(
    client: Client, row: Resource, name: str, namespace: str, uid: str, owners: Collection[str]
) -> None:
    """Removes the owners with these uids from the object's references. 404 if it is gone, 409 if replaced."""
    body = [{"$patch": "delete", "uid": owner} for owner in owners]
    await _change(
        client,
        row,
        name,
        namespace,
        {"metadata": {"uid": uid, "ownerReferences": body}},
        lambda refs: [ref for ref in refs if ref["uid"] not in owners],
    )


async def unblock(client: Client, row: Resource, meta: Obj) -> None:
    """Sets blockOwnerDeletion to false in all references of the object."""
    refs = meta.get("ownerReferences") or ()
    body = [{"uid": ref["uid"], "blockOwnerDeletion": False} for ref in refs if ref.get("blockOwnerDeletion")]
    await _change(
        client,
        row,
        meta["name"],
        meta.get("namespace") or "",
        {"metadata": {"uid": meta["uid"], "ownerReferences": body}},
        lambda refs: [{**ref, "blockOwnerDeletion": False} for ref in refs],
    )


async def remove_finalizer(client: Client, row: Resource, meta: Obj, finalizer: str) -> None:
    """Removes one finalizer from the object, if it still exists and has it."""
    name, namespace, uid = meta["name"], meta.get("namespace") or "", meta["uid"]
    for left in reversed(range(_TRIES)):
        finalizers = meta.get("finalizers") or []
        if meta["uid"] != uid or finalizer not in finalizers:
            return
        kept = [other for other in finalizers if other != finalizer]
        body = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": kept}}
        try:
            await client.patch(row, name, body, namespace, type=PatchType.MERGE)
            return
        except StatusError as err:
            if err.code == 404:
                return
            if err.code != 409 or not left:
                raise
        try:
            meta = (await client.get(row, name, namespace))["metadata"]
        except StatusError as err:
            if err.code == 404:
                return
            raise


async def _change(
    client: Client,
    row: Resource,
    name: str,
    namespace: str,
    strategic: Obj,
    change: Callable[[list[Obj]], list[Obj]],
) -> None:
    if row.style != "custom":
        with errors.tolerated(415):
            await client.patch(row, name, strategic, namespace, type=PatchType.STRATEGIC)
            return
    meta = (await client.get(row, name, namespace))["metadata"]
    if meta["uid"] != strategic["metadata"]["uid"]:
        return
    old = meta.get("ownerReferences") or []
    new = change(old)
    if new != old:
        body = {"metadata": {"resourceVersion": meta["resourceVersion"], "ownerReferences": new}}
        await client.patch(row, name, body, namespace, type=PatchType.MERGE)
