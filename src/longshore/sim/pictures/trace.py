"""A result as a trace of the format that Perfetto and chrome://tracing open: nodes with lanes of pods."""

from __future__ import annotations

import heapq

from longshore.api.types import Obj
from longshore.sim.sim_result import Result

_MICROS_PER_SECOND = 1e6


def of(result: Result) -> Obj:
    numbers = {node.name: number for number, node in enumerate(result.nodes, 1)}
    events: list[Obj] = [
        {"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}}
        for name, number in numbers.items()
    ]
    lanes: dict[str, list[tuple[float, int]]] = {}
    ready = (bar for bar in result.bars if bar.started is not None and bar.node in numbers)
    for bar in sorted(ready, key=lambda each: (each.started or 0.0, each.name)):
        start, end = bar.started or 0.0, result.seconds if bar.ended is None else bar.ended
        free = lanes.setdefault(bar.node, [])
        if free and free[0][0] <= start:
            _, lane = heapq.heappop(free)
        else:
            lane = len(free) + 1
        heapq.heappush(free, (end, lane))
        events.append(
            {
                "ph": "X",
                "name": bar.name,
                "cat": bar.work or "pod",
                "pid": numbers[bar.node],
                "tid": lane,
                "ts": start * _MICROS_PER_SECOND,
                "dur": (end - start) * _MICROS_PER_SECOND,
                "args": {
                    "result": bar.result or "running",
                    "exitCode": bar.code,
                    "waited": start - bar.created,
                },
            }
        )
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"seed": result.seed, "start": result.start},
    }
