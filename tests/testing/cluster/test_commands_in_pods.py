"""Commands that clients run in pods on script answer as the test says, over a real WebSocket."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import client
from kubernetes.stream import stream

from longshore.testing import Cluster, Exec, Exit, Run
from testing.cluster.cluster_manifests import a_pod

pytestmark = pytest.mark.long


def session(c: Cluster, *command: str, stdin: bool = False, container: str = "main") -> Any:
    """A command that begins, as a user of the `kubernetes` client writes it."""
    core: Any = client.CoreV1Api(c.client("kubernetes"))
    return stream(
        core.connect_get_namespaced_pod_exec,
        "p",
        "default",
        container=container,
        command=list(command),
        stdin=stdin,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )


def ran(opened: Any) -> tuple[int, str]:
    """The exit code and the output of a command, once it has ended."""
    try:
        opened.run_forever()
        return opened.returncode, opened.read_all()
    finally:
        opened.sock.shutdown()  # its close() leaves a socket open that the server has closed


def test_commands_answer_by_pod_container_and_words_and_else_succeed(c: Cluster) -> None:
    c.pods.script("p", Run.forever())
    c.pods.exec("p", Exec(3, "no such table"), command="psql *")
    c.pods.exec("p", Exec(output="for another container"), container="side", command="psql *")
    c.pods.exec("q", Exec(output="for another pod"))
    c.apply(a_pod())
    assert ran(session(c, "psql", "-c", "select 1")) == (3, "no such table")
    assert ran(session(c, "ls")) == (0, "")


def test_a_shell_waits_for_its_input_and_may_end_its_container(c: Cluster) -> None:
    pod = a_pod()
    pod["spec"]["containers"].append({"name": "side", "image": "alpine"})
    c.pods.script("p", Exit(0))
    c.pods.script("p", Run.forever(), container="side")
    c.pods.exec("p", Exec(reads_input=True, ends=0), container="side", command="/bin/sh")
    c.apply(pod)
    opened = session(c, "/bin/sh", stdin=True, container="side")
    c.clock.advance("1h")
    assert c.get("pod/p")["status"]["phase"] == "Running"
    opened.write_stdin("kill -2 1\n")
    assert ran(opened) == (0, "")
    assert c.wait("pod/p", "Succeeded", "1m")["status"]["phase"] == "Succeeded"


def test_answers_are_part_of_a_snapshot(c: Cluster) -> None:
    c.pods.script("p", Run.forever())
    c.pods.exec("p", Exec(output="before"))
    c.apply(a_pod())
    state = c.snapshot()
    c.pods.exec("p", Exec(output="after"))
    with Cluster() as other:
        for each in (c, other):
            each.restore(state)
            assert ran(session(each, "say")) == (0, "before")
