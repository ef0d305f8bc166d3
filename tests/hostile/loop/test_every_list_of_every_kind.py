"""Every kind × every list or map field with 10,000 entries: the work grows no faster than their number.

A list that several kinds share (containers of a pod, of a Job, of a CronJob) is filled to 10,000 in the first
and to 2,000 in the others. `make test-hostile` runs this; it takes about two minutes of two cores.
"""

from __future__ import annotations

import copy
import itertools
import json
import os
from collections.abc import Iterator
from typing import Any, Final

import pytest

from apiserver.fuzz.seeds import Seed, own_seeds, path_of
from longshore.api import schema
from longshore.api.schema import Type
from support import growth
from support.api_in_memory import Server

Path = tuple[str | int, ...]
_MAX_DEPTH: Final = 9
_ANY_KEY: Final = "k"
_NAMING: Final = frozenset(
    [
        "name",
        "key",
        "kind",
        "apiVersion",
        "uid",
        "ip",
        "port",
        "containerPort",
        "mountPath",
        "devicePath",
        "image",
        "type",
        "topologyKey",
        "action",
        "event",
    ]
)
"""Fields that tell entries of a list apart, and are filled in even where they need not be."""
_SPECIAL: Final[dict[str, Any]] = {
    "Time": "2024-01-01T00:00:00Z",
    "MicroTime": "2024-01-01T00:00:00.000000Z",
    "Quantity": "1",
    "Duration": "1s",
    "Verbs": ["get"],
}


def fields_of(message: str) -> Iterator[tuple[Path, Type, str]]:
    """Each list and map that a message can have: where, of which type, and by which message declared."""
    yield from _fields(message, (), ())


def _fields(message: str, at: Path, seen: tuple[str, ...]) -> Iterator[tuple[Path, Type, str]]:
    if len(seen) > _MAX_DEPTH:
        return
    for name, field in schema.message(message).fields.items():
        kind, here = field.type, (*at, name)
        if kind.kind in ("list", "map"):
            yield here, kind, f"{message}.{name}"
            here = (*here, 0 if kind.kind == "list" else _ANY_KEY)
            kind = kind.items
        if kind.kind == "message" and kind.name not in seen:
            yield from _fields(kind.name, here, (*seen, kind.name))


def body(seed: Seed, path: Path, kind: Type, count: int, *, alike: bool) -> bytes:
    """The seed's object with so many entries at a place, all different or all alike."""
    obj: Any = copy.deepcopy(seed.obj)
    obj["metadata"] = {**obj["metadata"], "generateName": "x-"}
    del obj["metadata"]["name"]
    entries = (_value(kind.items, 0 if alike else i) for i in range(count))
    filled = list(entries) if kind.kind == "list" else {f"k{i}": entry for i, entry in enumerate(entries)}
    node = obj
    for step, following in itertools.pairwise(path):
        empty: Any = [] if following == 0 else {}
        if step == 0:
            node.append(empty) if not node else None
            node = node[0]
        elif step == _ANY_KEY and node:
            node = next(iter(node.values()))
        else:
            node[step] = node.get(step) or empty
            node = node[step]
    node[path[-1]] = filled
    return json.dumps(obj).encode()


def _value(kind: Type, number: int) -> Any:
    if kind.kind == "scalar":
        return {"string": f"a{number}", "bool": True, "bytes": "AAEC"}.get(kind.name, number + 1)
    if kind.kind == "special":
        return number + 1 if kind.name == "IntOrString" else _SPECIAL.get(kind.name, {})
    if kind.kind == "list":
        return [_value(kind.items, number)]
    if kind.kind == "map":
        return {f"a{number}": _value(kind.items, number)}
    out: dict[str, Any] = {}
    for name, field in schema.message(kind.name).fields.items():
        if field.type.kind == "scalar" and (field.required or name in _NAMING):
            out[name] = field.enum[0] if field.enum else _value(field.type, number)
        elif name == "controller":
            out[name] = True
    return out


# ---- tests

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif("LONGSHORE_TEST_HOSTILE" not in os.environ, reason="make test-hostile runs it"),
]
SEEDS = [seed for seed in own_seeds() if seed.resource.message]
_seen: set[str] = set()


@pytest.mark.parametrize("seed", SEEDS, ids=[f"{s.resource.group_version} {s.resource.kind}" for s in SEEDS])
async def test_entries_cost_no_more_than_their_number(server: Server, seed: Seed) -> None:
    slow = []
    for path, kind, declared in fields_of(seed.resource.message):
        first = declared not in _seen
        _seen.add(declared)
        for alike in (False, True) if first else (False,):

            def work(count: int) -> object:
                raw = body(seed, path, kind, count, alike=alike)  # noqa: B023 - called at once
                return lambda: server.send("POST", path_of(seed.resource), raw)

            ratio = await growth.ratio(work, 10_000 if first else 2_000)  # type: ignore[arg-type]
            if ratio >= growth.MAX_RATIO:
                slow.append(f"{'.'.join(map(str, path))}{' alike' if alike else ''}: {ratio:.0f} times")
    assert not slow
