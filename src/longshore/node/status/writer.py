"""Writes statuses of pods: one write at a time for a pod, always of the newest state, as few as possible.

A status that may change again at once is held back for a moment: a container that ends right after its start
costs one write. An end is written at once. A write that meets a newer version of the pod reads it and tries
again, since a PUT (the cheapest way) would undo changes of other writers.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, own_names, pod_state
from longshore.api.time import rfc3339
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.time.clock import Clock, Timer
from longshore.node.pod.life import Life
from longshore.node.pod.memory import PodMemory
from longshore.node.status.build import status_of

HOLD_SECONDS: Final = 0.025
"""Enough for an empty command to end, even if eight of them and longshore share two processors. A kubelet
takes many times as long to notice a running container."""
_MAX_HOLD_SECONDS: Final = 1.0
_TURN_SECONDS: Final = 0.001
MANAGER: Final = "kubelet"
"""Upstream's name for the writer of pods' statuses."""
_PAUSES: Final = Doubling(0.1, 10.0)

log = logging.getLogger(__name__)


class StatusWriter:
    """`spawn` runs a coroutine in the background. `closed` is called when a final status is in the API,
    `wake` when another writer has written one, which ends the pod, too."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        closed: Callable[[Life], None],
        wake: Callable[[Life], None],
    ) -> None:
        self.writes = 0
        self._client, self._clock = client, clock
        self._spawn, self._closed, self._wake = spawn, closed, wake
        self._holding: deque[tuple[float, Life]] = deque()
        """Pods whose status is held back, and until when. All are held equally long, so the first is due
        first, and one timer serves all. A status that was written meanwhile is skipped."""
        self._timer: Timer | None = None

    def offer(self, life: Life) -> None:
        """Requests a write of the pod's status, if it has changed."""
        if life.writing:
            life.dirty = True
        elif life.final:
            self._flush(life)
        elif not life.hold:
            life.held = now = self._clock.monotonic()
            self._keep(life, now)

    def _keep(self, life: Life, now: float) -> None:
        life.hold = due = now + HOLD_SECONDS
        self._holding.append((due, life))
        if self._timer is None:
            self._timer = self._clock.call_later(HOLD_SECONDS, self._ring)

    def _ring(self) -> None:
        now, self._timer = self._clock.monotonic(), None
        due = [life for until, life in self._taken(now) if life.hold == until]
        for life in due:
            # The status waits a little longer while a request to the runtime is under way.
            if now - life.held < _MAX_HOLD_SECONDS and life.memory.busy:
                self._keep(life, now)
            elif now - life.hold < _TURN_SECONDS:
                self._flush(life)
            else:
                # The loop is late, so a container's end may wait to be read: the loop reads it before the
                # next timer.
                self._clock.call_later(_TURN_SECONDS, partial(self._over, life, life.hold))
        if self._holding and self._timer is None:
            self._timer = self._clock.call_later(max(self._holding[0][0] - now, 0.0), self._ring)

    def _taken(self, now: float) -> list[tuple[float, Life]]:
        """Removes and returns the lives that are due."""
        found = []
        while self._holding and self._holding[0][0] <= now:
            found.append(self._holding.popleft())
        return found

    def _over(self, life: Life, hold: float) -> None:
        if life.hold == hold:
            self._flush(life)

    def _flush(self, life: Life) -> None:
        life.hold = 0.0
        if life.writing:
            life.dirty = True
            return
        if life.closed or life.memory.gone:
            return
        if life.memory.terminal:  # a terminal phase never changes
            if life.final:
                self._closed(life)
            return
        status = self._status(life)
        if status == life.written:
            return
        life.writing, life.dirty = True, False
        self._spawn(self._write(life, status, final=life.final))

    def _status(self, life: Life) -> Obj:
        now = rfc3339.from_seconds(self._clock.now().timestamp())
        return status_of(life.memory, life.runtime_name, now, final=life.final)

    async def _write(self, life: Life, status: Obj, *, final: bool) -> None:
        """`final` is as it was when `status` was built; later changes make the pod dirty."""
        memory, failures = life.memory, 0
        while not memory.gone:
            try:
                answer = await self._put(memory, status, final=final)
            except StatusError as err:
                if err.code == 404 or (err.code == 409 and not await self._fresh(life)):
                    break
                if err.code != 409:
                    passing = err.code == 429 or err.code >= 500
                    text = "trying again" if passing else "its status was refused"
                    log.log(
                        logging.INFO if passing else logging.ERROR,
                        "pod %s: %s: %s",
                        memory.facts.title,
                        text,
                        err,
                    )
                    failures += 1
                    await self._clock.sleep(_PAUSES.after(failures))
            except Unreachable as err:
                log.info("pod %s: trying again: %s", memory.facts.title, err)
                failures += 1
                await self._clock.sleep(_PAUSES.after(failures))
            else:
                memory.pod, life.written = answer, status
                self.writes += 1
                if final:
                    memory.terminal = status["phase"]
                    break
                if not life.dirty:
                    break
            life.dirty, final, status = False, life.final, self._status(life)
            if status == life.written:
                break
        life.writing = False
        if memory.terminal and not memory.gone:
            if life.final:
                self._closed(life)
            else:
                self._wake(life)

    async def _put(self, memory: PodMemory, status: Obj, *, final: bool) -> Obj:
        pod = memory.pod
        meta = pod["metadata"]
        if "managedFields" in meta:
            meta = {key: value for key, value in meta.items() if key != "managedFields"}
        if final and own_names.EXACT_TIMES in (meta.get("annotations") or ()) and (times := _times(memory)):
            meta = {**meta, "annotations": {**meta["annotations"], own_names.EXACT_TIMES: times}}
        obj = {"metadata": meta, "spec": pod["spec"], "status": status}
        return await self._client.update_status(kinds.PODS, obj, meta["namespace"], manager=MANAGER)

    async def _fresh(self, life: Life) -> bool:
        """Reads the pod again; False when it is gone, or another one has its name."""
        facts = life.memory.facts
        try:
            pod = await self._client.get(kinds.PODS, facts.name, facts.namespace)
        except (StatusError, Unreachable) as err:
            if isinstance(err, StatusError) and err.code == 404:
                return False
            await self._clock.sleep(_PAUSES.cap)
            return True
        if pod["metadata"]["uid"] != facts.uid:
            return False
        life.memory.pod = pod
        if pod_state.has_ended(pod):
            life.memory.terminal = pod["status"]["phase"]  # another client's terminal phase stays
            return False
        return True


def _times(memory: PodMemory) -> str:
    """Start and end of the first container, to the millisecond; empty for one that never ran."""
    state = memory.mains[0].state
    if state is None or not state.started_at or not state.finished_at:
        return ""
    return "/".join(map(rfc3339.millis_from_seconds, (state.started_at, state.finished_at)))
