"""Reads how much nodes use from metrics.k8s.io every half minute, while a plugin needs it.

One answer covers some seconds; cycles see means of five minutes. If the server has no such figures, the log
says so once, and nodes without figures are treated as if no plugin used them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.machinery.time.clock import Clock
from longshore.scheduler.amounts import CPU, MEMORY, number
from longshore.scheduler.gang.cycle import Load
from longshore.scheduler.gang.plugins.node_plugins import FRESH_SECONDS

_PATH: Final = "/apis/metrics.k8s.io/v1beta1/nodes"
_PAUSE_SECONDS: Final = 30.0

log = logging.getLogger(__name__)


class NodeFigures:
    """Keeps the measured figures of each node."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._measured: dict[str, deque[Load]] = {}
        self._told = False
        self._wanted = asyncio.Event()

    def want(self, wanted: bool) -> None:
        """Sets whether figures are needed. Without need there is no timer, which spares 120 turns of the loop
        in an hour of virtual time."""
        if wanted:
            self._wanted.set()
        else:
            self._wanted.clear()

    async def run(self, changed: Callable[[], None]) -> None:
        """Reads figures until cancelled, while they are needed; calls `changed` after each answer."""
        while True:
            await self._wanted.wait()
            problem = await self._ask()
            if not problem:
                changed()
            elif not self._told:
                log.warning("no figures of how busy nodes are: %s; usage and rescheduling wait", problem)
            self._told = bool(problem)
            await self._clock.sleep(_PAUSE_SECONDS)

    def loads(self) -> dict[str, Load]:
        """The mean of the last five minutes for each node."""
        return {name: _mean(found) for name, found in self._measured.items()}

    async def _ask(self) -> str:
        """Reads and stores the present figures. Returns why there are none; empty if there are."""
        try:
            answer = await self._client.request("GET", _PATH)
            if answer.code != 200:
                return f"GET {_PATH} was answered with {answer.code}"
            items: list[Obj] = msgspec.json.decode(answer.body)["items"]
        except (Unreachable, msgspec.DecodeError, LookupError) as err:
            return str(err)
        for item in items:
            load = _load(item)
            if load is not None:
                found = self._measured.setdefault(item["metadata"]["name"], deque())
                found.append(load)
                while found[0].at < load.at - FRESH_SECONDS:
                    found.popleft()
        now = self._clock.now().timestamp()
        old = [name for name, found in self._measured.items() if found[-1].at < now - FRESH_SECONDS]
        for name in old:
            del self._measured[name]
        return ""


def _load(item: Obj) -> Load | None:
    used = item.get("usage") or {}
    try:
        return Load(
            number(CPU, used["cpu"]), number(MEMORY, used["memory"]), rfc3339.seconds(item["timestamp"])
        )
    except (LookupError, ValueError):
        return None


def _mean(found: deque[Load]) -> Load:
    count = len(found)
    return Load(
        sum(each.cpu for each in found) // count, sum(each.memory for each in found) // count, found[-1].at
    )
