"""What the server counts, under upstream's names. Counting is a dict update; text is made on scrape."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from longshore.apiserver.request.call import Call
    from longshore.store import Store

_BUCKETS: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
_LABELS: Final = ("verb", "group", "version", "resource", "subresource", "scope")

Labels = tuple[str, ...]


class Collector(Protocol):
    """In prometheus_client's sense."""

    def collect(self) -> Iterable[Any]: ...


@dataclass(slots=True)
class _Durations:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS) + 1))
    total: float = 0.0


class Metrics:
    """Counters of one server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._requests: dict[tuple[Labels, int], int] = {}
        self._durations: dict[Labels, _Durations] = {}
        self._running: dict[Labels, int] = {}

    def finished(self, call: Call, code: int, seconds: float) -> None:
        """Counts one answered request."""
        labels = _labels(call)
        key = (labels, code)
        self._requests[key] = self._requests.get(key, 0) + 1
        durations = self._durations.get(labels)
        if durations is None:
            durations = self._durations[labels] = _Durations()
        durations.buckets[bisect_left(_BUCKETS, seconds)] += 1
        durations.total += seconds

    def watching(self, call: Call, change: int) -> None:
        """Counts a watch that begins (+1) or ends (-1)."""
        labels = _labels(call)
        self._running[labels] = self._running.get(labels, 0) + change

    def text(self, others: Iterable[Collector] = ()) -> bytes:
        """The exposition in Prometheus' text format, with what others collect."""
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

        registry = CollectorRegistry()
        for collector in (self, *others):
            registry.register(collector)
        ProcessCollector(registry=registry)
        return generate_latest(registry)

    def collect(self) -> Iterator[Any]:
        """Called by prometheus_client on scrape."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(
            "apiserver_request", "Requests answered, by verb, resource and code.", labels=(*_LABELS, "code")
        )
        for (labels, code), count in self._requests.items():
            requests.add_metric((*labels, str(code)), count)
        yield requests
        durations = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            "Seconds from a request's arrival to its answer.",
            labels=_LABELS,
        )
        for labels, seen in self._durations.items():
            durations.add_metric(labels, _cumulated(seen), seen.total)
        yield durations
        running = GaugeMetricFamily(
            "apiserver_longrunning_requests", "Watches open right now.", labels=_LABELS
        )
        for labels, count in self._running.items():
            running.add_metric(labels, count)
        yield running
        objects = GaugeMetricFamily(
            "apiserver_storage_objects", "Objects stored, by resource.", labels=("resource",)
        )
        for storage, count in self._store.counts().items():
            objects.add_metric((storage,), count)
        yield objects
        for name in ("commits", "writes", "bytes", "failed_commits", "compacted_rows"):
            value = getattr(self._store.counters, name)
            yield CounterMetricFamily(
                f"longshore_store_{name}", f"Of the store's journal: {name}.", value=value
            )


def _labels(call: Call) -> Labels:
    row = call.resource
    scope = "resource" if call.name else "namespace" if call.namespace else "cluster"
    return (call.verb.upper(), row.group, row.version, row.plural, call.subresource, scope)


def _cumulated(seen: _Durations) -> list[tuple[str, float]]:
    out: list[tuple[str, float]] = []
    so_far = 0
    for bound, count in zip((*map(str, _BUCKETS), "+Inf"), seen.buckets, strict=True):
        so_far += count
        out.append((bound, so_far))
    return out
