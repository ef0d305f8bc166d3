"""Queues that are refused: what they say of themselves, and of their place in the tree."""

from __future__ import annotations

from typing import Any

import pytest

from support.api_in_memory import Server
from support.volcano_manifests import MERGE, QUEUES, created, denied, queue
from support.volcano_queues import open_queue, set_state

pytestmark = pytest.mark.anyio

HIERARCHY, WEIGHTS = "volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"


async def test_a_queue_may_be_reclaimed_and_weighs_one(server: Server) -> None:
    made = await created(server, QUEUES, queue("q", {HIERARCHY: "a/b", WEIGHTS: "2/3"}))
    assert made["spec"] == {"reclaimable": True, "weight": 1, "dequeueStrategy": "traverse"}
    assert made["metadata"]["annotations"] == {HIERARCHY: "root/a/b", WEIGHTS: "1/2/3"}
    assert (await created(server, QUEUES, queue("r", reclaimable=False)))["spec"]["reclaimable"] is False


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"capability": {"cpu": "-1"}},
         'requestBody.spec.capability.cpu: Invalid value: "-1": must be greater than or equal to 0'),
        ({"deserved": {"cpu": 1}, "guarantee": {"resource": {"cpu": 2}}},
         'requestBody.spec.deserved.cpu: Invalid value: "1": '
         "deserved[cpu]=1 must be >= guarantee[cpu]=2"),
        ({"guarantee": {"resource": {"cpu": 2}}},
         'requestBody.spec.deserved.cpu: Invalid value: "<nil>": deserved[cpu] must be >= guarantee[cpu]=2'),
        ({"deserved": {"cpu": 5}, "capability": {"cpu": 2}},
         'requestBody.spec.deserved.cpu: Invalid value: "5": '
         "deserved[cpu]=5 must be <= capability[cpu]=2"),
        ({"capability": {"cpu": "-1", "memory": "-1"}},
         '[requestBody.spec.capability.cpu: Invalid value: "-1": must be greater than or equal to 0, '
         'requestBody.spec.capability.memory: Invalid value: "-1": must be greater than or equal to 0]'),
        ({"parent": "x"}, "queue x cannot use itself as parent"),
        ({"parent": "none"},
         'failed to get parent queue none of queue x: queue.scheduling.volcano.sh "none" not found'),
    ],
)  # fmt: skip
async def test_a_bad_queue_is_told_what_is_wrong(server: Server, spec: dict[str, Any], why: str) -> None:
    assert denied(await server.send("POST", QUEUES, queue("x", **spec)), "validatequeue") == why


async def test_an_amount_that_is_none_is_refused_before_the_schema(server: Server) -> None:
    text = denied(await server.send("POST", QUEUES, queue("x", capability={"cpu": "lots"})), "mutatequeue")
    assert text.startswith("quantities must match the regular expression")


@pytest.mark.parametrize(
    ("path", "weights", "why"),
    [
        ("root/a", "1", f'"root/a": {HIERARCHY} must have the same length with {WEIGHTS}'),
        ("root/a", "1/x",
         '"1/x": x in the 1/x is invalid number: strconv.ParseFloat: parsing "x": invalid syntax'),
        ("root/a", "1/0", '"1/0": 0 in the 1/0 must be larger than 0'),
        ("root/sci", "1/2",
         '"root/sci": root/sci is not allowed to be in the sub path of root/sci/dev of queue deep'),
    ],
)  # fmt: skip
async def test_paths_and_weights_must_fit(server: Server, path: str, weights: str, why: str) -> None:
    await created(server, QUEUES, queue("deep", {HIERARCHY: "root/sci/dev", WEIGHTS: "1/1/1"}))
    await created(server, QUEUES, queue("near", {HIERARCHY: "root/science", WEIGHTS: "1/1"}))
    body = queue("x", {HIERARCHY: path, WEIGHTS: weights})
    text = denied(await server.send("POST", QUEUES, body), "validatequeue")
    assert text == f"requestBody.metadata.annotations: Invalid value: {why}"


async def test_children_share_what_their_parent_has(server: Server) -> None:
    parent = {"capability": {"cpu": 10}, "deserved": {"cpu": 8}, "guarantee": {"resource": {"cpu": 4}}}
    await created(server, QUEUES, queue("p", **parent))
    child = {"capability": {"cpu": 6}, "deserved": {"cpu": 2}, "guarantee": {"resource": {"cpu": 2}}}
    await created(server, QUEUES, queue("c", parent="p", **child))

    async def refused(**spec: Any) -> str:
        return denied(await server.send("POST", QUEUES, queue("x", parent="p", **spec)), "validatequeue")

    assert await refused(capability={"cpu": 20}) == (
        "queue x capability[cpu]=20 exceeds its ancestor's capability=10"
    )
    assert await refused(deserved={"cpu": 7}) == (
        "parent queue p validation failed: sum of children's deserved (cpu 9000.00, memory 0.00) exceeds "
        "parent's deserved limit (cpu 8000.00, memory 0.00)"
    )
    assert await refused(deserved={"cpu": 3}, guarantee={"resource": {"cpu": 3}}) == (
        "parent queue p validation failed: sum of children's guarantee (cpu 5000.00, memory 0.00) exceeds "
        "parent's guarantee limit (cpu 4000.00, memory 0.00)"
    )
    smaller = await server.send(
        "PATCH", f"{QUEUES}/p", {"spec": {"capability": {"cpu": 5}, "deserved": {"cpu": 5}}}, type=MERGE
    )
    assert denied(smaller, "validatequeue") == (
        "queue p capability[cpu]=5 is smaller than its descendants' max capability=6"
    )


async def test_a_tree_is_five_queues_deep_at_most(server: Server) -> None:
    above = "root"
    for depth in range(5):
        await created(server, QUEUES, queue(f"q{depth}", parent=above))
        above = f"q{depth}"
    answer = await server.send("POST", QUEUES, queue("x", parent=above))
    assert denied(answer, "validatequeue") == "queue x exceeds the maximum allowed depth of 5"


async def test_a_queue_with_pods_becomes_nobodys_parent(server: Server) -> None:
    await open_queue(server.client, "busy")
    await set_state(server.client, "busy", "Open", allocated={"pods": "2"})
    answer = await server.send("POST", QUEUES, queue("x", parent="busy"))
    assert denied(answer, "validatequeue") == (
        "queue busy cannot be the parent queue of queue x because it has allocated Pods: 2"
    )


async def test_roots_amounts_and_closing_queues_cannot_be_changed(server: Server) -> None:
    await created(server, QUEUES, queue("root"))
    more = await server.send("PATCH", f"{QUEUES}/root", {"spec": {"capability": {"cpu": 5}}}, type=MERGE)
    assert denied(more, "validatequeue") == (
        "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"
    )
    assert (await server.send("PATCH", f"{QUEUES}/root", {"spec": {"weight": 2}}, type=MERGE)).code == 200
    await open_queue(server.client, "q", state="Closing")
    edit = await server.send("PATCH", f"{QUEUES}/q", {"spec": {"weight": 2}}, type=MERGE)
    assert denied(edit, "validatequeue") == (
        'requestBody.spec.state: Invalid value: "Closing": queue state must be in [Open Closed]'
    )


async def test_needed_queues_cannot_be_deleted(server: Server) -> None:
    for body in (queue("root"), queue("p"), queue("b", parent="p"), queue("a", parent="p")):
        await created(server, QUEUES, body)

    async def refused(name: str) -> str:
        return denied(await server.send("DELETE", f"{QUEUES}/{name}"), "validatequeue")

    assert await refused("default") == "`default` queue can not be deleted"
    assert await refused("root") == "`root` queue can not be deleted"
    assert await refused("p") == "queue p can not be deleted because it has 2 child queues: a, b"
    assert (await server.send("DELETE", f"{QUEUES}/a")).code == 200


async def test_a_queue_without_a_spec_has_all_its_defaults_at_once(server: Server) -> None:
    body = queue("q")
    del body["spec"]
    made = await created(server, QUEUES, body)
    assert made["spec"] == {"reclaimable": True, "weight": 1, "dequeueStrategy": "traverse"}
    again = await server.send("PUT", f"{QUEUES}/q", made)
    assert again.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
