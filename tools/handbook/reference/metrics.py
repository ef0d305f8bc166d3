"""Every metric: those that a running longshore makes, and those that the code names for processes outside."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from handbook.reference import source
from handbook.reference.markdown import cell, code, page, table
from longshore.api.metrics import Registry
from longshore.apiserver.metrics import Metrics
from longshore.plane import controllers
from longshore.up.options import Options
from longshore.up.running import running


class Metric(NamedTuple):
    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


def found() -> list[Metric]:
    """Sorted by name."""
    made = {metric.name: metric for metric in _of_a_running_longshore()}
    for metric in _named_in_the_code():
        made.setdefault(metric.name, metric)
    return sorted(made.values())


def text() -> str:
    rows = [[code(m.name), m.kind, ", ".join(map(code, m.labels)), cell(m.help)] for m in found()]
    return page(
        "Metrics",
        "`/metrics` of a running longshore has them in Prometheus' text format, for users with that right: "
        "`longshore get --raw /metrics`. Names that Kubernetes and Volcano have too mean the same here.",
        table(("metric", "type", "labels", "meaning"), rows),
    )


def _of_a_running_longshore() -> list[Metric]:
    begin = controllers.start

    async def start_and_stop() -> None:
        async with running(Options(in_memory=True, port=0, node=True)) as longshore:
            Metrics(longshore.api.store)  # which the first connection makes

    # All controllers run from the start, though there is no object for them.
    with _recorded() as metrics, patch.object(controllers, "start", lambda *given, **_: begin(*given)):
        asyncio.run(start_and_stop())
    return [Metric(each.name, type(each).__name__.lower(), each.labels, each.help) for each in metrics]


@contextmanager
def _recorded() -> Iterator[list[Any]]:
    """The metrics that any registry of this process makes meanwhile."""
    metrics: list[Any] = []
    original = Registry._get

    def recording(self: Registry, name: str, kind: Any, make: Any) -> Any:
        metric = original(self, name, kind, make)
        metrics.append(metric)
        return metric

    Registry._get = recording  # type: ignore[method-assign]
    try:
        yield metrics
    finally:
        Registry._get = original  # type: ignore[method-assign]


def _named_in_the_code() -> Iterator[Metric]:
    for module, call in source.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("counter", "gauge", "histogram"):
            name = source.named(module, call.args[0]) if call.args else None
            if name is not None:
                yield Metric(name, call.func.attr, (), source.named(module, call.args[1]) or "")
