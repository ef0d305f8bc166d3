"""The metrics of the server, under upstream's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

from longshore.api.metrics import Labels, Registry

if TYPE_CHECKING:
    from longshore.apiserver.request.call import Call
    from longshore.store import Store

_BUCKETS: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
_LABELS: Final = ("verb", "group", "version", "resource", "subresource", "scope")


class Collector(Protocol):
    """A collector as prometheus_client defines it."""

    def collect(self) -> Iterable[Any]: ...


class Metrics:
    """Counters of one server."""

    def __init__(self, store: Store) -> None:
        self._registry = registry = Registry()
        self._requests = registry.counter(
            "apiserver_request_total", "Requests answered, by verb, resource and code.", (*_LABELS, "code")
        )
        self._durations = registry.histogram(
            "apiserver_request_duration_seconds",
            "Seconds from a request's arrival to its answer.",
            _LABELS,
            _BUCKETS,
        )
        self._running = registry.gauge("apiserver_longrunning_requests", "Watches open right now.", _LABELS)
        objects = registry.gauge("apiserver_storage_objects", "Objects stored, by resource.", ("resource",))
        objects.ask_all(lambda: {(storage,): count for storage, count in store.counts().items()})
        for name in ("commits", "writes", "bytes", "failed_commits", "compacted_rows"):
            counter = registry.counter(f"longshore_store_{name}_total", f"Of the store's journal: {name}.")
            # mypy infers no type for a lambda with a default, which keeps each its own name.
            counter.ask(lambda name=name: getattr(store.counters, name))  # type: ignore[misc]

    def finished(self, call: Call, code: int, seconds: float) -> None:
        """Counts one answered request."""
        labels = _labels(call)
        self._requests.inc(*labels, str(code))
        self._durations.observe(seconds, *labels)

    def watching(self, call: Call, change: int) -> None:
        """Counts a watch that begins (+1) or ends (-1)."""
        self._running.add(change, *_labels(call))

    def text(self, others: Iterable[Collector] = ()) -> bytes:
        """The metrics in Prometheus' text format, including those of `others`."""
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

        registry = CollectorRegistry()
        for collector in (self._registry, *others):
            registry.register(collector)
        ProcessCollector(registry=registry)
        return generate_latest(registry)


def _labels(call: Call) -> Labels:
    row = call.resource
    scope = "resource" if call.name else "namespace" if call.namespace else "cluster"
    return (call.verb.upper(), row.group, row.version, row.plural, call.subresource, scope)
