"""Objects to which nothing more happens take no room in a cache beside the store."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api.facts import kinds, settled_objects
from longshore.api.types import Obj
from longshore.machinery.informers.informer import Informer
from longshore.machinery.informers.reflector import Selection
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from machinery.control_plane import PODS, api, pod

OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
OWNED: Obj = {"name": "a", "ownerReferences": [OWNER]}
GANG = {**OWNER, "apiVersion": "batch.volcano.sh/v1alpha1"}


@pytest.mark.parametrize(
    ("metadata", "phase", "has_settled"),
    [
        (OWNED, "Succeeded", True),
        (OWNED, "Running", False),
        (OWNED, "Failed", False),
        ({**OWNED, "finalizers": ["batch.kubernetes.io/job-tracking"]}, "Succeeded", False),
        ({**OWNED, "deletionTimestamp": "2026-11-15T12:00:00Z"}, "Succeeded", False),
        ({"name": "a"}, "Succeeded", False),
        ({"name": "a", "ownerReferences": [GANG]}, "Succeeded", False),
    ],
)
def test_a_pod_has_settled_once_its_job_has_counted_that_it_succeeded(
    metadata: Obj, phase: str, has_settled: bool
) -> None:
    assert (
        settled_objects.RULES[kinds.PODS]({"metadata": metadata, "status": {"phase": phase}}) is has_settled
    )


@pytest.mark.parametrize(
    ("job", "has_settled"),
    [
        ({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, True),
        ({"status": {"conditions": [{"type": "Failed", "status": "True"}]}}, True),
        ({"status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}}, False),
        ({}, False),
    ],
)
def test_a_job_has_settled_once_it_has_ended(job: Any, has_settled: bool) -> None:
    assert settled_objects.RULES[kinds.JOBS]({"metadata": {"name": "j"}, **job}) is has_settled
    assert not settled_objects.RULES[kinds.JOBS]({"metadata": {"name": "j", "finalizers": ["orphan"]}, **job})


def test_a_settled_pod_is_held_by_the_store_alone_until_it_changes() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            informer = Informer(client, Selection(PODS, "ns"), clock=clock, rng=clock.rng)
            async with beside(informer.run()):
                await informer.synced()
                made = pod("a")
                made["metadata"]["ownerReferences"] = [OWNER]
                await client.create(PODS, made, "ns")
                await client.create(PODS, pod("b"), "ns")
                ended: Obj = {}
                for name in ("a", "b"):
                    ended[name] = await client.patch(
                        PODS, name, {"status": {"phase": "Succeeded"}}, "ns", subresource="status"
                    )
                await clock.sleep(0.1)
                assert informer.cache.get("ns", "a") == ended["a"]
                assert informer.cache.unpacked("ns") == [ended["b"]]
                marked = await client.patch(PODS, "a", {"metadata": {"finalizers": ["example.com/x"]}}, "ns")
                await clock.sleep(0.1)
                assert informer.cache.get("ns", "a") == marked
                assert informer.cache.unpacked("ns") == [marked, ended["b"]]

    virtual.run(main)
