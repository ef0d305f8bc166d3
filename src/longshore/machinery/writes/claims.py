"""Claims objects for an owner: keeps, adopts and releases them.

Before the first adoption the owner is read from the API once, because a cache may still show an owner that
was deleted or replaced by another one of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from longshore.api.errors import StatusError
from longshore.api.facts import owners
from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj
from longshore.client import Client, PatchType, Unreachable
from longshore.machinery.queues.try_again import TryAgain


def adoption_patch(obj: Obj, ref: Obj, finalizers: Iterable[str] = ()) -> Obj:
    """A patch that makes `ref` the controller of `obj`; its uid keeps it from another object of that name."""
    meta: Obj = {"ownerReferences": [ref], "uid": obj["metadata"]["uid"]}
    if finalizers := [*finalizers]:
        meta["finalizers"] = finalizers
    return {"metadata": meta}


def release_patch(obj: Obj, owner_uid: str, finalizers: Iterable[str] = ()) -> Obj:
    """A patch that removes this owner from `obj`, together with the finalizers that the owner added."""
    meta: Obj = {
        "uid": obj["metadata"]["uid"],
        "ownerReferences": [{"$patch": "delete", "uid": owner_uid}],
    }
    if finalizers := [*finalizers]:
        meta["$deleteFromPrimitiveList/finalizers"] = finalizers
    return {"metadata": meta}


class CannotAdopt(TryAgain):
    """The owner is gone or being deleted, so it cannot adopt objects. The next sync shows which."""


class Claims:
    """Claims objects of one resource for one owner, in one sync; make a new one for the next sync."""

    def __init__(
        self,
        client: Client,
        what: Kind,
        owner: Obj,
        owner_kind: Kind,
        matches: Callable[[Mapping[str, str]], bool],
        *,
        finalizers: tuple[str, ...] = (),
        on_write: Callable[[Obj], Any] | None = None,
    ) -> None:
        """`what` is the objects' apiVersion and kind; `matches` is the owner's selector. Adopted objects get
        `finalizers`, released objects lose them. `on_write` is called with the answer of every patch."""
        self._client, self._what, self._owner, self._kind = client, what, owner, owner_kind
        self._matches, self._finalizers, self._on_write = matches, finalizers, on_write
        self._uid: str = owner["metadata"]["uid"]
        self._going = "deletionTimestamp" in owner["metadata"]
        self._may_adopt: bool | CannotAdopt = False

    async def claim(self, objects: Iterable[Obj]) -> list[Obj]:
        """The members of `objects` that belong to the owner now, in their order; adopted ones as patched.

        Processes all objects, then raises the first error, if any: `StatusError`, `Unreachable` or
        `CannotAdopt`.
        """
        claimed: list[Obj] = []
        first: Exception | None = None
        for obj in objects:
            try:
                mine = await self._one(obj)
            except (StatusError, Unreachable, CannotAdopt) as err:
                first = first or err
            else:
                if mine is not None:
                    claimed.append(mine)
        if first is not None:
            raise first
        return claimed

    async def _one(self, obj: Obj) -> Obj | None:
        meta = obj["metadata"]
        ref = owners.controller_of(obj)
        matches = self._matches(meta.get("labels") or {})
        if ref is not None:
            if ref["uid"] != self._uid:
                return None
            if matches:
                return obj
            if not self._going:
                await self._patched(obj, release_patch(obj, self._uid, self._finalizers), (404, 422))
            return None
        if self._going or not matches or "deletionTimestamp" in meta:
            return None
        await self._recheck(obj)
        wanted = owners.controller_ref(self._owner, self._kind)
        return await self._patched(obj, adoption_patch(obj, wanted, self._finalizers), (404,))

    async def _patched(self, obj: Obj, patch: Obj, harmless: tuple[int, ...]) -> Obj | None:
        """Patches the object. None if the error says that the object is gone or was replaced."""
        meta = obj["metadata"]
        try:
            answer = await self._client.patch(
                self._what, meta["name"], patch, meta.get("namespace") or "", type=PatchType.STRATEGIC
            )
        except StatusError as err:
            if err.code in harmless:
                return None
            raise
        if self._on_write is not None:
            self._on_write(answer)
        return answer

    async def _recheck(self, obj: Obj) -> None:
        """Raises unless the owner exists and is not being deleted; asks the server once."""
        if self._may_adopt is False:
            try:
                await self._look()
                self._may_adopt = True
            except CannotAdopt as err:
                self._may_adopt = err
        if isinstance(self._may_adopt, CannotAdopt):
            meta = obj["metadata"]
            place = f"{meta.get('namespace') or ''}/{meta['name']} ({meta['uid']})"
            raise CannotAdopt(f"can't adopt {self._what[1]} {place}: {self._may_adopt}") from self._may_adopt

    async def _look(self) -> None:
        meta, kind = self._owner["metadata"], self._kind[1]
        namespace, name = meta.get("namespace") or "", meta["name"]
        try:
            fresh = (await self._client.get(self._kind, name, namespace))["metadata"]
        except (StatusError, Unreachable) as err:
            raise CannotAdopt(f"can't recheck DeletionTimestamp: {err}") from err
        if fresh["uid"] != self._uid:
            gone = f"original {kind} {namespace}/{name} is gone: got uid {fresh['uid']}, wanted {self._uid}"
            raise CannotAdopt(f"can't recheck DeletionTimestamp: {gone}")
        if "deletionTimestamp" in fresh:
            raise CannotAdopt(f"{namespace}/{name} has just been deleted at {fresh['deletionTimestamp']}")
