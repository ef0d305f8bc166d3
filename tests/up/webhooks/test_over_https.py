"""Webhooks over HTTPS fill in and refuse what longshore's own API server fills in and refuses."""

from __future__ import annotations

import asyncio
import base64
import random
import ssl
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from apiserver.volcano_admission import test_jobs_refused
from longshore.api.facts import kinds
from longshore.api.kinds import table
from longshore.api.metrics import Registry
from longshore.api.types import Obj
from longshore.apiserver.admission import volcano
from longshore.client.http.http1 import NoConnection
from longshore.machinery.fence import Fence
from longshore.machinery.time.clock import RealClock
from longshore.up import manifests
from longshore.up.outside.health import page
from longshore.up.webhooks import CannotServe
from longshore.up.webhooks.webhook_service import WebhookService
from support import webhook_kinds
from support.api_in_memory import Server, api_in_memory
from support.volcano_manifests import cron_job, flow, job, pod, pod_group, queue, task
from support.volcano_queues import QUEUE, open_queue, set_state
from support.webhook_caller import Admitted, Operation, WebhookCaller, post

pytestmark = pytest.mark.anyio

NAME, SYSTEM = "longshore-webhooks", "longshore-system"
ROWS = {(row.group_version, row.kind): row for row in table.RESOURCES}


class Cluster(NamedTuple):
    """An API server, a replica that serves webhooks, and who calls them."""

    server: Server
    service: WebhookService
    registry: Registry
    caller: WebhookCaller

    async def admitted(self, obj: Obj | None, old: Obj | None = None, **more: Any) -> Admitted:
        some = obj or old
        assert some is not None
        row = ROWS[some["apiVersion"], some["kind"]]
        kind = "DELETE" if obj is None else "UPDATE" if old else "CREATE"
        where = "default" if row.namespaced else ""
        name = some["metadata"]["name"]
        operation = Operation(row.group, row.version, row.plural, name, kind, where, old, **more)
        return await self.caller.admit(operation, obj)

    async def stored(self, obj: Obj) -> tuple[int, Any]:
        """What longshore's own server makes of it, without keeping it."""
        row = ROWS[obj["apiVersion"], obj["kind"]]
        prefix = f"/apis/{row.group_version}" if row.group else f"/api/{row.version}"
        where = "/namespaces/default" if row.namespaced else ""
        answer = await self.server.send("POST", f"{prefix}{where}/{row.plural}", obj, dryRun="All")
        return answer.code, answer.body


@pytest.fixture(scope="module")
async def cluster(anyio_backend: str) -> AsyncIterator[Cluster]:
    async with api_in_memory() as server:
        client, clock, registry = server.client, RealClock(), Registry()
        await webhook_kinds.define(client)
        for obj in manifests.documents(manifests.WantedInstallation(webhooks=True)):
            if obj["kind"] in ("Namespace", "Service", *webhook_kinds.KINDS):
                await client.create((obj["apiVersion"], obj["kind"]), obj)
        for name in ("root", "default", "parent", "shut"):
            await open_queue(client, name, state="Closed" if name == "shut" else "Open")
        await open_queue(client, "child", parent="parent")
        service = WebhookService(
            client,
            client,
            ("127.0.0.1", 0),
            name=NAME,
            namespace=SYSTEM,
            identity="one",
            fence=Fence(clock),
            clock=clock,
            rng=random.Random(1),
            registry=registry,
        )
        running = asyncio.create_task(service.run())
        while service.port is None:
            assert not running.done(), running.exception()
            await asyncio.sleep(0.01)
        yield Cluster(server, service, registry, WebhookCaller(client, service.port))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


OTHERS: dict[str, Obj] = {
    "a job that is in order": job(task("w", 2), task("x", 3, minAvailable=1), plugins={"mpi": [], "svc": []}),
    "a job without names": job({"replicas": 2, "template": task()["template"]}),
    "an unreadable job": job(policies=[{"event": "PodFailed", "action": "AbortJob", "timeout": "soon"}]),
    "a job for a branch": job(queue="parent"),
    "a job for the root": job(queue="root"),
    "a job for a closed queue": job(queue="shut"),
    "a queue that gets defaults": queue(
        "q", {"volcano.sh/hierarchy": "a/b", "volcano.sh/hierarchy-weights": "1/2"}
    ),
    "a queue below itself": queue("q", parent="q"),
    "a queue below nothing": queue("q", parent="nowhere"),
    "a queue that deserves too much": queue("q", deserved={"cpu": "2"}, capability={"cpu": "1"}),
    "a pod group": pod_group(minMember=2),
    "a pod group for a closed queue": pod_group(queue="shut"),
    "a cron job": cron_job(),
    "a cron job without a schedule": cron_job(schedule="every day"),
    "a flow": flow({"name": "a"}),
    "a flow in a circle": flow({"name": "a", "dependsOn": {"targets": ["a"]}}),
    "a pod of another scheduler": pod({"volcano.sh/jdb-min-available": "0"}, scheduler="other"),
    "a pod of Volcano's": pod({"volcano.sh/jdb-min-available": "0"}),
    "a fair pod of Volcano's": pod({"volcano.sh/jdb-min-available": "1"}),
    "a hyper node": {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "h"},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}]},
    },
    "a hyper node with a bad pattern": {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "h"},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]},
    },
}


async def _alike(cluster: Cluster, given: Obj) -> None:
    code, stored = await cluster.stored(given)
    admitted = await cluster.admitted(given)
    assert admitted.code == code, admitted.message or stored
    if code != 201:
        assert admitted.message == stored["message"]
        return
    again, kept = await cluster.stored(admitted.obj)
    assert again == 201
    assert kept["spec"] == stored["spec"]
    annotations = admitted.obj["metadata"].get("annotations")
    assert annotations == stored["metadata"].get("annotations")


@pytest.mark.parametrize("case", OTHERS)
async def test_an_object_fares_as_on_longshores_own_server(cluster: Cluster, case: str) -> None:
    await _alike(cluster, OTHERS[case])


async def test_every_bad_job_is_refused_in_the_same_words(cluster: Cluster) -> None:
    for body, why in test_jobs_refused.CASES:
        admitted = await cluster.admitted(body)
        assert admitted.message == f'admission webhook "validatejob.volcano.sh" denied the request: {why}'
        assert admitted.called == ["mutatejob.volcano.sh", "validatejob.volcano.sh"]


async def test_defaults_come_as_a_patch_of_what_is_missing_alone(cluster: Cluster) -> None:
    given = job(task("w", 2), queue="child")
    made = (await cluster.admitted(given)).obj
    assert made["spec"] == {
        **given["spec"],
        "schedulerName": "volcano",
        "maxRetry": 3,
        "minAvailable": 2,
        "tasks": [{**given["spec"]["tasks"][0], "minAvailable": 2, "maxRetry": 3}],
    }
    assert made["metadata"] == given["metadata"]


async def test_changes_are_judged_beside_what_was_before(cluster: Cluster) -> None:
    old = (await cluster.admitted(job(task("w", 2)))).obj
    more = {**old, "spec": {**old["spec"], "tasks": [{**old["spec"]["tasks"][0], "replicas": 3}]}}
    assert (await cluster.admitted(more, old)).code == 201
    other = {**old, "spec": {**old["spec"], "queue": "child"}}
    refused = await cluster.admitted(other, old)
    assert "job updates may not change fields other than `minAvailable`" in refused.message
    assert refused.called == ["validatejob.volcano.sh"]


async def test_queues_that_are_needed_are_not_deleted(cluster: Cluster) -> None:
    refused = await cluster.admitted(None, queue("default"))
    assert refused.message.endswith("`default` queue can not be deleted")
    refused = await cluster.admitted(None, queue("parent"))
    assert refused.message.endswith("because it has 1 child queues: child")
    assert (await cluster.admitted(None, queue("child"))).code == 201


async def test_a_queue_that_was_made_a_moment_ago_is_known(cluster: Cluster) -> None:
    for number in range(5):
        await open_queue(cluster.server.client, f"fresh{number}")
        assert (await cluster.admitted(job(queue=f"fresh{number}"))).code == 201
        await set_state(cluster.server.client, f"fresh{number}", "Closed")


async def test_a_job_may_follow_its_queue_before_the_queue_controller_does(cluster: Cluster) -> None:
    await cluster.server.client.create(QUEUE, queue("stateless"))
    assert (await cluster.admitted(job(queue="stateless"))).code == 201
    assert (await cluster.admitted(pod_group(queue="stateless"))).code == 201


async def test_a_namespace_names_the_queue_of_its_pod_groups(cluster: Cluster) -> None:
    client = cluster.server.client
    mark: Obj = {"scheduling.volcano.sh/queue-name": "child"}
    await client.patch(kinds.NAMESPACES, "default", {"metadata": {"annotations": mark}})
    await _queue_becomes(cluster, "child")
    mark = dict.fromkeys(mark)
    await client.patch(kinds.NAMESPACES, "default", {"metadata": {"annotations": mark}})
    await _queue_becomes(cluster, None)


async def _queue_becomes(cluster: Cluster, queue: str | None) -> None:
    """Waits until webhooks have heard of it: nothing is refused, so nothing is read anew."""
    async with asyncio.timeout(20):
        while True:
            if (await cluster.admitted(pod_group())).obj["spec"].get("queue") == queue:
                return
            await asyncio.sleep(0.01)


async def test_oddities_of_pods_are_warned_of(cluster: Cluster) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    odd = {**spec, "nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    admitted = await cluster.admitted(job(task(template={"spec": spec}), task("x", template={"spec": odd})))
    (warning,) = admitted.warnings
    assert warning.startswith("spec.tasks[1].template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated")


async def test_a_dry_run_is_answered_alike_and_nothing_is_ever_written(cluster: Cluster) -> None:
    wet, dry = await cluster.admitted(job()), await cluster.admitted(job(), dry_run=True)
    assert wet.obj == dry.obj
    for what in (kinds.VOLCANO_JOBS, kinds.POD_GROUPS, kinds.EVENTS):
        assert (await cluster.server.client.list(what, "default")).items == []


async def test_requests_are_counted(cluster: Cluster) -> None:
    await cluster.admitted(job(queue="nowhere"))
    text = cluster.registry.text().decode()
    labels = 'allowed="false",operation="CREATE",resource="batch.volcano.sh/jobs",webhook="validate"'
    assert f"longshore_webhook_requests_total{{{labels}}}" in text
    assert "longshore_webhook_certificate_expiration_timestamp_seconds 1." in text


async def test_it_is_ready_and_says_until_when(cluster: Cluster) -> None:
    code, text = page([*cluster.service.ready()])
    assert code == 200, text
    assert b"[+]webhooks: certificate until 20" in text
    assert b"Queue of scheduling.volcano.sh/v1beta1: followed" in text


@pytest.mark.parametrize(
    ("path", "body", "media_type", "code"),
    [
        ("/other", {}, "application/json", 404),
        ("/validate", b"{", "application/json", 400),
        ("/validate", {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"},
         "application/json", 400),
        ("/validate", {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": 7},
         "application/json", 400),
        ("/validate", {}, "text/plain", 415),
    ],
)  # fmt: skip
async def test_what_is_no_review_is_no_answer(
    cluster: Cluster, path: str, body: Any, media_type: str, code: int
) -> None:
    found = await cluster.server.client.get(kinds.SECRETS, NAME, SYSTEM)
    trust = ssl.create_default_context(cadata=base64.b64decode(found["data"]["ca.crt"]).decode())
    assert cluster.service.port is not None
    answer = await post(cluster.service.port, f"{NAME}.{SYSTEM}.svc", path, body, trust, media_type)
    assert answer[0] == code, answer


async def test_a_port_that_is_taken_is_an_error(cluster: Cluster) -> None:
    assert cluster.service.port is not None
    client, clock = cluster.server.client, RealClock()
    other = WebhookService(
        client,
        client,
        ("127.0.0.1", cluster.service.port),
        name=NAME,
        namespace=SYSTEM,
        identity="two",
        fence=Fence(clock),
        clock=clock,
        rng=random.Random(2),
        registry=Registry(),
    )
    with pytest.raises(CannotServe, match=r"--webhooks: .*address already in use"):
        await other.run()


async def test_only_the_authority_of_the_configurations_is_trusted(cluster: Cluster) -> None:
    assert cluster.service.port is not None
    with pytest.raises(NoConnection, match="certificate verify failed"):
        await post(
            cluster.service.port, f"{NAME}.{SYSTEM}.svc", "/validate", {}, ssl.create_default_context()
        )


def test_the_printed_configurations_are_those_of_the_rules() -> None:
    printed = {
        (webhook["name"], obj["kind"].startswith("Mut"), operation, "/".join(filter(None, (group, resource))))
        for obj in manifests.documents(manifests.WantedInstallation(webhooks=True))
        for webhook in obj.get("webhooks", ())
        for rule in webhook["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for operation in rule["operations"]
    }
    assert printed == {tuple(judged) for judged in volcano.judged()}
