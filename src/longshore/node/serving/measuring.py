"""The usage of pods and the machine: CPU between two questions, memory at the second. Unasked it is idle."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from longshore.api.usage import Measured, Used
from longshore.machinery.time.clock import Clock
from longshore.node.runtime import Key, Usage
from longshore.node.serving.followed_engine import Watched

_MIN_INTERVAL_SECONDS: Final = 1.0
"""Asked again sooner, the last answer is good enough; over less time rates are dice."""
_PROC: Final = Path("/proc")


class Meter:
    """Of a container that was not measured before, the CPU since its start is taken."""

    def __init__(self, engines: Sequence[Watched], clock: Clock) -> None:
        self._engines, self._clock = engines, clock
        self._at = clock.monotonic()
        self._machine = machine_seconds()
        self._cpu: dict[Key, float] = {}
        self._last: Measured | None = None

    async def measure(self) -> Measured:
        now = self._clock.monotonic()
        window = now - self._at
        if self._last is not None and window < _MIN_INTERVAL_SECONDS:
            return self._last
        wall = self._clock.now().timestamp()
        found: dict[Key, Usage] = {}
        pods: dict[str, dict[str, Used]] = {}
        for engine in self._engines:
            states = {state.key: state for state in engine.running.values()}
            for key, usage in (await engine.usage(list(states))).items():
                found[key] = usage
                since = self._cpu.get(key)
                seconds = window if since is not None else wall - states[key].started_at
                cores = max(usage.cpu_seconds - (since or 0.0), 0.0) / max(seconds, 0.001)
                pods.setdefault(key.pod_uid, {})[key.container] = Used(cores, usage.memory)
        machine = machine_seconds()
        cores = (machine - self._machine) / max(window, 0.001)
        self._at, self._machine = now, machine
        self._cpu = {key: usage.cpu_seconds for key, usage in found.items()}
        self._last = Measured(int(wall), window, Used(cores, machine_memory()), pods)
        return self._last


def machine_seconds() -> float:
    """Seconds of CPU that all processors together have worked since the machine started."""
    ticks = [int(text) for text in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, _idle, _waiting, irq, softirq, steal = ticks
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def machine_memory() -> int:
    """Bytes in use that cannot be had back without taking them from somebody."""
    values: Mapping[str, int] = {
        name: int(rest.split()[0]) * 1024
        for name, _, rest in (line.partition(":") for line in (_PROC / "meminfo").read_text().splitlines())
    }
    return values["MemTotal"] - values["MemAvailable"]
