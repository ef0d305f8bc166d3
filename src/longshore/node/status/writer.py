"""Writes statuses: one write at a time for a pod, the newest state always, as few as possible.

What may change again at once is held back for a moment: a container that ends right after its start costs
one write. An end is written at once. A write that meets a newer version of the pod reads it and tries again,
since a PUT (the cheapest way) would take back what somebody else changed.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds, pod_state
from longshore.api.time import rfc3339
from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.time.clock import Clock, Timer
from longshore.node.pod.life import Life
from longshore.node.status.build import status_of

HOLD_SECONDS: Final = 0.025
"""Enough for a command that does nothing, also where eight of them and longshore share two processors. A
kubelet takes many times as long to notice that something runs.
"""
_MAX_HOLD_SECONDS: Final = 1.0
_TURN_SECONDS: Final = 0.001
MANAGER: Final = "kubelet"
"""Upstream's name for the writer of pods' statuses."""
_PAUSES: Final = Doubling(0.1, 10.0)

log = logging.getLogger(__name__)


class StatusWriter:
    """`spawn` runs a coroutine in the background. `closed` is told when a final status is in the API, `wake`
    when somebody else's is there, which ends the pod all the same."""

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
        """Lives whose status is held back, and until when. All are held equally long, so the first is due
        first, and one timer does for them all; whoever was written meanwhile is no more held until then."""
        self._timer: Timer | None = None

    def offer(self, life: Life) -> None:
        """The pod may have something new to report."""
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
            # What the engine was asked for is waited for a little longer.
            if now - life.held < _MAX_HOLD_SECONDS and life.memory.busy:
                self._keep(life, now)
            else:
                # In a loop that is late an end may be there unread: it is read before the next timer.
                self._clock.call_later(_TURN_SECONDS, partial(self._over, life, life.hold))
        if self._holding and self._timer is None:
            self._timer = self._clock.call_later(max(self._holding[0][0] - now, 0.0), self._ring)

    def _taken(self, now: float) -> list[tuple[float, Life]]:
        """Takes out those whose moment is over."""
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
        if life.memory.terminal:  # it never changes
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
        return status_of(life.memory, life.engine, now, final=life.final)

    async def _write(self, life: Life, status: Obj, *, final: bool) -> None:
        """`final` as it was when `status` was made: what has come since makes the pod dirty."""
        memory, failures = life.memory, 0
        while not memory.gone:
            try:
                answer = await self._put(memory.pod, status)
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

    async def _put(self, pod: Obj, status: Obj) -> Obj:
        meta = {key: value for key, value in pod["metadata"].items() if key != "managedFields"}
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
            life.memory.terminal = pod["status"]["phase"]  # somebody else has spoken, and that stays
            return False
        return True
