"""Many simulations of one question: over seeds, for percentiles, and over values, for what-if. Pure."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from longshore.api.types import Obj
from longshore.sim.sim_result import SimResult

_KINDS = {"cronjob": "CronJob", "job": "Job", "node": "Node", "queue": "Queue", "vcjob": "Job"}
_FIXED: Final = ("apiVersion", "kind", "metadata")
_TEXTS: Final = (("metadata", "name"), ("metadata", "namespace"))


class FieldChange(NamedTuple):
    """`job/x.spec.parallelism=8,16`: a field of an object, and the values to try."""

    kind: str
    name: str
    path: tuple[str, ...]
    values: tuple[Any, ...]


class Variant(NamedTuple):
    """One choice of values, in words, and the objects with them."""

    words: str
    objects: list[Obj]
    nodes: Sequence[Obj] = ()

    def on(self, nodes: Sequence[Obj]) -> Variant:
        """This variant on these nodes; their number becomes part of its words."""
        many = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        return Variant(f"{self.words}, {many}" if self.words else many, self.objects, nodes)


class Spread(msgspec.Struct):
    """How long one piece of work takes over many seeds, in seconds from its queuing to its end."""

    name: str
    p50: float | None
    p95: float | None
    completes: float
    """The share of runs that complete, of those in which the work exists."""


def change(text: str) -> FieldChange:
    """Parses a change. Raises ValueError with what is wrong."""
    target, equals, values = text.partition("=")
    reference, dot, path = target.partition(".")
    kind, slash, name = reference.partition("/")
    parts = tuple(path.split("."))
    if not (equals and dot and slash and name and all(parts)) or kind not in _KINDS:
        raise ValueError(
            f"--set {text!r}: write KIND/NAME.PATH=VALUE, such as job/report.spec.parallelism=8,16"
        )
    if path in _FIXED:
        raise ValueError(f"--set {text!r}: {path} stays as it is; set a field of spec, status or metadata")
    return FieldChange(kind, name, parts, tuple(_value(each, text) for each in values.split(",")))


def _value(each: str, text: str) -> Any:
    """A value in YAML. Schedules that begin with a character of YAML's own are texts."""
    if each.startswith(("*", "@")):
        return each
    try:
        return yaml.safe_load(each)
    except (yaml.YAMLError, ValueError):
        raise ValueError(f"--set {text!r}: {each!r} is no value in YAML, such as 8 or text") from None


def variants(objects: Sequence[Obj], changes: Sequence[FieldChange]) -> Iterator[Variant]:
    """Yields a variant for every combination of values; without changes, a single variant with empty
    `words`."""
    for chosen in itertools.product(*(each.values for each in changes)):
        changed = copy.deepcopy([*objects])
        for one, value in zip(changes, chosen, strict=True):
            _set(changed, one, value)
        words = ", ".join(f"{_spoken(one)}={value}" for one, value in zip(changes, chosen, strict=True))
        yield Variant(words, changed)


def _set(objects: list[Obj], one: FieldChange, value: Any) -> None:
    found = next((obj for obj in objects if _is_meant(obj, one)), None)
    if found is None:
        raise ValueError(f"--set: there is no {one.kind}/{one.name} among the manifests")
    if one.path in _TEXTS and not isinstance(value, str):
        raise ValueError(f"--set {_spoken(one)}: {value!r} is no text: quote it")
    place: Any = found
    for number, part in enumerate(one.path[:-1]):
        key = _key(place, part, one, number)
        if isinstance(place, dict) and place.get(key) is None:
            place[key] = {}
        place = place[key]
    place[_key(place, one.path[-1], one, len(one.path) - 1)] = value


def _is_meant(obj: Obj, one: FieldChange) -> bool:
    is_volcano = obj["apiVersion"].startswith("batch.volcano.sh/")
    of_group = one.kind == "cronjob" or is_volcano == (one.kind == "vcjob")
    return of_group and (obj["kind"], obj["metadata"].get("name")) == (_KINDS[one.kind], one.name)


def _key(place: Any, part: str, one: FieldChange, number: int) -> str | int:
    """The key of a mapping, or the number of an item, by its part of a path."""
    if isinstance(place, dict):
        return part
    before = ".".join(one.path[:number])
    if not isinstance(place, list):
        raise ValueError(f"--set {_spoken(one)}: {before} is {place!r}, and has no field {part!r}")
    try:
        index = int(part)
        place[index]
    except (ValueError, IndexError):
        text = f"{before} is a list of {len(place)}, and has no item {part!r}; the first is 0"
        raise ValueError(f"--set {_spoken(one)}: {text}") from None
    return index


def _spoken(one: FieldChange) -> str:
    return f"{one.kind}/{one.name}.{'.'.join(one.path)}"


def spreads(results: Sequence[SimResult]) -> list[Spread]:
    """The spread of each Job over results, and of all runs of a CronJob together."""
    lengths: dict[str, list[float]] = {}
    ends: dict[str, list[bool]] = {}
    for result in results:
        for row in result.jobs:
            name = row.owner or row.name
            ends.setdefault(name, []).append(row.result == "complete")
            if row.ended is not None:
                lengths.setdefault(name, []).append(row.ended - row.queued)
    return [
        Spread(
            name,
            percentile(lengths.get(name, []), 0.5),
            percentile(lengths.get(name, []), 0.95),
            sum(each) / len(each),
        )
        for name, each in ends.items()
    ]


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of all values does not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]
