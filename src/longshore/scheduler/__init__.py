"""Gives pending pods a node, and says with numbers why a pod waits."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from longshore.api.facts import kinds
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.heard_objects import OnChange
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.gang import scheduler as gang_scheduler
from longshore.scheduler.single.scheduler import NAME as SINGLE_PODS
from longshore.scheduler.single.scheduler import DefaultScheduler

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.scheduler.gang.settings import Settings

__all__ = ["Schedulers"]

GANGS: Final = "volcano"


class Schedulers:
    """The schedulers of a process. They can be asked to explain before `run` starts them.

    `gangs` are the settings of the gang scheduler, None for Volcano's defaults; `names` are the schedulers to
    run, None for all. The gang scheduler needs a server with Volcano's kinds. It is loaded and runs from the
    first PodGroup or pod for it.
    """

    def __init__(
        self,
        context: ControllerContext,
        *,
        group_explanations: Explanations | None = None,
        gangs: Settings | None = None,
        names: Collection[str] | None = None,
    ) -> None:
        self._cluster = cluster = Cluster(context)
        self._settings, self._group_explanations = gangs, group_explanations
        self.pods: DefaultScheduler | None = None
        self._gangs: gang_scheduler.GangScheduler | None = None
        self._waiting: _NoGangs | None = None
        if names is None or SINGLE_PODS in names:
            self.pods = DefaultScheduler(cluster)
            cluster.listeners[SINGLE_PODS] = self.pods
        if names is None or GANGS in names:
            self._waiting = cluster.listeners[GANGS] = _NoGangs()
            cluster.follow(kinds.POD_GROUPS, OnChange(self._waiting.group_seen))

    def explain_pod(self, namespace: str, name: str) -> list[Explanation]:
        """The decisions about a pod, oldest first."""
        told = self.pods.explain(namespace, name) if self.pods is not None else []
        return told or (self._gangs.explain(namespace, name) if self._gangs is not None else [])

    def explain_group(self, namespace: str, name: str) -> list[Explanation]:
        """The decisions about a gang, oldest first."""
        return self._gangs.explain_group(namespace, name) if self._gangs is not None else []

    def configure_gangs(self, settings: Settings) -> None:
        """Applies other settings from now on."""
        self._settings = settings
        if self._gangs is not None:
            self._gangs.configure(settings)

    async def run(self) -> None:
        """Schedules pods until cancelled."""
        runs = [self.pods.run] if self.pods is not None else []
        if self._waiting is not None:
            runs.append(self._run_gangs)
        await self._cluster.run(*runs)

    async def _run_gangs(self) -> None:
        cluster, waiting = self._cluster, self._waiting
        assert waiting is not None
        with_arrival = not waiting.begun.is_set()
        await waiting.begun.wait()
        gangs = self._gangs = gang_scheduler.GangScheduler(cluster, self._settings, self._group_explanations)
        await cluster.follow_all()
        cluster.listeners[GANGS] = gangs
        for key in waiting.pods:
            if (pod := cluster.pods.get(*key)) is not None:
                gangs.pod_changed(pod)
        await gangs.run(with_arrival=with_arrival)


class _NoGangs:
    """A `cluster.Listener` that waits for the first work of the gang scheduler."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.pods: dict[Key, None] = {}

    def group_seen(self, group: Obj) -> None:
        self.begun.set()

    def pod_changed(self, pod: Obj) -> None:
        self.pods[key_of(pod)] = None
        self.begun.set()

    def pod_gone(self, pod: Obj) -> None:
        self.pods.pop(key_of(pod), None)

    def woken(self, flags: int) -> None:
        """Does nothing: without gangs, no gang waits for room."""
