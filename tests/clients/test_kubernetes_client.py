"""The official Python client (`kubernetes`): typed, dynamic, informer and leader election.

The library's own types say `None` everywhere and differ between its versions, so its objects are `Any` here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kubernetes import client, config, dynamic, informer, utils, watch
from kubernetes.client import (
    ApiException,
    V1ConfigMap,
    V1Container,
    V1DeleteOptions,
    V1Job,
    V1JobSpec,
    V1JobStatus,
    V1ObjectMeta,
    V1OwnerReference,
    V1PodSpec,
    V1PodTemplateSpec,
)
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from support.longshore_process import RunningLongshore

pytestmark = pytest.mark.xdist_group("clients: kubernetes")

SPACE = "default"


@pytest.fixture(scope="module")
def api(longshore: RunningLongshore) -> Iterator[Any]:
    with config.new_client_from_config(config_file=str(longshore.kubeconfig)) as made:
        yield made


@pytest.fixture
def batch(api: Any) -> Any:
    return client.BatchV1Api(api)


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


def job(name: str, **labels: str) -> Any:
    container = V1Container(name="main", image="busybox", command=["true"])
    template = V1PodTemplateSpec(spec=V1PodSpec(restart_policy="Never", containers=[container]))
    return V1Job(
        metadata=V1ObjectMeta(name=name, labels=labels or None),
        spec=V1JobSpec(template=template, parallelism=1, completions=2, suspend=True),
    )


def test_a_job_is_created_read_replaced_and_deleted_as_typed_objects(batch: Any) -> None:
    made = batch.create_namespaced_job(SPACE, job("typed", app="a"))
    assert isinstance(made, V1Job)
    assert made.spec.backoff_limit == 6
    assert made.metadata.creation_timestamp.tzinfo is not None
    made.spec.parallelism = 2
    changed = batch.replace_namespaced_job("typed", SPACE, made)
    assert (changed.spec.parallelism, changed.metadata.generation) == (2, 2)
    with pytest.raises(ApiException) as stale:
        batch.replace_namespaced_job("typed", SPACE, made)
    assert (stale.value.status, stale.value.reason) == (409, "Conflict")
    assert "the object has been modified" in stale.value.body
    batch.delete_namespaced_job("typed", SPACE, propagation_policy="Background")
    with pytest.raises(ApiException) as missing:
        batch.read_namespaced_job("typed", SPACE)
    assert missing.value.status == 404


def test_refusals_name_the_field(batch: Any) -> None:
    wrong = job("wrong")
    wrong.spec.backoff_limit = -1
    with pytest.raises(ApiException) as refused:
        batch.create_namespaced_job(SPACE, wrong)
    assert refused.value.status == 422
    assert "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0" in refused.value.body
    batch.create_namespaced_job(SPACE, job("twice"))
    with pytest.raises(ApiException) as exists:
        batch.create_namespaced_job(SPACE, job("twice"))
    assert exists.value.status == 409
    assert "AlreadyExists" in exists.value.body


def test_lists_are_selected_and_come_in_pages(batch: Any) -> None:
    for number in range(5):
        batch.create_namespaced_job(SPACE, job(f"page-{number}", set="pages", odd=str(number % 2)))
    first = batch.list_namespaced_job(SPACE, label_selector="set=pages", limit=2)
    assert first.metadata.remaining_item_count is None  # unknown where a selector filters
    names = [item.metadata.name for item in first.items]
    token = first.metadata._continue
    while token:
        page = batch.list_namespaced_job(SPACE, label_selector="set=pages", limit=2, _continue=token)
        assert page.metadata.resource_version == first.metadata.resource_version
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
    assert names == [f"page-{n}" for n in range(5)]
    odd = batch.list_job_for_all_namespaces(label_selector="set in (pages),odd!=0")
    assert [item.metadata.name for item in odd.items] == ["page-1", "page-3"]
    one = batch.list_namespaced_job(SPACE, field_selector="metadata.name=page-2")
    assert [item.metadata.name for item in one.items] == ["page-2"]
    batch.delete_collection_namespaced_job(SPACE, label_selector="set=pages", propagation_policy="Background")
    assert batch.list_namespaced_job(SPACE, label_selector="set=pages").items == []


def test_a_watch_goes_on_from_where_a_list_ended(core: Any) -> None:
    core.create_namespaced_config_map(SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="seen")))
    since = core.list_namespaced_config_map(SPACE).metadata.resource_version
    core.create_namespaced_config_map(SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="w")))
    core.patch_namespaced_config_map("w", SPACE, {"data": {"a": "1"}})
    core.delete_namespaced_config_map("w", SPACE)
    watcher = watch.Watch()
    seen = []
    for event in watcher.stream(core.list_namespaced_config_map, SPACE, resource_version=since):
        assert isinstance(event["object"], V1ConfigMap)
        seen.append((event["type"], event["object"].metadata.name, event["object"].data))
        if event["type"] == "DELETED":
            watcher.stop()
    assert seen == [("ADDED", "w", None), ("MODIFIED", "w", {"a": "1"}), ("DELETED", "w", {"a": "1"})]


def test_a_watch_begins_with_the_state_and_ends_in_time(core: Any) -> None:
    core.create_namespaced_config_map("kube-public", V1ConfigMap(metadata=V1ObjectMeta(name="only")))
    events = watch.Watch().stream(
        core.list_namespaced_config_map,
        "kube-public",
        send_initial_events=True,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        timeout_seconds=1,
    )
    first, bookmark = list(events)[:2]
    assert (first["type"], first["object"].metadata.name) == ("ADDED", "only")
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["raw_object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/merge-patch+json", {"metadata": {"labels": {"a": "2", "b": None}}}),
        ("application/strategic-merge-patch+json", {"metadata": {"labels": {"a": "2", "b": None}}}),
        (
            "application/json-patch+json",
            [
                {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
                {"op": "remove", "path": "/metadata/labels/b"},
            ],
        ),
    ],
)
def test_each_patch_changes_what_it_says(batch: Any, content_type: str, body: Any) -> None:
    made = batch.create_namespaced_job(SPACE, job(f"patch-{len(content_type)}", a="1", b="1"))
    changed = batch.patch_namespaced_job(made.metadata.name, SPACE, body, _content_type=content_type)
    assert changed.metadata.labels == {"a": "2"}


def test_an_apply_owns_fields_and_conflicts(batch: Any, api: Any) -> None:
    body = api.sanitize_for_serialization(job("applied"))
    body |= {"apiVersion": "batch/v1", "kind": "Job"}
    how = {"field_manager": "one", "_content_type": "application/apply-patch+yaml"}
    batch.patch_namespaced_job("applied", SPACE, body, **how)
    body["spec"]["parallelism"] = 3
    with pytest.raises(ApiException) as conflict:
        batch.patch_namespaced_job("applied", SPACE, body, **how | {"field_manager": "two"})
    assert conflict.value.status == 409
    assert 'conflict with \\"one\\": .spec.parallelism' in conflict.value.body
    changed = batch.patch_namespaced_job("applied", SPACE, body, **how | {"field_manager": "two"}, force=True)
    assert changed.spec.parallelism == 3
    assert {entry.manager: entry.operation for entry in changed.metadata.managed_fields} == (
        {"one": "Apply", "two": "Apply"}
    )


def test_the_status_is_its_own_resource(batch: Any) -> None:
    made = batch.create_namespaced_job(SPACE, job("state"))
    made.status = V1JobStatus(active=1, ready=1)
    made.spec.parallelism = 5
    changed = batch.replace_namespaced_job_status("state", SPACE, made)
    assert (changed.status.active, changed.spec.parallelism, changed.metadata.generation) == (1, 1, 1)
    assert batch.patch_namespaced_job_status("state", SPACE, {"status": {"ready": 0}}).status.ready == 0
    assert batch.read_namespaced_job_status("state", SPACE).status.active == 1


def test_an_owner_waits_for_its_dependents_in_the_foreground(batch: Any) -> None:
    made = batch.create_namespaced_job(SPACE, job("owner"))
    batch.delete_namespaced_job("owner", SPACE, body=V1DeleteOptions(propagation_policy="Foreground"))
    waiting = batch.read_namespaced_job("owner", SPACE)
    assert waiting.metadata.uid == made.metadata.uid
    assert waiting.metadata.deletion_timestamp is not None
    assert waiting.metadata.finalizers == ["foregroundDeletion"]


def test_a_precondition_guards_a_delete(core: Any) -> None:
    core.create_namespaced_config_map(SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="guarded")))
    other = V1DeleteOptions(preconditions={"uid": "11111111-2222-3333-4444-555555555555"})
    with pytest.raises(ApiException) as refused:
        core.delete_namespaced_config_map("guarded", SPACE, body=other)
    assert refused.value.status == 409


def test_events_are_posted_in_both_groups(api: Any, core: Any) -> None:
    subject = core.create_namespaced_config_map(SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="subject")))
    about = client.V1ObjectReference(
        api_version="v1", kind="ConfigMap", name="subject", namespace=SPACE, uid=subject.metadata.uid
    )
    now = datetime.now(UTC)
    core.create_namespaced_event(
        SPACE,
        client.CoreV1Event(
            metadata=V1ObjectMeta(name="old-style"),
            involved_object=about,
            reason="Tested",
            message="it works",
            type="Normal",
            first_timestamp=now,
            last_timestamp=now,
            count=1,
        ),
    )
    events = client.EventsV1Api(api)
    events.create_namespaced_event(
        SPACE,
        client.EventsV1Event(
            metadata=V1ObjectMeta(name="new-style"),
            regarding=about,
            reason="Tested",
            action="Testing",
            note="it works too",
            type="Normal",
            event_time=now,
            reporting_controller="example.org/tester",
            reporting_instance="me",
        ),
    )
    found = core.list_namespaced_event(SPACE, field_selector=f"involvedObject.uid={subject.metadata.uid}")
    assert {e.metadata.name: e.message for e in found.items} == (
        {"old-style": "it works", "new-style": "it works too"}
    )
    assert events.read_namespaced_event("new-style", SPACE).note == "it works too"


def test_owners_and_pods_keep_their_references(batch: Any, core: Any) -> None:
    owner = batch.create_namespaced_job(SPACE, job("parent"))
    reference = V1OwnerReference(
        api_version="batch/v1", kind="Job", name="parent", uid=owner.metadata.uid, controller=True
    )
    core.create_namespaced_pod(
        SPACE,
        client.V1Pod(
            metadata=V1ObjectMeta(
                generate_name="parent-", owner_references=[reference], labels={"of": "parent"}
            ),
            spec=V1PodSpec(containers=[V1Container(name="c", image="i")]),
        ),
    )
    (pod,) = core.list_namespaced_pod(
        SPACE, label_selector="of=parent", field_selector="status.phase=Pending"
    ).items
    assert pod.metadata.owner_references[0].uid == owner.metadata.uid
    core.delete_namespaced_pod(pod.metadata.name, SPACE, grace_period_seconds=0)
    assert core.list_namespaced_pod(SPACE, label_selector="of=parent").items == []


def test_the_dynamic_client_finds_every_kind_by_discovery(api: Any) -> None:
    known = dynamic.DynamicClient(api)
    jobs = known.resources.get(api_version="batch/v1", kind="Job")
    body = api.sanitize_for_serialization(job("dynamic", by="dynamic"))
    body |= {"apiVersion": "batch/v1", "kind": "Job"}
    assert jobs.create(body=body, namespace=SPACE).metadata.name == "dynamic"
    assert [item.metadata.name for item in jobs.get(namespace=SPACE, label_selector="by=dynamic").items] == [
        "dynamic"
    ]
    patch = {"metadata": {"name": "dynamic", "labels": {"by": "hand"}}}
    jobs.patch(body=patch, namespace=SPACE, content_type="application/merge-patch+json")
    applied = jobs.server_side_apply(
        body={
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "dynamic", "annotations": {"n": "1"}},
        },
        namespace=SPACE,
        field_manager="tester",
    )
    assert applied.metadata.labels.by == "hand"
    with pytest.raises(dynamic.exceptions.NotFoundError):
        jobs.get(name="ghost", namespace=SPACE)
    with pytest.raises(dynamic.exceptions.ConflictError):
        jobs.create(body=body, namespace=SPACE)
    jobs.delete(name="dynamic", namespace=SPACE, propagation_policy="Background")
    queues = known.resources.get(api_version="scheduling.volcano.sh/v1beta1", kind="Queue")
    assert not queues.namespaced


def test_manifests_are_created_from_yaml_objects(api: Any, core: Any) -> None:
    documents = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "from-yaml"}, "data": {"a": "1"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "from-yaml"}, "stringData": {"b": "2"}},
    ]
    utils.create_from_yaml(api, yaml_objects=documents, namespace=SPACE)
    assert core.read_namespaced_secret("from-yaml", SPACE).data == {"b": "Mg=="}


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_an_informer_keeps_a_cache(core: Any) -> None:
    core.create_namespaced_config_map(
        SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="cached", labels={"in": "cache"}))
    )
    kept = informer.SharedInformer(core.list_namespaced_config_map, SPACE, label_selector="in=cache")
    kept.start()
    try:
        until(lambda: kept.cache.list_keys() == [f"{SPACE}/cached"])
        core.patch_namespaced_config_map("cached", SPACE, {"data": {"a": "1"}})
        until(lambda: kept.cache.get_by_key(f"{SPACE}/cached").data == {"a": "1"})
        # It no longer matches the selector, which is a deletion for who watches by it.
        core.patch_namespaced_config_map("cached", SPACE, {"metadata": {"labels": {"in": None}}})
        until(lambda: kept.cache.list_keys() == [])
    finally:
        # Its own stop() joins a thread that may sit in a read; an event ends the read.
        kept._stop_event.set()
        core.create_namespaced_config_map(
            SPACE, V1ConfigMap(metadata=V1ObjectMeta(name="wake", labels={"in": "cache"}))
        )
        kept.stop()


def test_one_of_two_candidates_leads_and_the_other_takes_over(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lock makes its API object without saying for which server.
    monkeypatch.setattr(client.Configuration, "get_default_copy", staticmethod(lambda: api.configuration))
    led: list[str] = []
    first_resigns = threading.Event()

    class Resigned(Exception):
        """Stops renewing the way a crash would."""

    def candidate(name: str) -> Any:
        lock = LeaseLock("election", SPACE, name)
        if name == "first":
            renew = lock.update

            def update(*args: Any) -> bool:
                if first_resigns.is_set():
                    raise Resigned
                return bool(renew(*args))

            lock.update = update
        return leaderelection.LeaderElection(
            electionconfig.Config(
                lock,
                lease_duration=3,
                renew_deadline=2,
                retry_period=1,  # the least it takes
                onstarted_leading=lambda: led.append(name),
                onstopped_leading=None,
            )
        )

    def run(name: str) -> None:
        try:
            candidate(name).run()
        except Resigned:
            return

    def run_until_leading() -> None:
        second = candidate("second")
        assert second.acquire()
        led.append("second")

    first = threading.Thread(target=run, args=("first",), daemon=True)
    first.start()
    until(lambda: led == ["first"])
    second = threading.Thread(target=run_until_leading, daemon=True)
    second.start()
    leases = client.CoordinationV1Api(api)
    before = leases.read_namespaced_lease("election", SPACE)
    assert before.spec.holder_identity == "first"
    until(lambda: leases.read_namespaced_lease("election", SPACE).spec.renew_time > before.spec.renew_time)
    assert led == ["first"]
    first_resigns.set()
    second.join(10)
    assert led == ["first", "second"]
    assert leases.read_namespaced_lease("election", SPACE).spec.holder_identity == "second"
