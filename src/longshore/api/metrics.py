"""Counters, gauges and histograms. Counting is a dictionary update; text is made on scrape.

`Registry` is a collector in prometheus_client's sense, so it can be shown together with others; that library
is only imported when the text is made.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

Labels = tuple[str, ...]


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds of buckets, as in upstream's histograms."""
    return tuple(start * factor**n for n in range(count))


class Counter:
    """A number per set of label values that only grows, counted here or computed on scrape."""

    __slots__ = ("_asked", "_values", "help", "labels", "name")

    def __init__(self, name: str, help: str, labels: Labels) -> None:
        self.name, self.help, self.labels = name, help, labels
        self._values: dict[Labels, float] = {}
        self._asked: Callable[[], float] | None = None

    def inc(self, *values: str, by: float = 1) -> None:
        """Adds to the counter. `values` are in the order of the labels."""
        self._values[values] = self._values.get(values, 0) + by

    def ask(self, function: Callable[[], float]) -> None:
        """Computes the number by `function`, without labels, on each scrape."""
        self._asked = function

    def value(self, *values: str) -> float:
        return self._values.get(values, 0)

    def remove(self, *values: str) -> None:
        """Drops the series of these label values: their subject is gone."""
        self._values.pop(values, None)

    def family(self) -> Any:
        from prometheus_client.core import CounterMetricFamily, UnknownMetricFamily

        # The library would append `_total` to the name of a counter without it.
        kind = CounterMetricFamily if self.name.endswith("_total") else UnknownMetricFamily
        family = kind(self.name, self.help, labels=self.labels)
        numbers = self._values if self._asked is None else {(): self._asked()}
        for values, number in numbers.items():
            family.add_metric(values, number)
        return family


class Gauge:
    """A number per set of label values, set when it changes or computed on scrape."""

    __slots__ = ("_asked", "_asked_all", "_values", "help", "labels", "name")

    def __init__(self, name: str, help: str, labels: Labels) -> None:
        self.name, self.help, self.labels = name, help, labels
        self._values: dict[Labels, float] = {}
        self._asked: dict[Labels, Callable[[], float]] = {}
        self._asked_all: Callable[[], Mapping[Labels, float]] | None = None

    def set(self, number: float, *values: str) -> None:
        self._values[values] = number

    def ask(self, function: Callable[[], float], *values: str) -> None:
        """Computes the number of these label values by `function` on each scrape."""
        self._asked[values] = function

    def ask_all(self, function: Callable[[], Mapping[Labels, float]]) -> None:
        """Computes all numbers, by their label values, by `function` on each scrape."""
        self._asked_all = function

    def add(self, change: float, *values: str) -> None:
        self._values[values] = self._values.get(values, 0) + change

    def value(self, *values: str) -> float:
        return self._asked[values]() if values in self._asked else self._values.get(values, 0)

    def remove(self, *values: str) -> None:
        """Drops the series of these label values: their subject is gone."""
        self._values.pop(values, None)
        self._asked.pop(values, None)

    def family(self) -> Any:
        from prometheus_client.core import GaugeMetricFamily

        family = GaugeMetricFamily(self.name, self.help, labels=self.labels)
        for values in self._values | self._asked:
            family.add_metric(values, self.value(*values))
        for values, number in (self._asked_all() if self._asked_all is not None else {}).items():
            family.add_metric(values, number)
        return family


class Histogram:
    """The number of observations below each bound, per set of label values."""

    __slots__ = ("_bounds", "_seen", "help", "labels", "name")

    def __init__(self, name: str, help: str, labels: Labels, buckets: tuple[float, ...]) -> None:
        self.name, self.help, self.labels, self._bounds = name, help, labels, buckets
        self._seen: dict[Labels, tuple[list[int], list[float]]] = {}

    def observe(self, number: float, *values: str) -> None:
        seen = self._seen.get(values)
        if seen is None:
            seen = self._seen[values] = [0] * (len(self._bounds) + 1), [0.0]
        seen[0][bisect_left(self._bounds, number)] += 1
        seen[1][0] += number

    def count(self, *values: str) -> int:
        return sum(self._seen[values][0]) if values in self._seen else 0

    def family(self) -> Any:
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(self.name, self.help, labels=self.labels)
        bounds = (*(f"{bound:g}" for bound in self._bounds), "+Inf")
        for values, (counts, total) in self._seen.items():
            so_far, buckets = 0, []
            for bound, count in zip(bounds, counts, strict=True):
                so_far += count
                buckets.append((bound, so_far))
            family.add_metric(values, buckets, total[0])
        return family


class _Metric(Protocol):
    name: str

    def family(self) -> Any: ...


M = TypeVar("M", bound=_Metric)


class Registry:
    """Metrics of one server, or of one process's controllers. Asking twice for a name gives one metric."""

    def __init__(self) -> None:
        self._metrics: dict[str, _Metric] = {}

    def counter(self, name: str, help: str, labels: Labels = ()) -> Counter:
        return self._get(name, Counter, lambda: Counter(name, help, labels))

    def gauge(self, name: str, help: str, labels: Labels = ()) -> Gauge:
        return self._get(name, Gauge, lambda: Gauge(name, help, labels))

    def histogram(self, name: str, help: str, labels: Labels, buckets: tuple[float, ...]) -> Histogram:
        return self._get(name, Histogram, lambda: Histogram(name, help, labels, buckets))

    def _get(self, name: str, kind: type[M], make: Callable[[], M]) -> M:
        metric = self._metrics.setdefault(name, make())
        if not isinstance(metric, kind):
            raise ValueError(f"metric {name!r} is a {type(metric).__name__} already")
        return metric

    def collect(self) -> Iterator[Any]:
        """Called by prometheus_client on scrape."""
        for metric in self._metrics.values():
            yield metric.family()

    def text(self) -> bytes:
        """The exposition in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)
