"""Every kind × every list or map field with 10,000 entries: the work grows no faster than their number.

A list that several kinds share (containers of a pod, of a Job, of a CronJob) is filled to 10,000 in the first
and to 2,000 in the others. `make test-hostile` runs this; it takes about two minutes of two cores.
"""

from __future__ import annotations

import os

import pytest

from apiserver.fuzz.seeds import Seed, own_seeds, path_of
from hostile.loop import list_fields
from support import growth
from support.api_in_memory import Server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif("LONGSHORE_TEST_HOSTILE" not in os.environ, reason="make test-hostile runs it"),
]
SEEDS = [seed for seed in own_seeds() if seed.resource.message]
_seen: set[str] = set()


@pytest.mark.parametrize("seed", SEEDS, ids=[f"{s.resource.group_version} {s.resource.kind}" for s in SEEDS])
async def test_entries_cost_no_more_than_their_number(server: Server, seed: Seed) -> None:
    slow = []
    for path, kind, declared in list_fields.fields_of(seed.resource.message):
        first = declared not in _seen
        _seen.add(declared)
        for alike in (False, True) if first else (False,):

            def work(count: int) -> object:
                raw = list_fields.body(seed, path, kind, count, alike=alike)  # noqa: B023 - called at once
                return lambda: server.send("POST", path_of(seed.resource), raw)

            ratio = await growth.ratio(work, 10_000 if first else 2_000)  # type: ignore[arg-type]
            if ratio >= growth.MAX_RATIO:
                slow.append(f"{'.'.join(map(str, path))}{' alike' if alike else ''}: {ratio:.0f} times")
    assert not slow
