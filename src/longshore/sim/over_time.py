"""The use of nodes and queues over time, and the number of pods that wait: means of equal slices. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from longshore.sim.chronicle import PodLine, WorkLine

SLICES: Final = 96
"""The number of slices of a simulation; a slice of a day is a quarter of an hour."""
Span = tuple[float, float, float]
"""An amount between two moments: from, to, amount."""


def means(spans: Iterable[Span], began: float, ended: float) -> list[float]:
    """The mean sum of all amounts in each slice between two moments."""
    found = [0.0] * SLICES
    width = max(ended - began, 1e-9) / SLICES
    for start, end, amount in spans:
        first, last = (max(start, began) - began) / width, (min(end, ended) - began) / width
        at = int(first)
        while at < last and at < SLICES:
            found[at] += amount * (min(last, at + 1) - max(first, at))
            at += 1
    return found


def use(pods: Sequence[PodLine], has: dict[str, int], began: float, ended: float) -> list[float]:
    """The requested share of the resource with the largest share, in each slice."""
    asked = {name for line in pods for name in line.requests if has.get(name)}
    shares = [means(_requested(pods, name, has[name], ended), began, ended) for name in sorted(asked)]
    return [max(each) for each in zip(*shares, strict=True)] or [0.0] * SLICES


def _requested(pods: Sequence[PodLine], name: str, whole: int, ended: float) -> Iterator[Span]:
    for line in pods:
        if line.bound is not None and (amount := line.requests.get(name)):
            yield line.bound, line.ended if line.ended is not None else ended, amount / whole


def waiting(works: Iterable[WorkLine], pods: Iterable[PodLine], ended: float) -> Iterator[Span]:
    """A span for each pod without a node, and for each gang without pods, which counts all pods that it will
    have."""
    for line in pods:
        end = line.bound if line.bound is not None else line.ended
        yield line.created, ended if end is None else end, 1.0
    for work in works:
        if work.group:
            end = work.pods[0].created if work.pods else work.ended
            yield work.created, ended if end is None else end, work.completions or 1


def drawn(values: Sequence[float], width: int, whole: float = 1.0) -> str:
    """Values as a line of bars; a full bar means `whole`."""
    bars = " ▁▂▃▄▅▆▇█"
    each = max(len(values) // width, 1)
    found = [max(values[at : at + each]) / (whole or 1.0) for at in range(0, len(values), each)]
    return "".join(bars[0 if share <= 0 else min(8, 1 + int(share * 7.999))] for share in found)
