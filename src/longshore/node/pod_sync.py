"""Syncs the pods that were woken, each once per turn of the loop: decides, acts, explains.

A pod is woken by every change that concerns it, and by the timer of its last plan.
"""

from __future__ import annotations

import asyncio
import logging

from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.time.clock import Clock
from longshore.node.ending import Endings
from longshore.node.pod.act import PodActor
from longshore.node.pod.decide import decide
from longshore.node.pod.life import Life
from longshore.node.pod.memory import PodView
from longshore.node.pod.plan import PodPlan
from longshore.node.status.writer import StatusWriter

log = logging.getLogger(__name__)


class PodSync:
    """`connect` adds the actor, the writer and the endings, because these in turn wake pods."""

    def __init__(self, clock: Clock, explanations: Explanations) -> None:
        self._clock, self._explanations = clock, explanations
        self._ready: list[Life] = []
        self._awake = False
        self.stopped = False
        """Whether the node is stopping, so that no pod is synced any more."""

    def connect(self, actor: PodActor, writer: StatusWriter, endings: Endings) -> None:
        self._actor, self._writer, self._endings = actor, writer, endings

    def wake(self, life: Life) -> None:
        """Queues the pod for a sync in this turn of the loop."""
        if life.queued or self.stopped:
            return
        life.queued = True
        self._ready.append(life)
        if not self._awake:
            self._awake = True
            asyncio.get_running_loop().call_soon(self._sync_all)

    def _sync_all(self) -> None:
        self._awake = False
        ready, self._ready = self._ready, []
        wall, now = self._clock.now().timestamp(), self._clock.monotonic()
        for life in ready:
            life.queued = False
            try:
                self._sync(life, now, wall)
            except Exception:  # a bug in one pod's decision must not stop the others'
                log.exception("pod %s could not be looked at", life.memory.facts.title)

    def _sync(self, life: Life, now: float, wall: float) -> None:
        if life.adopting or life.closed:
            return
        memory = life.memory
        was_prepared = memory.prepared
        plan = self._step(life, now, wall)
        if memory.prepared and not was_prepared:
            plan = self._step(life, now, wall)  # the pod was prepared without waiting, so start it now
        if plan.look_again is not None or life.timer is not None:
            self._arm(life, plan.look_again, now)
        if memory.gone:
            if plan.done:
                self._endings.forget(life)
        else:
            self._writer.offer(life)

    def _step(self, life: Life, now: float, wall: float) -> PodPlan:
        plan = decide(PodView(life.memory, now, wall))
        self._explain(life, plan, wall)
        life.final = plan.done
        self._actor.act(life, plan)
        return plan

    def _explain(self, life: Life, plan: PodPlan, wall: float) -> None:
        facts, why = life.memory.facts, plan.why
        if life.memory.news:
            why, life.memory.news = (*life.memory.news, *why), []
        self._explanations.add((facts.namespace, facts.name), Explanation(facts.uid, wall, why))

    def _arm(self, life: Life, seconds: float | None, now: float) -> None:
        if seconds is None:
            if life.timer is not None:
                life.timer.cancel()
                life.timer = None
            return
        due = now + seconds
        if life.timer is not None:
            if life.due == due:
                return
            life.timer.cancel()
        life.due = due
        life.timer = self._clock.call_later(seconds, lambda: self._ring(life))

    def _ring(self, life: Life) -> None:
        life.timer = None
        self.wake(life)
