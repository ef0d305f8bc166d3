"""What a namespace may hold, and which pods may be evicted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj

pytestmark = pytest.mark.anyio


def pod(name: str, **spec: Any) -> Obj:
    containers = [{"name": "main", "image": "busybox"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


async def _quota(server, **hard: str) -> None:
    keys = {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}
    await server.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": keys}})


async def _used(server) -> dict[str, str]:
    return (await server.get("resourcequotas", "q"))["status"]["used"]


async def test_the_last_place_goes_to_one_of_two_creates_in_the_same_batch(server):
    await _quota(server, pods="1")
    results = await asyncio.gather(
        *(server.create("pods", pod(name)) for name in ("a", "b")), return_exceptions=True
    )
    refused = [r for r in results if isinstance(r, StatusError)]
    assert len(refused) == 1
    assert refused[0].code == 403
    assert refused[0].message == (
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )
    assert await _used(server) == {"pods": "1"}


async def test_deleting_gives_the_place_back(server):
    await _quota(server, pods="1")
    await server.create("pods", pod("a"))
    await server.delete("pods", "a")
    assert await _used(server) == {"pods": "0"}
    await server.create("pods", pod("b"))


async def test_a_new_quota_counts_what_is_there(server):
    await server.create("configmaps", {"metadata": {"name": "x"}})
    await _quota(server, configmaps="5")
    assert await _used(server) == {"configmaps": "1"}


async def test_a_quota_counts_itself_and_those_beside_it(server):
    await _quota(server, resourcequotas="2", count__resourcequotas="9")
    assert await _used(server) == {"resourcequotas": "1", "count/resourcequotas": "1"}
    other = {"metadata": {"name": "other"}, "spec": {"hard": {"pods": "1"}}}
    await server.create("resourcequotas", other)
    assert await _used(server) == {"resourcequotas": "2", "count/resourcequotas": "2"}
    with pytest.raises(StatusError, match="exceeded quota: q, requested: resourcequotas=1"):
        await server.create("resourcequotas", {**other, "metadata": {"name": "third"}})
    await server.delete("resourcequotas", "other")
    assert await _used(server) == {"resourcequotas": "1", "count/resourcequotas": "1"}


async def test_a_status_that_a_client_wrote_is_answered_and_then_put_right(server):
    await _quota(server, configmaps="5")
    wrong = {"status": {"hard": {"configmaps": "9"}, "used": {"configmaps": "7"}}}
    answer = await server.patch("resourcequotas", "q", wrong, subresource="status")
    assert answer["status"] == wrong["status"]
    right = {"hard": {"configmaps": "5"}, "used": {"configmaps": "0"}}
    assert (await server.get("resourcequotas", "q"))["status"] == right


async def test_requests_are_summed_and_must_be_stated(server):
    await _quota(server, requests_cpu="1")
    with pytest.raises(StatusError, match=r"must specify requests\.cpu"):
        await server.create("pods", pod("a"))
    half = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "600m"}}}]
    await server.create("pods", pod("a", containers=half))
    with pytest.raises(StatusError, match=r"requested: requests\.cpu=600m, used: requests\.cpu=600m"):
        await server.create("pods", pod("b", containers=half))


async def test_a_dry_run_neither_creates_nor_counts(server):
    await _quota(server, pods="1")
    await server.create("pods", pod("a"), dryRun="All")
    assert await server.names("pods") == []
    assert await _used(server) == {"pods": "0"}


READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


async def budgeted(server, status, **spec):
    """A budget for one of two running pods, p1 and p2."""
    budget = {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}, **spec},
    }
    await server.create("poddisruptionbudgets", budget, group="policy")
    await server.patch("poddisruptionbudgets", "b", {"status": status}, group="policy", subresource="status")
    for name in ("p1", "p2"):
        body = pod(name, nodeName="n")
        body["metadata"]["labels"] = {"app": "x"}
        await server.create("pods", body)
        await server.patch("pods", name, {"status": READY}, subresource="status")


async def evict(server, name):
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await server.create("pods", eviction, name=name, subresource="eviction")


async def refused_eviction(server, name):
    with pytest.raises(StatusError) as refused:
        await evict(server, name)
    assert "deletionTimestamp" not in (await server.get("pods", name))["metadata"]
    assert refused.value.code == 429
    assert refused.value.has_cause("DisruptionBudget")
    return refused.value


async def test_eviction_spends_the_budget_and_then_waits(server):
    status = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    await budgeted(server, status)
    await evict(server, "p1")
    gone = await server.get("pods", "p1")
    assert gone["metadata"]["deletionGracePeriodSeconds"] == 30
    assert gone["status"]["conditions"][-1]["type"] == "DisruptionTarget"
    refusal = await refused_eviction(server, "p2")
    assert refusal.retry_after is None
    assert refusal.details["causes"][0]["message"] == (
        "The disruption budget b needs 1 healthy pods and has 2 currently"
    )


async def test_eviction_waits_until_the_budget_has_been_counted(server):
    await budgeted(server, {"disruptionsAllowed": 1})
    refusal = await refused_eviction(server, "p1")
    assert refusal.retry_after == 10
    assert refusal.details["causes"][0]["message"] == (
        "The disruption budget b is still being processed by the server."
    )


@pytest.mark.parametrize(
    ("status", "spec"),
    [
        ({"currentHealthy": 1, "desiredHealthy": 1}, {}),
        ({"currentHealthy": 0, "desiredHealthy": 1}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}),
    ],
)
async def test_eviction_of_a_pod_that_is_not_ready_costs_nothing(server, status, spec):
    await budgeted(server, {"observedGeneration": 1, **status}, **spec)
    await refused_eviction(server, "p1")
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    await server.patch("pods", "p1", unready, subresource="status")
    await evict(server, "p1")
    assert "deletionTimestamp" in (await server.get("pods", "p1"))["metadata"]
