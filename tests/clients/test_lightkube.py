"""`lightkube`: dataclass models, every type of patch, watches, waits, and kinds of one's own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig
from lightkube.codecs import load_all_yaml
from lightkube.core.exceptions import ConditionError
from lightkube.generic_resource import (
    create_global_resource,
    create_namespaced_resource,
    load_in_cluster_generic_resources,
)
from lightkube.models.batch_v1 import JobSpec, JobStatus
from lightkube.models.core_v1 import Container, ObjectReference, PodSpec, PodTemplateSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.operators import exists, in_, not_equal
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import ConfigMap, Event, Pod
from lightkube.types import CascadeType, PatchType

from support.longshore_process import RunningLongshore

pytestmark = pytest.mark.xdist_group("clients: lightkube")


@pytest.fixture(scope="module")
def client(longshore: RunningLongshore) -> Iterator[Any]:
    config = KubeConfig.from_file(str(longshore.kubeconfig))
    with Client(config=config, namespace="default", field_manager="tester") as made:
        yield made


def job(name: str, **labels: str) -> Job:
    template = PodTemplateSpec(
        spec=PodSpec(restartPolicy="Never", containers=[Container(name="main", image="busybox")])
    )
    return Job(metadata=ObjectMeta(name=name, labels=labels), spec=JobSpec(template=template, parallelism=1))


def test_an_object_lives_and_dies(client: Any) -> None:
    made = client.create(job("life"))
    assert made.spec.backoffLimit == 6
    made.spec.parallelism = 2
    changed = client.replace(made)
    assert changed.metadata.generation == 2
    with pytest.raises(ApiError) as stale:
        client.replace(made)
    assert (stale.value.status.code, stale.value.status.reason) == (409, "Conflict")
    client.delete(Job, "life", cascade=CascadeType.BACKGROUND)
    with pytest.raises(ApiError) as missing:
        client.get(Job, "life")
    assert missing.value.status.reason == "NotFound"


def test_refusals_are_typed(client: Any) -> None:
    wrong = job("wrong")
    wrong.spec.backoffLimit = -1  # type: ignore[union-attr]
    with pytest.raises(ApiError) as refused:
        client.create(wrong)
    status = refused.value.status
    assert (status.code, status.reason) == (422, "Invalid")
    assert [(cause.field, cause.reason) for cause in status.details.causes] == [  # type: ignore[union-attr]
        ("spec.backoffLimit", "FieldValueInvalid")
    ]
    client.create(job("twice"))
    with pytest.raises(ApiError, match="already exists"):
        client.create(job("twice"))


def test_lists_are_selected_and_come_in_pages(client: Any) -> None:
    for n in range(5):
        client.create(job(f"page-{n}", set="pages", odd=str(n % 2)))
    every = client.list(Job, labels={"set": "pages"}, chunk_size=2)
    assert [j.metadata.name for j in every] == [f"page-{n}" for n in range(5)]
    assert int(every.resourceVersion) > 0
    odd = client.list(Job, namespace="*", labels={"set": in_(["pages"]), "odd": not_equal("0")})
    assert [j.metadata.name for j in odd] == ["page-1", "page-3"]
    one = client.list(Job, labels={"set": exists()}, fields={"metadata.name": "page-2"})
    assert [j.metadata.name for j in one] == ["page-2"]
    client.deletecollection(Job, cascade=CascadeType.BACKGROUND)
    assert not list(client.list(Job))


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (PatchType.MERGE, {"metadata": {"labels": {"a": "2", "b": None}}}),
        (PatchType.STRATEGIC, {"metadata": {"labels": {"a": "2", "b": None}}}),
        (
            PatchType.JSON,
            [
                {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
                {"op": "remove", "path": "/metadata/labels/b"},
            ],
        ),
    ],
    ids=lambda value: value.name.lower() if isinstance(value, PatchType) else "",
)
def test_each_patch_changes_what_it_says(client: Any, kind: PatchType, patch: Any) -> None:
    name = f"patch-{kind.name.lower()}"
    client.create(job(name, a="1", b="1"))
    assert client.patch(Job, name, patch, patch_type=kind).metadata.labels == {"a": "2"}
    assert client.set(Job, name, labels={"c": "3"}).metadata.labels == {"a": "2", "c": "3"}


def test_an_apply_owns_fields_and_conflicts(client: Any) -> None:
    wanted = job("applied")
    client.apply(wanted, field_manager="one")
    wanted.spec.parallelism = 3  # type: ignore[union-attr]
    with pytest.raises(ApiError) as conflict:
        client.apply(wanted, field_manager="two")
    assert [cause.field for cause in conflict.value.status.details.causes] == [".spec.parallelism"]  # type: ignore[union-attr]
    assert client.apply(wanted, field_manager="two", force=True).spec.parallelism == 3
    # What its one owner no longer applies goes back to its default.
    wanted.spec.suspend = True  # type: ignore[union-attr]
    client.apply(wanted, field_manager="two")
    wanted.spec.suspend = None  # type: ignore[union-attr]
    assert client.apply(wanted, field_manager="two").spec.suspend is False


def test_the_status_is_its_own_resource(client: Any) -> None:
    made = client.create(job("state"))
    made.status = JobStatus(active=1)
    made.spec.parallelism = 5
    changed = client.replace(Job.Status(metadata=made.metadata, spec=made.spec, status=made.status))
    assert (changed.status.active, changed.spec.parallelism) == (1, 1)
    patched = client.patch(Job.Status, "state", {"status": {"active": 2}}, patch_type=PatchType.MERGE)
    assert patched.status.active == 2
    assert client.get(Job.Status, "state").status.active == 2


def test_a_watch_sees_changes(client: Any) -> None:
    made = client.create(job("watched"))
    client.patch(Job, "watched", {"spec": {"suspend": True}})
    client.delete(Job, "watched", cascade=CascadeType.BACKGROUND)
    seen = []
    events = client.watch(
        Job, fields={"metadata.name": "watched"}, resource_version=made.metadata.resourceVersion
    )
    for kind, obj in events:
        seen.append((kind, obj.spec.suspend))
        if kind == "DELETED":
            break
    events.close()
    assert seen == [("MODIFIED", True), ("DELETED", True)]


def test_a_wait_ends_with_the_condition(client: Any) -> None:
    client.create(job("waited"))
    done = [
        {"type": kind, "status": "True", "reason": "CompletionsReached"}
        for kind in ("SuccessCriteriaMet", "Complete")
    ]
    now = "2021-06-01T10:00:00Z"
    status = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": done}
    later = threading.Timer(
        0.2, client.patch, (Job.Status, "waited", {"status": status}), {"patch_type": PatchType.MERGE}
    )
    later.start()
    finished = client.wait(Job, "waited", for_conditions=["Complete"], raise_for_conditions=["Failed"])
    later.join()
    assert finished.status.succeeded == 1
    with pytest.raises(ConditionError):
        client.wait(Job, "waited", for_conditions=["Never"], raise_for_conditions=["Complete"])


def test_a_pod_is_deleted_at_once_and_its_log_is_empty(client: Any) -> None:
    pod = Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=[Container(name="c", image="i")]))
    client.create(pod)
    assert list(client.log("p")) == []
    client.delete(Pod, "p", grace_period=0)
    assert not list(client.list(Pod))


def test_an_event_is_posted(client: Any) -> None:
    subject = client.create(ConfigMap(metadata=ObjectMeta(name="subject")))
    about = ObjectReference(kind="ConfigMap", name="subject", namespace="default", uid=subject.metadata.uid)
    event = Event(
        metadata=ObjectMeta(generateName="subject."),
        involvedObject=about,
        reason="Tested",
        message="it works",
        type="Normal",
    )
    client.create(event)
    found = client.list(Event, fields={"involvedObject.uid": subject.metadata.uid})
    assert [e.message for e in found] == ["it works"]


BOATS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.org}
spec:
  group: example.org
  names: {kind: Boat, plural: boats, singular: boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {oars: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


def test_kinds_of_ones_own(client: Any) -> None:
    for definition in load_all_yaml(BOATS):
        client.apply(definition)
    client.wait(CustomResourceDefinition, "boats.example.org", for_conditions=["Established"])
    load_in_cluster_generic_resources(client)
    boats = create_namespaced_resource("example.org", "v1", "Boat", "boats")
    client.create(boats(metadata=ObjectMeta(name="b"), spec={"oars": 2}))
    client.patch(boats, "b", {"spec": {"oars": 3}}, patch_type=PatchType.MERGE)
    client.patch(boats.Status, "b", {"status": {"afloat": True}}, patch_type=PatchType.MERGE)
    found = client.get(boats, "b")
    assert (found["spec"], found["status"]) == ({"oars": 3}, {"afloat": True})
    queues = create_global_resource("scheduling.volcano.sh", "v1beta1", "Queue", "queues")
    client.create(queues(metadata=ObjectMeta(name="fast"), spec={"weight": 3}))
    assert client.get(queues, "fast")["spec"]["weight"] == 3
    client.delete(boats, "b")
    client.delete(CustomResourceDefinition, "boats.example.org")


@pytest.mark.anyio
async def test_the_same_with_asyncio(longshore: RunningLongshore) -> None:
    config = KubeConfig.from_file(str(longshore.kubeconfig))
    async with AsyncClient(config=config, namespace="default") as client:
        made = await client.create(ConfigMap(metadata=ObjectMeta(name="async"), data={"a": "1"}))
        assert made.metadata is not None
        await client.patch(ConfigMap, "async", {"data": {"a": "2"}})
        await client.delete(ConfigMap, "async")
        events = client.watch(
            ConfigMap, fields={"metadata.name": "async"}, resource_version=made.metadata.resourceVersion
        )
        seen = []
        async with asyncio.timeout(10):
            async for kind, obj in events:
                seen.append((kind, obj.data))
                if kind == "DELETED":
                    break
            await events.aclose()  # type: ignore[attr-defined]
        assert seen == [("MODIFIED", {"a": "2"}), ("DELETED", {"a": "2"})]
