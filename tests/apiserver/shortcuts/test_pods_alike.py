"""A pod that is like one before it is stored exactly as if it were the first of its sort."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj, copy_of, encode
from longshore.apiserver.api import Api, ApiParts
from longshore.client import PatchType
from longshore.client.local import LocalClient
from longshore.store import Store
from support.api_in_memory import Server
from support.fixed_clock import FixedClock

PODS = ("v1", "Pod")
INDEX = "batch.kubernetes.io/job-completion-index"
SPEC: Obj = {
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "main",
            "image": "busybox",
            "env": [{"name": "N", "value": "1"}],
            "resources": {"limits": {"cpu": "0.5"}},
        }
    ],
}


def a_pod(number: int, **spec: Any) -> Obj:
    meta = {
        "name": f"p-{number}",
        "labels": {INDEX: str(number), "app": "x"},
        "annotations": {INDEX: str(number), "note": "same"},
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
        ],
    }
    return {"metadata": meta, "spec": {**SPEC, "hostname": f"j-{number}", **spec}}


def told(story: Callable[[Server], Awaitable[None]]) -> None:
    async def play() -> None:
        store = Store.open(None)
        api = Api(
            ApiParts(store, FixedClock(), random.Random(), shortcuts=True)
        )  # no second passes between two pods
        client = LocalClient(api, manager="tester")
        await client.create(("v1", "Namespace"), {"metadata": {"name": "default"}})
        await story(Server(api, client))
        await store.close()

    asyncio.run(play())


def bare(pod: Obj) -> Obj:
    """Without what no two pods share."""
    meta = {k: v for k, v in pod["metadata"].items() if k not in ("uid", "resourceVersion", "name")}
    return {**pod, "metadata": meta}


async def long_way(server: Server, pod: Obj) -> Obj:
    """The same pod, sent so that it is read by itself."""
    alone = {"fieldManager": "tester", "fieldValidation": "Ignore"}
    answer = await server.send("POST", "/api/v1/namespaces/default/pods", pod, **alone)
    assert answer.code == 201, answer.body
    return await server.client.get(PODS, pod["metadata"]["name"], "default")


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"volumes": [{"name": "v", "emptyDir": {}}]},
        {"nodeSelector": {"a": "b"}},
        {"schedulingGates": [{"name": "x.y/z"}]},
        {"affinity": {"podAntiAffinity": {}}},
        {"serviceAccountName": "s", "tolerations": [{"operator": "Exists"}]},
    ],
    ids=lambda spec: "-".join(spec) or "plain",
)
def test_the_third_pod_is_stored_to_the_byte_as_if_it_were_the_first(spec: Obj) -> None:
    async def story(server: Server) -> None:
        await server.client.create(PODS, a_pod(1, **spec), "default")
        await server.client.create(PODS, a_pod(3, **spec), "default")
        shared = await server.client.create(PODS, a_pod(2, **spec), "default")
        await server.client.delete(PODS, "p-2", "default")
        sent = await long_way(server, {**a_pod(2, **spec), "metadata": {**a_pod(2)["metadata"], "name": "q"}})
        assert encode(bare(shared)) == encode(bare(sent))
        assert json.dumps(shared["metadata"]["managedFields"]) == json.dumps(
            sent["metadata"]["managedFields"]
        )

    told(story)


def test_pods_that_are_alike_share_their_containers_and_keep_their_own_names() -> None:
    async def story(server: Server) -> None:
        one, two = [await server.client.create(PODS, a_pod(n), "default") for n in (1, 2)]
        assert one["spec"]["containers"] is two["spec"]["containers"]
        assert (one["spec"]["hostname"], two["spec"]["hostname"]) == ("j-1", "j-2")
        before = copy_of(one)
        patch = {"spec": {"activeDeadlineSeconds": 5}, "metadata": {"labels": {"app": "y"}}}
        await server.client.patch(PODS, "p-2", patch, "default")
        await server.client.patch(PODS, "p-2", {"spec": {"containers": [{"name": "main", "image": "b:2"}]}},
                                  "default", type=PatchType.STRATEGIC)  # fmt: skip
        assert (await server.client.get(PODS, "p-1", "default")) == before

    told(story)


def test_what_was_wrong_with_the_first_is_wrong_with_the_next() -> None:
    async def story(server: Server) -> None:
        for number in (1, 2):
            with pytest.raises(StatusError, match="Unsupported value"):
                await server.client.create(PODS, a_pod(number, restartPolicy="Sometimes"), "default")

    told(story)


def test_the_names_of_a_pod_like_others_are_judged() -> None:
    async def story(server: Server) -> None:
        await server.client.create(PODS, a_pod(1), "default")
        with pytest.raises(StatusError, match=r"spec\.hostname: Invalid value"):
            await server.client.create(PODS, a_pod(2, hostname="No_Label"), "default")
        wrong = a_pod(3)
        wrong["metadata"]["labels"]["app"] = "not a label"
        with pytest.raises(StatusError, match=r"metadata\.labels: Invalid value"):
            await server.client.create(PODS, wrong, "default")

    told(story)


def test_limits_and_priorities_made_meanwhile_count_for_pods_like_earlier_ones() -> None:
    async def story(server: Server) -> None:
        await server.client.create(PODS, a_pod(1), "default")
        limits = {"limits": [{"type": "Container", "defaultRequest": {"memory": "7Mi"}}]}
        await server.client.create(
            ("v1", "LimitRange"), {"metadata": {"name": "l"}, "spec": limits}, "default"
        )
        limited = await server.client.create(PODS, a_pod(2), "default")
        assert limited["spec"]["containers"][0]["resources"]["requests"]["memory"] == "7Mi"
        await server.client.delete(("v1", "LimitRange"), "l", "default")
        high = {"metadata": {"name": "high"}, "value": 9, "globalDefault": True}
        await server.client.create(("scheduling.k8s.io/v1", "PriorityClass"), high)
        important = await server.client.create(PODS, a_pod(3), "default")
        assert important["spec"]["priority"] == 9
        assert "memory" not in important["spec"]["containers"][0]["resources"]["requests"]

    told(story)


def test_pods_alike_with_other_metadata_own_other_fields() -> None:
    async def story(server: Server) -> None:
        pods = [a_pod(n) for n in range(1, 6)]
        pods[2]["metadata"]["labels"]["more"] = "x"
        pods[3]["metadata"]["ownerReferences"][0]["uid"] = "other"
        del pods[4]["metadata"]["finalizers"]
        made = [await server.client.create(PODS, pod, "default") for pod in pods]
        owned = [pod["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"] for pod in made]
        assert owned[0] == owned[1]
        assert owned[2]["f:labels"].keys() - owned[1]["f:labels"].keys() == {"f:more"}
        assert 'k:{"uid":"other"}' in owned[3]["f:ownerReferences"]
        assert 'k:{"uid":"u"}' not in owned[3]["f:ownerReferences"]
        assert "f:finalizers" not in owned[4]

    told(story)
