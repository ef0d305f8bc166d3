"""Prepares nothing for pods but the paths, for nodes on which nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from longshore.api.types import Obj
from longshore.machinery.informers.shared import Informers
from longshore.node.runtime import Container, Key


class ScriptedPreparer:
    """Keeps the contract of `node.pod.preparation.Preparation`. Makes no files below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pods: dict[str, Obj] = {}
        """The pods that are prepared, by uid, as they were when a container of theirs was last started."""
        self.removed: list[str] = []
        """Uids of pods that were to be removed, in order."""
        self.refuse: Callable[[Obj], None] = lambda pod: None
        """May raise `NotReady` or `CannotPrepare` for a pod."""
        self.refuse_container: Callable[[Obj, str], None] = lambda pod, name: None
        """Raises `NotReady` or `CannotPrepare` for one of a pod's containers, if it is to."""

    async def run(self, informers: Informers) -> None:
        await asyncio.get_running_loop().create_future()

    def at_once(self, pod: Obj) -> None:
        """None: every pod takes a turn of the loop, as one with volumes does."""

    async def pod(self, pod: Obj) -> str:
        self.refuse(pod)
        return str(pod["metadata"]["uid"])

    def container(self, prepared: str, pod: Obj, spec: Obj, attempt: int, pod_ip: str) -> Container:
        self.refuse_container(pod, spec["name"])
        meta = pod["metadata"]
        self.pods[meta["uid"]] = pod
        log = self.root / "logs" / f"{meta['namespace']}_{meta['name']}_{meta['uid']}" / spec["name"]
        return Container(
            Key(meta["uid"], spec["name"], attempt),
            meta["namespace"],
            meta["name"],
            spec.get("image") or "",
            command=tuple(spec.get("command") or ()),
            log=log / f"{attempt}.log",
            termination_message=self.root / meta["uid"] / spec["name"] / str(attempt),
        )

    async def refresh(self, prepared: str, pod: Obj) -> None: ...

    async def remove(self, pod_uid: str) -> None:
        self.removed.append(pod_uid)
        self.pods.pop(pod_uid, None)

    async def known(self) -> set[str]:
        return set()
