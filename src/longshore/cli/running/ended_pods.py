"""The pods of a run that have ended, each told once: those of retries too."""

from __future__ import annotations

from collections.abc import Callable

from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.cli.running import run_watches
from longshore.cli.running.place import Place
from longshore.cli.running.progress import Run


class EndedPods:
    """Tells `heard` of each pod with its index, 0 where it has none. Call `follow` until the run has ended,
    then `finish`."""

    def __init__(self, place: Place, run: Run, heard: Callable[[Obj, int], None]) -> None:
        self._place, self._run, self._heard = place, run, heard
        self._seen: set[str] = set()

    async def follow(self) -> None:
        """Tells of pods as they end, until cancelled."""
        labels = run_watches.labels(self._run)
        async for event in run_watches.events(self._place, kinds.PODS, self._run.namespace, labels=labels):
            if event.type in ("ADDED", "MODIFIED"):
                self._pod(event.object)

    async def finish(self) -> None:
        """Tells of those that ended last. Raises what keeps them from being listed."""
        labels = run_watches.labels(self._run)
        found = await self._place.client.list(kinds.PODS, self._run.namespace, labels=labels)
        for pod in found.items:
            self._pod(pod)

    def _pod(self, pod: Obj) -> None:
        uid = pod["metadata"]["uid"]
        if uid not in self._seen and pod_state.has_ended(pod):
            self._seen.add(uid)
            self._heard(pod, pod_state.completion_index(pod) or 0)
