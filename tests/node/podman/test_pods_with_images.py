"""A pod that asks for podman, seen through kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.longshore_command import Command
from support.real_place import Place


@pytest.fixture
def place(tmp_path: Path, working: str) -> Iterator[Place]:
    made = Place(tmp_path)
    made.start()
    yield made
    made.stop()
    assert "Traceback" not in made.said()


def pod(name: str, image: str, *command: str) -> str:
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent", "command": list(command)}
    spec = {"restartPolicy": "Never", "runtimeClassName": "podman", "containers": [container]}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def test_a_pod_runs_in_its_image_and_outlives_longshore(place: Place, working: str) -> None:
    script = "echo in the image; while ! cat /tmp/go 2>/dev/null; do sleep 0.1; done; exit 3"
    place.run(pod("p", working, "sh", "-c", script), "p")
    place.stop(9)
    place.start()
    kubectl = place.kubectl
    assert kubectl.ok("logs", "p") == "in the image\n"
    done = kubectl("exec", "-i", "p", "--", "sh", "-c", "cat > /tmp/text; exit 4", stdin="gone\n")
    assert done.exit == 4, done.stderr
    rename = ("sh", "-c", "busybox mv /tmp/text /tmp/go")
    kubectl("exec", "p", "--", *rename)  # ends the container, and maybe this command before it can say so
    place.phase("p", "Failed")
    assert kubectl.ok("logs", "p") == "in the image\ngone\n"
    code = "{.status.containerStatuses[0].state.terminated.exitCode}"
    assert kubectl.ok("get", "pod", "p", "-o", f"jsonpath={code}") == "3"


def test_a_missing_image_is_waited_for_in_kubernetes_words(place: Place) -> None:
    reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}"
    place.kubectl.ok("apply", "-f", "-", stdin=pod("none", "Not/A::name", "true"))
    place.kubectl.ok("wait", f"--for={reason}=InvalidImageName", "pod/none", "--timeout=10s")


def test_a_debugging_container_sees_the_processes_of_its_target(place: Place, working: str) -> None:
    place.run(pod("p", working, "sh", "-c", "sleep 1000; exit 1"), "p")
    # Of the container that is looked at, process 1 is the first; of one that shares nothing, it is grep.
    look = ("--", "grep", "-c", "sleep", "/proc/1/cmdline")
    for container, words in (("beside", ("--target=main",)), ("alone", ())):
        words = ("debug", "p", f"--image={working}", "-c", container, "--image-pull-policy=Never", *words)
        place.kubectl.ok(*words, *look)
        ended = f'{{.status.ephemeralContainerStatuses[?(@.name=="{container}")].state.terminated.exitCode}}'
        place.kubectl.ok("wait", "pod/p", f"--for=jsonpath={ended}", "--timeout=20s")
    assert place.kubectl.ok("logs", "p", "-c", "beside") == "1\n"
    text = place.kubectl.ok(
        "debug", "p", f"--image={working}", "-i", "-q", "-c", "sh", "--", "sh", "-c", "echo $((40+2))"
    )
    assert "42" in text


def test_run_gives_pods_of_manifests_to_podman(tmp_path: Path, working: str) -> None:
    container = {"name": "main", "image": working, "imagePullPolicy": "IfNotPresent"}
    spec = {"restartPolicy": "Never", "containers": [container]}
    manifest = yaml.safe_dump(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "boxed"}, "spec": spec}
    )
    longshore = Command(tmp_path)
    done = longshore("run", "--runtime", "podman", "--logs", "-", stdin=manifest)
    assert (done.exit, done.stdout) == (0, "[boxed] the image says so\n"), done.stderr
    refused = longshore("run", "--runtime", "podman", "--", "true")
    assert (refused.exit, "--runtime is for manifests" in refused.stderr) == (2, True)
