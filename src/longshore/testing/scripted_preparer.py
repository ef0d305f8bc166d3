"""Prepares only the paths of pods, for nodes on which nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from longshore.api.types import Obj
from longshore.machinery.informers.informer import Informers
from longshore.node.runtime import Container, Key


class ScriptedPreparer:
    """Implements `node.pod.preparation.Preparation`. Creates no files below `root`; without a root,
    containers have no paths for files, and pods are prepared in the same turn of the loop."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self.pods: dict[str, Obj] = {}
        """The pods that are prepared, by uid, as they were when a container of theirs was last started."""
        self.removed: list[str] = []
        """Uids of pods that were to be removed, in order."""
        self.refuse: Callable[[Obj], None] = lambda pod: None
        """Hook that may raise `NotReady` or `CannotPrepare` for a pod."""
        self.refuse_container: Callable[[Obj, str], None] = lambda pod, name: None
        """Hook that may raise `NotReady` or `CannotPrepare` for one container of a pod."""

    async def run(self, informers: Informers) -> None:
        await asyncio.get_running_loop().create_future()

    def at_once(self, pod: Obj) -> str | None:
        """Prepares a pod and returns its uid; None with a `root`, where that takes a turn of the loop."""
        if self.root is not None:
            return None
        self.refuse(pod)
        return str(pod["metadata"]["uid"])

    async def pod(self, pod: Obj) -> str:
        self.refuse(pod)
        return str(pod["metadata"]["uid"])

    def container(self, prepared: str, pod: Obj, spec: Obj, attempt: int, pod_ip: str) -> Container:
        self.refuse_container(pod, spec["name"])
        meta = pod["metadata"]
        self.pods[meta["uid"]] = pod
        logs, message = "", None
        if self.root is not None:
            name = f"{meta['namespace']}_{meta['name']}_{meta['uid']}"
            logs = f"{self.root}/logs/{name}/{spec['name']}/{attempt}.log"
            message = f"{self.root}/{meta['uid']}/{spec['name']}/{attempt}"
        return Container(
            Key(meta["uid"], spec["name"], attempt),
            meta["namespace"],
            meta["name"],
            spec.get("image") or "",
            command=tuple(spec.get("command") or ()),
            log=logs,
            termination_message=message,
        )

    async def refresh(self, prepared: str, pod: Obj) -> None: ...

    def stopped(self, pod_uid: str) -> None: ...

    async def remove(self, pod_uid: str) -> None:
        self.removed.append(pod_uid)
        self.pods.pop(pod_uid, None)

    async def known(self) -> set[str]:
        return set()
