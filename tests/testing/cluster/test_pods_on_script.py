"""Pods of a cluster do what the test says, and the real controllers act on it."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.testing import Cluster, Exit, Run, WaitFailed
from testing.cluster.cluster_manifests import a_gang, a_job, a_pod


def phases(c: Cluster) -> list[str]:
    return [pod["status"]["phase"] for pod in c.list("pods")]


def ends(c: Cluster, **selected: Any) -> list[dict[str, Any]]:
    pods = c.list("pods", **selected)
    return [pod["status"]["containerStatuses"][0]["state"].get("terminated") for pod in pods]


def test_without_a_script_pods_succeed_at_once(c: Cluster) -> None:
    c.apply(a_job(completions=3, parallelism=3))
    assert c.wait("job/report", "Complete")["status"]["succeeded"] == 3


def test_a_job_fails_once_waits_and_succeeds_as_its_script_says(c: Cluster) -> None:
    began = c.clock.now()
    c.pods.script("report-*", Exit(1, after="3s", logs="no such table\n"), Exit(0))
    c.apply(a_job())
    status = c.wait("job/report", "Complete", timeout="1m")["status"]
    assert (status["succeeded"], status["failed"]) == (1, 1)
    assert (c.clock.now() - began).total_seconds() == 13.0  # three seconds, then ten of back-off
    (failed,) = c.list("pods", fields="status.phase=Failed")
    assert c.logs(failed["metadata"]["name"]) == "no such table\n"


def test_each_index_goes_its_own_way(c: Cluster) -> None:
    c.pods.script("report", Exit(42), index=1)
    c.apply(a_job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=0))
    status = c.wait("job/report", "Failed")["status"]
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1")


def test_a_container_restarts_in_place_and_each_restart_is_an_attempt(c: Cluster) -> None:
    c.pods.script("report", Exit(2), Exit(3, after="1s"), Exit(0))
    c.apply(a_job(restart="OnFailure"))
    c.wait("job/report", "Complete", "5m")
    (pod,) = c.list("pods")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 2


def test_an_end_by_signal_by_memory_and_with_last_words_is_told_in_the_status(c: Cluster) -> None:
    c.pods.script("segv", Run.killed("SIGSEGV"))
    c.pods.script("oom", Run.oom())
    c.pods.script("words", Exit(4, message="the disk is full"))
    for name in ("oom", "segv", "words"):
        c.apply(a_pod(name))
    oom, segv, words = ends(c)
    assert (oom["exitCode"], oom["reason"], oom["signal"]) == (137, "OOMKilled", 9)
    assert (segv["exitCode"], segv["signal"]) == (139, 11)
    assert (words["exitCode"], words["message"]) == (4, "the disk is full")


def test_a_pod_that_never_starts_waits_with_the_reason(c: Cluster) -> None:
    c.pods.script("image", Run.bad_image())
    c.pods.script("config", Run.missing_config("settings"))
    for name in ("config", "image"):
        c.apply(a_pod(name))
    c.clock.advance("1m")
    config, image = (pod["status"]["containerStatuses"][0]["state"]["waiting"] for pod in c.list("pods"))
    assert (config["reason"], config["message"]) == (
        "CreateContainerConfigError",
        'configmap "settings" not found',
    )
    assert image["reason"] in ("ErrImagePull", "ImagePullBackOff")
    assert phases(c) == ["Pending", "Pending"]


def test_a_bad_image_alternates_between_pulls_and_longer_waits_with_a_kubelets_events(c: Cluster) -> None:
    c.pods.script("p", Run.bad_image("no such tag"), Run.bad_image("no such tag"), Exit(0))
    pod = a_pod()
    pod["spec"]["nodeName"] = "node"
    c.apply(pod)

    def waiting() -> tuple[str, str]:
        state = c.get("pod/p")["status"]["containerStatuses"][0]["state"]["waiting"]
        return state["reason"], state["message"]

    wait = ("ImagePullBackOff", 'Back-off pulling image "busybox": ErrImagePull: no such tag')
    seen = []
    for seconds in (0.5, 2, 8, 2):  # the second pull is at 10 s, the third one at 30 s
        c.clock.advance(seconds)
        seen.append(waiting())
    assert seen == [("ErrImagePull", "no such tag"), wait, ("ErrImagePull", "no such tag"), wait]
    events = {(e["type"], e["reason"], e["message"]) for e in c.events("pod/p")}
    assert events == {
        ("Normal", "Pulling", 'Pulling image "busybox"'),
        ("Warning", "Failed", 'Failed to pull image "busybox": no such tag'),
        ("Warning", "Failed", "Error: ErrImagePull"),
        ("Normal", "BackOff", 'Back-off pulling image "busybox"'),
        ("Warning", "Failed", "Error: ImagePullBackOff"),
    }
    c.wait("pod/p", "Succeeded")
    assert {e["count"] for e in c.events("pod/p") if e["reason"] in ("Pulling", "Failed", "BackOff")} == {2}


def test_the_first_pod_of_a_cluster_has_all_events_of_its_first_moment(c: Cluster) -> None:
    c.pods.script(Run.bad_image())
    c.apply(a_job())
    c.clock.advance("2s")
    (pod,) = c.list("pods")
    reasons = {event["reason"] for event in c.events(f"pod/{pod['metadata']['name']}")}
    assert reasons == {"Scheduled", "Pulling", "Failed", "BackOff"}


def test_no_event_speaks_of_commands_of_this_machine(c: Cluster) -> None:
    c.apply(a_job())
    c.wait("job/report", "Complete")
    assert [e["reason"] for e in c.events() if "machine" in e["message"]] == []
    assert {"Scheduled", "Created", "Started", "Completed"} <= {e["reason"] for e in c.events()}


def test_a_script_for_a_job_needs_no_name(c: Cluster) -> None:
    c.pods.script(Exit(3), job="report")
    c.pods.script(lambda pod: Exit(4), labels="own=yes")
    for job in (a_job(backoffLimit=0), a_job("other")):
        c.apply(job)
    c.wait("job/report", "Failed")
    c.wait("job/other", "Complete")


def test_a_pod_is_ready_only_after_its_delay(c: Cluster) -> None:
    c.pods.script("report", Run("1m", ready_after="20s"))
    c.apply(a_job())
    c.clock.advance("19s")
    assert c.get("job/report")["status"]["ready"] == 0
    c.clock.advance("3s")
    assert c.get("job/report")["status"]["ready"] == 1


def test_probes_of_a_pod_succeed_when_its_script_says_ready(c: Cluster) -> None:
    pod = a_pod()
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    pod["spec"]["containers"][0] |= {"readinessProbe": probe, "livenessProbe": probe}
    c.pods.script("p", Run.forever(ready_after="30s"))
    c.apply(pod)
    c.clock.advance("29s")
    assert not c.get("pod/p")["status"]["containerStatuses"][0]["ready"]
    c.clock.advance("3s")
    assert c.get("pod/p")["status"]["containerStatuses"][0]["ready"]
    assert c.get("pod/p")["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_pod_that_hangs_on_sigterm_is_killed_after_its_grace_period(c: Cluster) -> None:
    c.pods.script("p", Run.forever(on_term=None))
    c.apply(a_pod())
    c.delete("pod/p")
    c.clock.advance("29s")
    assert phases(c) == ["Running"]
    c.clock.advance("3s")
    assert phases(c) == []


def test_by_hand_pods_succeed_fail_run_out_of_memory_and_are_evicted(c: Cluster) -> None:
    c.pods.default(Run.forever())
    for name in ("a", "b", "c", "d"):
        c.apply(a_pod(name))
    c.pods["a"].succeed()
    c.pods["default/b"].fail(3)
    c.pods["c"].oom()
    c.pods["d"].evict()
    c.clock.advance("1m")
    assert [end["exitCode"] for end in ends(c)] == [0, 3, 137]
    with pytest.raises(RuntimeError, match=r"does not run: it is Succeeded.*Run\.forever"):
        c.pods["a"].fail()


def test_the_pods_of_a_node_that_crashes_are_replaced(c: Cluster) -> None:
    c.pods.script("report", Run.forever(), Exit(0))
    c.apply(a_job())
    (pod,) = c.list("pods")
    c.pods[pod["metadata"]["name"]].crash_node(noticed=0)
    status = c.wait("job/report", "Complete", "5m")["status"]
    assert (status["succeeded"], status["failed"]) == (1, 1)


def test_a_node_that_crashes_is_noticed_after_40_seconds_and_its_pods_leave_after_300(c: Cluster) -> None:
    c.pods.script("report", Run.forever(), Exit(0))
    c.apply(a_job())
    (pod,) = c.list("pods")
    c.pods[pod["metadata"]["name"]].crash_node()

    def ready() -> str:
        conditions = c.get("node/node")["status"]["conditions"]
        return next(each["status"] for each in conditions if each["type"] == "Ready")

    c.clock.advance("39s")
    assert ready() == "True"
    c.clock.advance("2s")
    assert ready() == "Unknown"
    assert len(c.get("node/node")["status"]["conditions"]) == 4
    assert "node.kubernetes.io/unreachable" in {each["key"] for each in c.get("node/node")["spec"]["taints"]}
    c.clock.advance("298s")
    assert [each["metadata"]["name"] for each in c.list("pods")] == [pod["metadata"]["name"]]
    assert "deletionTimestamp" not in c.list("pods")[0]["metadata"]
    c.clock.advance("3s")
    assert "deletionTimestamp" in c.get(f"pod/{pod['metadata']['name']}")["metadata"]
    status = c.wait("job/report", "Complete", "2m")["status"]
    assert (status["succeeded"], status["failed"], ready()) == (1, 1, "True")
    c.clock.advance("1m")
    assert not c.get("node/node")["spec"].get("taints")
    c.assert_consistent()


def test_a_gang_runs_on_script_too(c: Cluster) -> None:
    c.pods.script("train-worker-*", Exit(0, after="10s"))
    c.apply(a_gang())
    assert c.wait("vcjob/train", "Completed")["status"]["runningDuration"] == "10s"
    assert phases(c) == ["Succeeded"] * 3


def test_a_function_of_pods_must_not_ask_the_cluster(c: Cluster) -> None:
    said: list[str] = []

    def asks(pod: dict[str, Any]) -> Run:
        try:
            c.list("pods")
        except RuntimeError as err:
            said.append(str(err))
        return Run()

    c.pods.script("p", asks)
    c.apply(a_pod())
    assert "own thread" in said[0]


def test_spreads_come_from_the_seed() -> None:
    def length(seed: int) -> float:
        with Cluster(seed=seed) as c:
            c.pods.script("*", Exit(0, after="10s..1h"))
            c.apply(a_job())
            began = c.clock.now()
            c.wait("job/report", "Complete", "2h")
            return (c.clock.now() - began).total_seconds()

    assert length(1) == length(1)
    assert length(1) != length(2)


def test_a_wait_that_can_never_end_well_ends_at_once_with_the_story(c: Cluster) -> None:
    c.pods.script("report", Exit(7))
    c.apply(a_job(backoffLimit=0))
    began = c.clock.now()
    with pytest.raises(WaitFailed) as failed:
        c.wait("job/report", "Complete", timeout="1d")
    assert (c.clock.now() - began).total_seconds() < 10
    story = str(failed.value)
    assert "never will be" in story
    assert "BackoffLimitExceeded" in story
    assert "exit code 7" in story
    assert "last events" in story
