"""A test sees what code under test did, goes back to a state, and asks whether all promises hold."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from kubernetes import client as k8s

from longshore.api.errors import StatusError
from longshore.testing import Chance, Cluster, Exit, Run, WaitFailed
from testing.cluster.cluster_manifests import a_cronjob, a_gang, a_job, a_pod

YAML = """
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: team}
data: {a: "1"}
"""


def test_objects_are_applied_from_dicts_texts_and_files_and_read_as_plain_dicts(
    c: Cluster, tmp_path: Any
) -> None:
    assert c.apply(a_job(suspend=True))["kind"] == "Job"
    assert [obj["kind"] for obj in c.apply(YAML)] == ["Namespace", "ConfigMap"]
    file = tmp_path / "settings.yaml"
    file.write_text(YAML.replace('"1"', '"2"'))
    c.apply(file)
    c.apply(str(file))
    found = c.get("configmap/settings", namespace="team")
    assert (found["apiVersion"], found["kind"], found["data"]) == ("v1", "ConfigMap", {"a": "2"})
    found["data"].clear()
    assert c.get("cm/settings", namespace="team")["data"] == {"a": "2"}
    assert len(c.list("configmaps", namespace="")) >= 1
    c.delete("job/report")
    with pytest.raises(StatusError, match="not found"):
        c.get("job/report")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda c: c.get("jbo/x"), "there is no kind 'jbo'"),
        (lambda c: c.get("job"), "names no object"),
        (lambda c: c.apply({"kind": "Job"}), "needs apiVersion and kind"),
        (lambda c: c.apply("just words"), "a manifest is a mapping"),
        (lambda c: c.apply({"apiVersion": "example.org/v1", "kind": "Gear"}), "is not served here"),
        (lambda c: c.wait("job/x", "Complete", "soon"), "is not a duration"),
        (lambda c: c.client("boto3"), "there is no client 'boto3'"),
        (lambda c: c.why("configmap/x"), "there are no stories"),
    ],
)
def test_a_mistake_is_refused_with_the_way_out(c: Cluster, wrong: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong(c)


def test_requests_of_clients_are_noted_with_bodies_codes_and_agents(c: Cluster) -> None:
    connection = c.client("kubernetes")
    batch = k8s.BatchV1Api(connection)
    batch.create_namespaced_job("default", a_job())
    with pytest.raises(k8s.ApiException):
        batch.read_namespaced_job("other", "default")
    connection.close()
    (made,) = c.requests.of("POST", "*/jobs")
    assert (made.code, made.body["metadata"]["name"]) == (201, "report")
    assert "python" in made.user_agent
    assert made.ms > 0
    assert [each.code for each in c.requests.of("GET")] == [404]
    assert not c.requests.of("DELETE")
    c.requests.clear()
    assert len(c.requests) == 0


def test_code_under_test_finds_the_cluster_by_itself(c: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with c.environ():
        assert os.environ["KUBECONFIG"] == str(c.kubeconfig)
    assert "KUBECONFIG" not in os.environ
    assert c.kubeconfig_dict["clusters"][0]["cluster"]["server"] == c.url


@pytest.mark.filterwarnings("ignore:Kubernetes version", "ignore::pytest.PytestUnraisableExceptionWarning")
# kr8s knows older versions; neither it nor lightkube can be closed, and their sockets end with their objects
def test_other_clients_are_ready_made(c: Cluster) -> None:
    import asyncio

    import lightkube
    from kubernetes_asyncio import client as k8s_asyncio
    from lightkube.resources.batch_v1 import Job

    c.apply(a_job(suspend=True))
    light = c.client("lightkube")
    assert isinstance(light, lightkube.Client)
    assert light.get(Job, "report", namespace="default").spec.suspend

    async def asked() -> Any:
        async with await c.client("kubernetes_asyncio") as connection:
            return await k8s_asyncio.BatchV1Api(connection).read_namespaced_job("report", "default")

    assert asyncio.run(asked()).spec.suspend
    kr8s = c.client("kr8s")
    assert [job.name for job in kr8s.get("jobs", namespace="default")] == ["report"]


def test_the_dice_of_scripts_fall_the_same_after_each_restore(c: Cluster) -> None:
    c.pods.script("*", Chance((1, Exit(after="10s..60s")), (1, Exit(after="2m..3m"))))
    state, lengths = c.snapshot(), []
    for _ in range(3):
        c.restore(state)
        began = c.clock.now()
        c.apply(a_job())
        c.wait("job/report", "Complete", timeout="5m")
        lengths.append(round((c.clock.now() - began).total_seconds(), 3))
    assert len(set(lengths)) == 1


def test_many_tests_begin_from_one_snapshot(c: Cluster) -> None:
    c.pods.script("*", Exit(0, after="10s"))
    c.apply(a_job(completions=2))
    c.clock.advance("12s")
    before, at = c.get("job/report")["status"], c.clock.now()
    assert before["succeeded"] == 1
    snapshot = c.snapshot()
    for _ in range(2):
        c.wait("job/report", "Complete", "1m")
        assert (c.clock.now() - at).total_seconds() == 8.0
        c.apply(a_pod("later"))
        c.restore(snapshot)
        assert c.clock.now() == at
        assert c.get("job/report")["status"] == before
        assert len(c.list("pods")) == 2
    c.assert_consistent()
    with Cluster() as other:
        other.restore(snapshot)
        other.wait("job/report", "Complete", "1m")


def test_a_wait_for_what_never_comes_ends_with_the_time_and_the_story(c: Cluster) -> None:
    c.pods.script("*", Run.bad_image())
    c.apply(a_job())
    with pytest.raises(WaitFailed, match=r"(?s)after 60 s.*(ErrImagePull|ImagePullBackOff)"):
        c.wait("job/report", "Complete", timeout="1m")


def test_conditions_may_be_phases_functions_and_ends(c: Cluster) -> None:
    c.apply(a_pod())
    assert c.wait("pod/p", "succeeded")["status"]["phase"] == "Succeeded"
    assert c.wait("pod/p", lambda pod: pod["status"]["phase"] == "Succeeded")
    assert c.wait("pod/p", "finished")
    with pytest.raises(WaitFailed, match="it has ended: Succeeded"):
        c.wait("pod/p", "Running")
    c.delete("pod/p")
    assert c.wait("pod/p", "deleted") == {}


def test_a_flow_that_succeeded_has_ended(c: Cluster) -> None:
    flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "metadata": {"name": "fetch"}}
    c.apply({**flow, "kind": "JobTemplate", "spec": a_gang()["spec"]})
    c.apply({**flow, "kind": "JobFlow", "spec": {"flows": [{"name": "fetch"}], "jobRetainPolicy": "retain"}})
    assert c.wait("jobflow/fetch", "finished")["status"]["state"]["phase"] == "Succeed"
    assert c.wait("jobflow/fetch", "succeed")
    with pytest.raises(WaitFailed, match="and never will be: it has ended: Succeed"):
        c.wait("jobflow/fetch", "Failed")


def test_events_and_the_story_of_an_object_are_told(c: Cluster) -> None:
    c.apply(a_cronjob())
    c.clock.advance("1h1m")
    assert "SuccessfulCreate" in {event["reason"] for event in c.events("cronjob/nightly")}
    assert "started the run of 01:00:00" in c.why("cronjob/nightly")


def test_nothing_is_left_of_clusters_that_were_closed() -> None:
    def left() -> tuple[int, int]:
        gc.collect()
        return threading.active_count(), len(os.listdir("/dev/fd"))

    with Cluster():
        pass
    before = left()
    for _ in range(20):
        with Cluster() as c:
            c.apply(a_pod())
            directory = c.kubeconfig.parent
    assert left() == before
    assert not directory.exists()
    c.close()  # twice is fine
    with pytest.raises(RuntimeError, match="does not run"):
        c.list("pods")


def test_a_program_that_forgets_to_close_a_cluster_ends_all_the_same() -> None:
    program = "from longshore.testing import Cluster\nCluster().start()\nprint('end')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "end\n")
