"""`--runtime auto`: real images run in podman, images that this machine knows run as processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.longshore_command import Command
from support.real_place import Place


@pytest.fixture
def place(tmp_path: Path, working: str) -> Iterator[Place]:
    made = Place(tmp_path)
    made.start("--runtime", "auto")
    yield made
    made.stop()
    assert "Traceback" not in made.said()


def pod(name: str, image: str, *command: str) -> str:
    container = {"name": "main", "image": image, "imagePullPolicy": "IfNotPresent", "command": [*command]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def engine(place: Place, name: str) -> str:
    found = place.kubectl.ok("get", "pod", name, "-o", "jsonpath={.status.containerStatuses[0].containerID}")
    return found.partition("://")[0]


def test_a_pod_keeps_its_engine_when_its_image_gets_a_meaning(
    place: Place, working: str, tmp_path: Path
) -> None:
    place.kubectl.ok("apply", "-f", "-", stdin=pod("bare", working))
    place.phase("bare", "Succeeded")
    assert place.kubectl.ok("logs", "bare") == "the image says so\n"
    place.run(pod("real", working, "sh", "-c", "while ! [ -e /tmp/go ]; do sleep 0.1; done; exit 3"), "real")
    place.run(pod("known", "busybox", "sleep", "1000"), "known")
    assert (engine(place, "real"), engine(place, "known")) == ("podman", "process")
    name = working.partition(":")[0]
    Command(tmp_path).ok(
        "images", "--images", str(tmp_path / "data" / "images.yaml"), "add", name, "--", "true"
    )
    place.stop(9)
    place.start("--runtime", "auto")
    place.kubectl.ok("exec", "real", "--", "sh", "-c", "echo >/tmp/go")
    place.phase("real", "Failed")
    assert engine(place, "real") == "podman"
    place.kubectl.ok("apply", "-f", "-", stdin=pod("later", working))
    place.phase("later", "Succeeded")
    assert engine(place, "later") == "process"
