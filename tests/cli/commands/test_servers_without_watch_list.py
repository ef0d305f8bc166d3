"""Commands that wait do so on any Kubernetes: also where a watch cannot begin with what exists."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import yaml

from kubectl.recording_proxy import RecordingProxy, recording
from longshore.cli.arguments import pod_choice
from longshore.cli.server.requests import Server
from longshore.client.config.connection import Connection
from support.longshore_command import Command
from support.longshore_process import RunningLongshore, longshore_up

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, command: [echo, hello]}]
"""


@pytest.fixture(scope="module")
def served() -> Iterator[RunningLongshore]:
    with longshore_up() as longshore:
        yield longshore


@pytest.fixture(scope="module")
def proxy(served: RunningLongshore) -> Iterator[RecordingProxy]:
    with recording(served, watch_list=False) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def command(proxy: RecordingProxy, tmp_path_factory: pytest.TempPathFactory) -> Command:
    home = tmp_path_factory.mktemp("home")
    config = {
        "clusters": [{"name": "c", "cluster": {"server": proxy.url}}],
        "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "current-context": "x",
    }
    (home / "kubeconfig").write_text(yaml.safe_dump(config))
    return Command(home, {"KUBECONFIG": str(home / "kubeconfig")})


def _config_map(served: RunningLongshore, name: str, finalizer: str = "") -> None:
    meta = {"name": name} | ({"finalizers": [finalizer]} if finalizer else {})
    served.made("POST", CONFIG_MAPS, {"metadata": meta})


def test_a_condition_is_waited_for(served: RunningLongshore, command: Command) -> None:
    _config_map(served, "asked")
    waiting = command.start("wait", "--for=jsonpath={.data.done}=yes", "cm/asked", "--timeout=60s")
    served.made("PUT", f"{CONFIG_MAPS}/asked", {"metadata": {"name": "asked"}, "data": {"done": "yes"}})
    assert waiting.communicate(timeout=60) == ("configmap/asked condition met\n", "")


def test_a_creation_is_waited_for(served: RunningLongshore, command: Command) -> None:
    waiting = command.start("wait", "--for=create", "cm/new", "--timeout=60s")
    _config_map(served, "new")
    assert waiting.communicate(timeout=60) == ("configmap/new condition met\n", "")


def test_a_deletion_is_waited_for(served: RunningLongshore, command: Command) -> None:
    _config_map(served, "held", "example.org/held")
    deleting = command.start("delete", "cm/held", "--timeout=60s")
    assert deleting.stdout is not None
    assert deleting.stdout.readline() == 'configmap "held" deleted from default namespace\n'
    patch = {"metadata": {"finalizers": None}}
    served.made("PATCH", f"{CONFIG_MAPS}/held", patch, content_type="application/merge-patch+json")
    assert deleting.communicate(timeout=60) == ("", "")
    assert deleting.returncode == 0


def test_the_pods_of_a_job_and_its_end_are_waited_for(
    served: RunningLongshore, proxy: RecordingProxy, command: Command
) -> None:
    command.ok("apply", "-f", "-", stdin=JOB)
    with (
        closing(Server(Connection(proxy.url), "default")) as server,
        ThreadPoolExecutor() as threads,
    ):
        awaited = threads.submit(pod_choice.named, server, "job/short", 60)
        proxy.wait_for(lambda seen: seen.path.endswith("/pods") and "watch" in seen.query, awaited.done)
        patch = {"spec": {"suspend": False}}
        where = "/apis/batch/v1/namespaces/default/jobs/short"
        served.made("PATCH", where, patch, content_type="application/merge-patch+json")
        (pod,) = awaited.result()
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "short"
    assert command.ok("wait", "--for=done", "job/short").startswith("job.batch/short ")


def test_a_run_is_followed_to_its_end_and_replaced(command: Command) -> None:
    words = "run", "--kubeconfig", "kubeconfig", "--name", "followed"
    assert command.ok(*words, "--", "echo", "hello") == "hello\n"
    assert command.ok(*words, "--replace", "--", "echo", "again") == "again\n"
