"""Gives pending pods a node, and says with numbers why a pod waits."""

from __future__ import annotations

from collections.abc import Collection

from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanation, Explanations
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.gang.scheduler import NAME as GANGS
from longshore.scheduler.gang.scheduler import GangScheduler
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.single.scheduler import NAME as SINGLE_PODS
from longshore.scheduler.single.scheduler import DefaultScheduler

__all__ = ["Schedulers"]


class Schedulers:
    """The schedulers of a process. They can be asked to explain before `run` starts them.

    `gangs` are the settings of the gang scheduler; `names` are the schedulers to run, None for all. The gang
    scheduler needs a server with Volcano's kinds.
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
        self.pods: DefaultScheduler | None = None
        self.gangs: GangScheduler | None = None
        if names is None or SINGLE_PODS in names:
            self.pods = DefaultScheduler(cluster)
            cluster.listeners[SINGLE_PODS] = self.pods
        if names is None or GANGS in names:
            self.gangs = GangScheduler(cluster, gangs or Settings(), group_explanations)
            cluster.listeners[GANGS] = self.gangs

    def explain_pod(self, namespace: str, name: str) -> list[Explanation]:
        """The decisions about a pod, oldest first."""
        told = self.pods.explain(namespace, name) if self.pods is not None else []
        return told or (self.gangs.explain(namespace, name) if self.gangs is not None else [])

    def explain_group(self, namespace: str, name: str) -> list[Explanation]:
        """The decisions about a gang, oldest first."""
        return self.gangs.explain_group(namespace, name) if self.gangs is not None else []

    async def run(self) -> None:
        """Schedules pods until cancelled."""
        await self._cluster.run(*(each.run for each in (self.pods, self.gangs) if each is not None))
