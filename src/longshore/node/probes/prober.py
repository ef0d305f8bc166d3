"""Runs the probes of a container: a startup probe until it succeeds once, then liveness and readiness.

Each probe runs every period, after its initial delay, with a time limit; enough failures or successes in a
row change its result. Readiness fails at first, the others succeed. A probe ends with its container.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from longshore.api.types import Obj
from longshore.machinery.time.clock import Clock
from longshore.node.probes import hooks
from longshore.node.probes.hooks import Target

Told: TypeAlias = Callable[[Any, Any, str, str], None]
"""Reports a verdict. Takes life, record, verdict (`started`, `ready`, `unready`, `liveness`, `startup` or
empty) and the text of an event."""

_WORDS: Final = {"startupProbe": "Startup", "livenessProbe": "Liveness", "readinessProbe": "Readiness"}

log = logging.getLogger(__name__)


class Probing:
    """The probes of one run of one container."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []

    def stop(self) -> None:
        for task in self.tasks:
            task.cancel()


class Prober:
    def __init__(self, clock: Clock, told: Told, handle: hooks.Handle = hooks.run) -> None:
        self._clock, self._told, self._handle = clock, told, handle

    def begin(self, life: Any, record: Any, target: Target) -> Probing:
        """Probes from now on, until the container ends or the result is stopped."""
        probing = Probing()
        probing.tasks.append(asyncio.create_task(self._all(probing, life, record, target)))
        return probing

    async def _all(self, probing: Probing, life: Any, record: Any, target: Target) -> None:
        spec = target.spec
        if spec.get("startupProbe") and not record.started:
            await self._watch("startupProbe", life, record, target)
        for name in ("livenessProbe", "readinessProbe"):
            if spec.get(name):
                probing.tasks.append(asyncio.create_task(self._watch(name, life, record, target)))

    async def _watch(self, name: str, life: Any, record: Any, target: Target) -> None:
        """Runs the probe until a startup probe succeeds, or a startup or liveness probe fails for good."""
        probe: Obj = target.spec[name]
        needed = {True: probe.get("successThreshold") or 1, False: probe.get("failureThreshold") or 3}
        period = float(probe.get("periodSeconds") or 10)
        await self._clock.sleep(max(float(probe.get("initialDelaySeconds") or 0), 0.0))
        row, last = 0, None
        due = self._clock.monotonic()
        while True:
            result = await self._ask(probe, target)
            row = row + 1 if result.ok is last else 1
            last = result.ok
            event = "" if result.ok else f"{_WORDS[name]} probe failed: {result.message}"
            verdict = _verdict(name, result.ok) if row >= needed[result.ok] else ""
            if verdict or event:
                self._told(life, record, verdict, event)
            if verdict in ("started", "liveness", "startup"):
                return
            due = max(due + period, self._clock.monotonic())
            await self._clock.sleep(due - self._clock.monotonic())

    async def _ask(self, probe: Obj, target: Target) -> hooks.HookResult:
        patience = float(probe.get("timeoutSeconds") or 1)
        try:
            async with self._clock.timeout(patience):
                return await self._handle(probe, target)
        except TimeoutError:
            command = (probe.get("exec") or {}).get("command")
            what = f'command timed out: "{" ".join(command)}"' if command else "no answer:"
            return hooks.HookResult(False, f"{what} timed out after {patience:g}s")
        except Exception as err:  # a bug; the probe has no result but this
            log.exception("probe of %s", target.key)
            return hooks.HookResult(False, str(err))


def _verdict(name: str, ok: bool) -> str:
    if name == "readinessProbe":
        return "ready" if ok else "unready"
    if name == "startupProbe":
        return "started" if ok else "startup"
    return "" if ok else "liveness"
