"""Shards and webhooks with the rights that `longshore manifests` prints, and no others, as real processes.

Part of `make test-outside`: two replicas have a shard each, one leaves, and a spare has its shard.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.client.config.connection import from_kubeconfig
from longshore.client.http import HttpClient
from longshore.up import manifests
from support import webhook_kinds
from support.longshore_process import RunningLongshore, longshore_up
from support.volcano_manifests import job as volcano_job
from support.webhook_caller import Admitted, Operation, WebhookCaller
from up.outside.test_volcano_outside import PLURALS, as_account, install

pytestmark = pytest.mark.skipif(
    not os.environ.get("LONGSHORE_TEST_OUTSIDE"), reason="make test-outside runs this"
)
CONTROLLERS = ("cronjob", "job", "ttl", "volcano-job", "volcano-queue")
WANTED = manifests.WantedInstallation(controllers=CONTROLLERS, shards=2, webhooks=True)
MERGE = "application/merge-patch+json"
SECONDS = 60.0


class Replica:
    def __init__(self, kubeconfig: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = log
        command = [sys.executable, "-m", "longshore", "controllers", "--kubeconfig", str(kubeconfig), "-v"]
        words = ["--controllers", ",".join(CONTROLLERS), "--shards", "2"]
        webhooks = [f"--webhooks=127.0.0.1:{self.port}"]
        with log.open("w") as err:
            self.process = subprocess.Popen(
                [*command, *words, *webhooks], stdout=subprocess.PIPE, stderr=err, text=True
            )

    def ready(self) -> None:
        assert self.process.stdout is not None
        assert "ready" in self.process.stdout.readline(), self.log.read_text()

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(20) == 0


@contextmanager
def replicas(kubeconfig: Path, folder: Path, *names: str) -> Iterator[list[Replica]]:
    some = [Replica(kubeconfig, folder / name) for name in names]
    try:
        yield some
    finally:
        for replica in some:
            replica.process.kill()
            replica.process.communicate()


@pytest.fixture(scope="module")
def longshore() -> Iterator[RunningLongshore]:
    own = ("--no-node", "--no-scheduler", "--controllers", "garbage,namespace,serviceaccount")
    with longshore_up("--in-memory", *own) as running:
        for kind in webhook_kinds.KINDS:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            running.made("POST", path, webhook_kinds.definition(kind))
        for obj in manifests.documents(WANTED):
            if obj["kind"] in PLURALS:
                install(running, obj)
            elif obj["kind"] in webhook_kinds.KINDS:
                path = f"/apis/{webhook_kinds.GROUP}/v1/{obj['kind'].lower()}s"
                running.made("POST", path, obj)
        yield running


def a_job() -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    return {"metadata": {"name": "j"}, "spec": {"template": template, "managedBy": WANTED.managed_by}}


def complete(longshore: RunningLongshore, namespaces: list[str]) -> None:
    """Creates a Job in each namespace and ends its pod; waits until all are counted."""
    for name in namespaces:
        longshore.made("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        longshore.made("POST", f"/apis/batch/v1/namespaces/{name}/jobs", a_job())
    ended: set[str] = set()
    end = time.monotonic() + SECONDS
    while ended != {*namespaces}:
        assert time.monotonic() < end, {*namespaces} - ended
        for name in namespaces:
            _, pods = longshore.request("GET", f"/api/v1/namespaces/{name}/pods")
            for pod in pods["items"]:
                where = f"/api/v1/namespaces/{name}/pods/{pod['metadata']['name']}/status"
                status = {"status": {"phase": "Succeeded"}}
                longshore.request("PATCH", where, status, content_type=MERGE)
            _, job = longshore.request("GET", f"/apis/batch/v1/namespaces/{name}/jobs/j")
            if (job.get("status") or {}).get("completionTime"):
                ended.add(name)
        time.sleep(0.05)


def admitted(longshore: RunningLongshore, port: int, obj: Obj) -> Admitted:
    async def call() -> Admitted:
        async with HttpClient(from_kubeconfig(longshore.kubeconfig, "")) as client:
            operation = Operation("batch.volcano.sh", "v1alpha1", "jobs", "j", namespace="default")
            return await WebhookCaller(client, port).admit(operation, obj)

    return asyncio.run(call())


def until_served(longshore: RunningLongshore, replica: Replica) -> None:
    """Waits until the replica listens and the configurations say whom to trust."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", replica.port), 1):
                pass
            path = f"/apis/{webhook_kinds.GROUP}/v1/validatingwebhookconfigurations/longshore-webhooks"
            _, found = longshore.request("GET", path)
            if all(webhook["clientConfig"].get("caBundle") for webhook in found["webhooks"]):
                return
        except OSError:
            pass
        assert time.monotonic() < end, replica.log.read_text()
        time.sleep(0.05)


def until_waiting(replica: Replica) -> None:
    end = time.monotonic() + SECONDS
    while "all 2 shards are held" not in replica.log.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_shards_and_webhooks_need_no_more_than_the_printed_rights(
    longshore: RunningLongshore, tmp_path: Path
) -> None:
    kubeconfig = as_account(longshore, "longshore-controllers", tmp_path / "kubeconfig")
    with replicas(kubeconfig, tmp_path, "one", "two") as (one, two):
        one.ready()
        two.ready()
        complete(longshore, [f"team-{number}" for number in range(8)])
        for replica in (one, two):
            until_served(longshore, replica)
            refused = admitted(longshore, replica.port, volcano_job(queue="nowhere"))
            assert 'unable to find job queue: queue.scheduling.volcano.sh "nowhere"' in refused.message
        with replicas(kubeconfig, tmp_path, "spare") as (spare,):
            until_waiting(spare)
            one.stop()
            spare.ready()
            complete(longshore, [f"later-{number}" for number in range(8)])
            two.stop()
            spare.stop()
    leases: Any = longshore.request(
        "GET", "/apis/coordination.k8s.io/v1/namespaces/longshore-system/leases"
    )[1]  # fmt: skip
    assert "longshore-webhooks" in {lease["metadata"]["name"] for lease in leases["items"]}
    for replica in (one, two, spare):
        said = replica.log.read_text()
        assert "forbidden" not in said, said


def test_a_right_that_is_missing_is_seen(longshore: RunningLongshore, tmp_path: Path) -> None:
    """So the test above would notice."""
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/longshore-controllers"
    _, role = longshore.request("GET", path)
    rules = [rule for rule in role["rules"] if rule["apiGroups"] != [webhook_kinds.GROUP]]
    assert rules != role["rules"]
    longshore.made("PUT", path, {**role, "rules": rules})
    kubeconfig = as_account(longshore, "longshore-controllers", tmp_path / "kubeconfig")
    with replicas(kubeconfig, tmp_path, "one") as (one,):
        end = time.monotonic() + SECONDS
        while "forbidden" not in one.log.read_text():
            assert time.monotonic() < end
            time.sleep(0.05)
