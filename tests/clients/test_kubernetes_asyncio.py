"""`kubernetes_asyncio`: a full round with typed objects, watches and the dynamic client.

The library's own types say `None` everywhere, so its objects are `Any` here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client import (
    ApiException,
    V1ConfigMap,
    V1Container,
    V1CronJob,
    V1CronJobSpec,
    V1Job,
    V1JobSpec,
    V1JobTemplateSpec,
    V1ObjectMeta,
    V1PodSpec,
    V1PodTemplateSpec,
)
from kubernetes_asyncio.dynamic import DynamicClient
from kubernetes_asyncio.dynamic.exceptions import NotFoundError

from support.longshore_process import RunningLongshore

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("clients: kubernetes_asyncio")]

SPACE = "default"


@pytest.fixture
async def api(longshore: RunningLongshore, anyio_backend: str) -> AsyncIterator[Any]:
    async with await config.new_client_from_config(config_file=str(longshore.kubeconfig)) as made:
        yield made


@pytest.fixture
def batch(api: Any) -> Any:
    return client.BatchV1Api(api)


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


def pods() -> V1PodTemplateSpec:
    container = V1Container(name="main", image="busybox", command=["true"])
    return V1PodTemplateSpec(spec=V1PodSpec(restart_policy="Never", containers=[container]))


def job(name: str, **labels: str) -> V1Job:
    return V1Job(metadata=V1ObjectMeta(name=name, labels=labels or None), spec=V1JobSpec(template=pods()))


async def test_a_cron_job_is_created_read_replaced_and_deleted(batch: Any) -> None:
    spec = V1CronJobSpec(
        schedule="*/5 * * * *", job_template=V1JobTemplateSpec(spec=V1JobSpec(template=pods()))
    )
    made = await batch.create_namespaced_cron_job(
        SPACE, V1CronJob(metadata=V1ObjectMeta(name="tick"), spec=spec)
    )
    assert made.spec.concurrency_policy == "Allow"
    made.spec.suspend = True
    changed = await batch.replace_namespaced_cron_job("tick", SPACE, made)
    assert changed.spec.suspend
    with pytest.raises(ApiException) as stale:
        await batch.replace_namespaced_cron_job("tick", SPACE, made)
    assert stale.value.status == 409
    changed.spec.schedule = "now and then"
    with pytest.raises(ApiException) as refused:
        await batch.replace_namespaced_cron_job("tick", SPACE, changed)
    assert refused.value.status == 422
    assert "spec.schedule: Invalid value" in refused.value.body
    await batch.delete_namespaced_cron_job("tick", SPACE)
    with pytest.raises(ApiException) as missing:
        await batch.read_namespaced_cron_job("tick", SPACE)
    assert missing.value.status == 404


async def test_lists_are_selected_and_come_in_pages(batch: Any) -> None:
    await asyncio.gather(
        *(batch.create_namespaced_job(SPACE, job(f"page-{n}", set="pages", odd=str(n % 2))) for n in range(5))
    )
    names: list[str] = []
    more: dict[str, Any] = {}
    while True:
        page = await batch.list_namespaced_job(SPACE, label_selector="set=pages", limit=2, **more)
        names += [item.metadata.name for item in page.items]
        if not page.metadata._continue:
            break
        more = {"_continue": page.metadata._continue}
    assert names == [f"page-{n}" for n in range(5)]
    odd = await batch.list_job_for_all_namespaces(label_selector="set=pages,odd=1")
    assert [item.metadata.name for item in odd.items] == ["page-1", "page-3"]
    await batch.delete_collection_namespaced_job(
        SPACE, label_selector="set=pages", propagation_policy="Background"
    )
    assert not (await batch.list_namespaced_job(SPACE, label_selector="set=pages")).items


async def test_a_watch_goes_on_from_where_a_list_ended(core: Any) -> None:
    since = (await core.list_namespaced_config_map(SPACE)).metadata.resource_version
    await core.create_namespaced_config_map(SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="w")))
    await core.patch_namespaced_config_map("w", SPACE, {"data": {"a": "1"}})
    await core.delete_namespaced_config_map("w", SPACE)
    seen = []
    async with (
        asyncio.timeout(10),
        watch.Watch().stream(core.list_namespaced_config_map, SPACE, resource_version=since) as events,
    ):
        async for event in events:
            seen.append((event["type"], event["object"].metadata.name, event["object"].data))
            if event["type"] == "DELETED":
                break
    assert seen == [("ADDED", "w", None), ("MODIFIED", "w", {"a": "1"}), ("DELETED", "w", {"a": "1"})]


async def test_a_watch_begins_with_the_state_and_a_bookmark_ends_it(core: Any) -> None:
    await core.create_namespaced_config_map("kube-public", V1ConfigMap(metadata=V1ObjectMeta(name="only")))
    seen = []
    events = watch.Watch().stream(
        core.list_namespaced_config_map,
        "kube-public",
        send_initial_events=True,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        timeout_seconds=1,
    )
    async with asyncio.timeout(10), events:
        async for event in events:
            seen.append((event["type"], event["raw_object"]["metadata"].get("annotations")))
    assert seen[:2] == [("ADDED", None), ("BOOKMARK", {"k8s.io/initial-events-end": "true"})]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/merge-patch+json", {"metadata": {"labels": {"a": "2", "b": None}}}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"a": "2", "b": None}}}),
        (
            "application/json-patch+json",
            [
                {"op": "test", "path": "/metadata/labels/a", "value": "1"},
                {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
                {"op": "remove", "path": "/metadata/labels/b"},
            ],
        ),
    ],
)
async def test_each_patch_changes_what_it_says(batch: Any, content_type: str, body: Any) -> None:
    made = await batch.create_namespaced_job(SPACE, job(f"patch-{len(content_type)}", a="1", b="1"))
    changed = await batch.patch_namespaced_job(made.metadata.name, SPACE, body, _content_type=content_type)
    assert changed.metadata.labels == {"a": "2"}


async def test_an_apply_owns_fields_and_conflicts(batch: Any) -> None:
    body: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "applied"},
        "spec": {
            "parallelism": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
        },
    }
    how = {"_content_type": "application/apply-patch+yaml"}
    await batch.patch_namespaced_job("applied", SPACE, body, field_manager="one", **how)
    body["spec"]["parallelism"] = 3
    with pytest.raises(ApiException) as conflict:
        await batch.patch_namespaced_job("applied", SPACE, body, field_manager="two", **how)
    assert conflict.value.status == 409
    changed = await batch.patch_namespaced_job("applied", SPACE, body, field_manager="two", force=True, **how)
    assert changed.spec.parallelism == 3


async def test_the_status_is_its_own_resource(batch: Any) -> None:
    made = await batch.create_namespaced_job(SPACE, job("state"))
    made.status.active = 1
    made.spec.parallelism = 5
    changed = await batch.replace_namespaced_job_status("state", SPACE, made)
    assert (changed.status.active, changed.spec.parallelism) == (1, 1)
    patched = await batch.patch_namespaced_job_status("state", SPACE, {"status": {"active": 2}})
    assert patched.status.active == 2


async def test_deletes_follow_the_asked_for_policy(batch: Any) -> None:
    await batch.create_namespaced_job(SPACE, job("owner"))
    await batch.delete_namespaced_job("owner", SPACE, propagation_policy="Foreground")
    waiting = await batch.read_namespaced_job("owner", SPACE)
    assert waiting.metadata.finalizers == ["foregroundDeletion"]
    await batch.create_namespaced_job(SPACE, job("parent"))
    await batch.delete_namespaced_job("parent", SPACE, propagation_policy="Orphan")
    assert (await batch.read_namespaced_job("parent", SPACE)).metadata.finalizers == ["orphan"]


async def test_the_dynamic_client_finds_every_kind_by_discovery(api: Any) -> None:
    known = await DynamicClient(api)
    maps = await known.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dynamic"}, "data": {"a": "1"}}
    await maps.create(body=body, namespace=SPACE)
    await maps.patch(
        body={"metadata": {"name": "dynamic"}, "data": {"a": "2"}},
        namespace=SPACE,
        content_type="application/merge-patch+json",
    )
    assert (await maps.get(name="dynamic", namespace=SPACE)).data.a == "2"
    await maps.delete(name="dynamic", namespace=SPACE)
    # Some versions raise here, some give the server's Status back; it says the same.
    with contextlib.suppress(NotFoundError):
        assert (await maps.get(name="dynamic", namespace=SPACE)).reason == "NotFound"


async def test_an_event_is_posted_and_found_by_its_object(core: Any) -> None:
    subject = await core.create_namespaced_config_map(
        SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="subject"))
    )
    uid = subject.metadata.uid
    event = client.CoreV1Event(
        metadata=V1ObjectMeta(generate_name="subject."),
        involved_object=client.V1ObjectReference(kind="ConfigMap", name="subject", namespace=SPACE, uid=uid),
        reason="Tested",
        message="it works",
        type="Normal",
    )
    await core.create_namespaced_event(SPACE, event)
    found = await core.list_namespaced_event(SPACE, field_selector=f"involvedObject.uid={uid}")
    assert [e.message for e in found.items] == ["it works"]
