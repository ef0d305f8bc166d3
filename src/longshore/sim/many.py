"""Many simulations of one question: over seeds, for percentiles, and over values, for what-if. Pure."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import yaml

from longshore.api.types import Obj
from longshore.sim.sim_result import Result

_KINDS = {"cronjob": "CronJob", "job": "Job", "node": "Node", "queue": "Queue", "vcjob": "Job"}


class Change(NamedTuple):
    """`job/x.spec.parallelism=8,16`: a field of an object, and the values to try."""

    kind: str
    name: str
    path: tuple[str, ...]
    values: tuple[Any, ...]


class Variant(NamedTuple):
    """One choice of values, in words, and the objects with them."""

    words: str
    objects: list[Obj]


class Spread(msgspec.Struct):
    """How long one piece of work takes over many seeds, in seconds from its queuing to its end."""

    name: str
    p50: float | None
    p95: float | None
    completes: float
    """Of the runs in which it exists."""


def change(text: str) -> Change:
    """Raises ValueError with what is wrong."""
    target, equals, values = text.partition("=")
    reference, dot, path = target.partition(".")
    kind, slash, name = reference.partition("/")
    if not (equals and dot and slash and name and path) or kind not in _KINDS:
        raise ValueError(
            f"--set {text!r}: write KIND/NAME.PATH=VALUE, such as job/report.spec.parallelism=8,16"
        )
    return Change(
        kind, name, tuple(path.split(".")), tuple(yaml.safe_load(each) for each in values.split(","))
    )


def variants(objects: Sequence[Obj], changes: Sequence[Change]) -> Iterator[Variant]:
    """Every combination of values; one without words where nothing is changed."""
    for chosen in itertools.product(*(each.values for each in changes)):
        changed = copy.deepcopy([*objects])
        for one, value in zip(changes, chosen, strict=True):
            _set(changed, one, value)
        words = ", ".join(
            f"{one.kind}/{one.name}.{'.'.join(one.path)}={value}"
            for one, value in zip(changes, chosen, strict=True)
        )
        yield Variant(words, changed)


def _set(objects: list[Obj], one: Change, value: Any) -> None:
    for obj in objects:
        is_gang = obj["apiVersion"].startswith("batch.volcano.sh/")
        if (
            obj["kind"] == _KINDS[one.kind]
            and is_gang == (one.kind == "vcjob")
            and obj["metadata"]["name"] == one.name
        ):
            place: Any = obj
            for part in one.path[:-1]:
                place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
            if isinstance(place, list):
                place[int(one.path[-1])] = value
            else:
                place[one.path[-1]] = value
            return
    raise ValueError(f"--set: there is no {one.kind}/{one.name} among the manifests")


def spreads(results: Sequence[Result], owner_of: Callable[[str, str], str]) -> list[Spread]:
    """The spread of each Job over results, and of all runs of a CronJob together."""
    lengths: dict[str, list[float]] = {}
    ends: dict[str, list[bool]] = {}
    for result in results:
        for row in result.jobs:
            name = owner_of(row.owner, row.name)
            ends.setdefault(name, []).append(row.result == "complete")
            if row.ended is not None:
                lengths.setdefault(name, []).append(row.ended - row.queued)
    return [
        Spread(
            name, percentile(lengths.get(name, []), 0.5), percentile(lengths.get(name, []), 0.95), _mean(each)
        )
        for name, each in ends.items()
    ]


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that so large a share of all does not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def _mean(found: Sequence[bool]) -> float:
    return sum(found) / len(found)
