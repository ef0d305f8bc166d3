"""`kr8s`: objects that know how to create, patch, label, watch, wait for and delete themselves."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import kr8s
import pytest
from kr8s.asyncio.objects import APIObject, ConfigMap, CronJob, Job, Node, Pod, new_class

from support.longshore_process import RunningLongshore

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.xdist_group("clients: kr8s"),
    # kr8s names the newest Kubernetes it was tested with and warns of later ones; ours says 1.36.
    pytest.mark.filterwarnings(
        "ignore:Kubernetes version .* is not supported. Supported versions:UserWarning"
    ),
]

SPACE = "default"


@pytest.fixture
async def api(longshore: RunningLongshore, anyio_backend: str) -> AsyncIterator[Any]:
    made: Any = await kr8s.asyncio.api(kubeconfig=str(longshore.kubeconfig))
    yield made
    await made._session.aclose()  # kr8s keeps it for the life of the process and has no word to close it


def body(name: str, **labels: str) -> dict[str, Any]:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    return {"metadata": {"name": name, "namespace": SPACE, "labels": labels}, "spec": {"template": pods}}


async def job(api: Any, name: str, **labels: str) -> Any:
    made = await Job(body(name, **labels), api=api)
    await made.create()
    return made


async def test_an_object_lives_and_dies(api: Any) -> None:
    made = await job(api, "life")
    assert await made.exists()
    assert made.spec.backoffLimit == 6
    again = await Job.get("life", namespace=SPACE, api=api)
    assert again.metadata.uid == made.metadata.uid
    await made.delete(propagation_policy="Background")
    await made.wait("delete", timeout=10)
    assert not await made.exists()
    with pytest.raises(kr8s.NotFoundError):
        await made.refresh()
    with pytest.raises(kr8s.NotFoundError):
        await Job.get("life", namespace=SPACE, api=api)


async def test_refusals_carry_the_status(api: Any) -> None:
    await job(api, "twice")
    with pytest.raises(kr8s.ServerError, match=r'jobs\.batch "twice" already exists') as exists:
        await job(api, "twice")
    assert exists.value.response is not None
    assert exists.value.response.status_code == 409
    wrong = body("wrong")
    wrong["spec"]["backoffLimit"] = -1
    with pytest.raises(kr8s.ServerError, match=r"spec\.backoffLimit: Invalid value: -1") as refused:
        await (await Job(wrong, api=api)).create()
    assert refused.value.status["details"]["causes"][0]["field"] == "spec.backoffLimit"  # type: ignore[index]


async def test_lists_are_selected_and_come_in_pages(api: Any) -> None:
    # kr8s asks for a hundred at a time.
    maps = [
        await ConfigMap(
            {"metadata": {"name": f"page-{n:03}", "namespace": SPACE, "labels": {"in": "pages"}}}, api=api
        )
        for n in range(104)
    ]
    await api.create(maps)
    found = [m.name async for m in api.get("configmaps", namespace=SPACE, label_selector={"in": "pages"})]
    assert found == [f"page-{n:03}" for n in range(104)]
    await job(api, "red", colour="red")
    await job(api, "blue", colour="blue")
    selected = [j.name async for j in Job.list(namespace=kr8s.ALL, label_selector="colour in (red)", api=api)]
    assert selected == ["red"]
    by_field = [j.name async for j in api.get("jobs", namespace=SPACE, field_selector="metadata.name=blue")]
    assert by_field == ["blue"]
    by_name = [j.name async for j in api.get("job", "blue", namespace=SPACE)]
    assert by_name == ["blue"]


async def test_both_kinds_of_patch_and_the_status(api: Any) -> None:
    made = await job(api, "patched", a="1")
    await made.patch({"metadata": {"labels": {"b": "2"}}})
    await made.patch([{"op": "remove", "path": "/metadata/labels/a"}], type="json")
    assert made.labels == {"b": "2"}
    await made.patch({"status": {"active": 1}}, subresource="status")
    assert made.status.active == 1
    assert made.metadata.generation == 1
    await made.label(team="x")
    await made.remove_label("b")
    await made.annotate(note="y")
    assert (made.labels, made.annotations) == ({"team": "x"}, {"note": "y"})


async def test_a_watch_sees_changes(api: Any) -> None:
    made = await job(api, "watched")
    since = made.metadata.resourceVersion
    await made.patch({"spec": {"suspend": True}})
    await made.delete(propagation_policy="Background")
    seen = []
    # The generator itself: what `watch` puts around it leaves the connection to the garbage collector.
    events = api.async_watch("jobs", namespace=SPACE, field_selector="metadata.name=watched", since=since)
    async with asyncio.timeout(10), contextlib.aclosing(events):
        async for kind, obj in events:
            seen.append((kind, obj.spec.get("suspend")))
            if kind == "DELETED":
                break
    assert seen == [("MODIFIED", True), ("DELETED", True)]


async def test_waiting_for_a_condition(api: Any) -> None:
    made = await job(api, "waited")
    waiting = asyncio.create_task(made.wait("condition=Complete", timeout=10))
    other = await Job.get("waited", namespace=SPACE, api=api)
    done = [
        {"type": kind, "status": "True", "reason": "CompletionsReached"}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    now = "2021-06-01T10:00:00Z"
    status = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": done}
    await other.patch({"status": status}, subresource="status")
    await waiting
    assert made.status.succeeded == 1


async def test_a_pod_is_generated_adopted_and_deleted_at_once(api: Any) -> None:
    owner = await job(api, "owner")
    pod = Pod.gen(name="child", image="busybox", command=["true"])
    pod.api = api
    pod.namespace = SPACE
    await pod.create()
    await owner.adopt(pod)
    await pod.refresh()
    assert pod.metadata.ownerReferences[0].uid == owner.metadata.uid
    await pod.delete(force=True)
    assert not await pod.exists()


async def test_a_node_is_cordoned_and_tainted(api: Any) -> None:
    node = await Node({"metadata": {"name": "n1"}}, api=api)
    await node.create()
    await node.cordon()
    assert node.unschedulable
    await node.uncordon()
    await node.taint("spot", "yes", effect="NoSchedule")
    assert "spot" in [taint.key for taint in node.taints]


async def test_kinds_are_found_by_discovery(api: Any) -> None:
    version = await api.version()
    assert version["major"] == "1"
    assert await api.whoami() == "longshore-admin"
    kinds = {(r["version"], r["kind"]) for r in await api.api_resources()}
    assert {("v1", "Pod"), ("batch/v1", "Job"), ("scheduling.volcano.sh/v1beta1", "Queue")} <= kinds
    cron = await CronJob(
        {
            "metadata": {"name": "tick", "namespace": SPACE},
            "spec": {"schedule": "@hourly", "jobTemplate": {"spec": body("x")["spec"]}},
        },
        api=api,
    )
    await cron.create()
    assert [c.name async for c in api.get("cj", namespace=SPACE)] == ["tick"]


async def test_an_unknown_kind_is_used_through_a_class_made_for_it(api: Any) -> None:
    queue_class: type[APIObject] = new_class("Queue", "scheduling.volcano.sh/v1beta1", namespaced=False)
    queue: Any = await queue_class({"metadata": {"name": "fast"}, "spec": {"weight": 3}}, api=api)
    await queue.create()
    await queue.patch({"spec": {"weight": 4}})
    assert queue.spec.weight == 4
    await queue.delete()


PLAIN = """
import sys, warnings
import kr8s
from kr8s.objects import ConfigMap
warnings.simplefilter("ignore")
api = kr8s.api(kubeconfig=sys.argv[1])
made = ConfigMap({"metadata": {"name": "plain", "namespace": "default"}, "data": {"a": "1"}}, api=api)
made.create()
made.patch({"data": {"a": "2"}})
(found,) = api.get("configmaps", "plain", namespace="default")
made.delete()
print(found.data.a, made.exists())
"""


def test_the_same_without_asyncio(longshore: RunningLongshore) -> None:
    # In a process of its own: it starts a thread with a loop and never ends either.
    command = [sys.executable, "-c", PLAIN, str(longshore.kubeconfig)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ran.stdout, ran.returncode) == ("2 False\n", 0), ran.stderr
