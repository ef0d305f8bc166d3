"""A run whose containers have nothing to run is refused before anything starts, with the way out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.longshore_command import Command

TEMPLATE = {
    "spec": {
        "restartPolicy": "Never",
        "initContainers": [{"name": "first", "image": "busybox"}],
        "containers": [{"name": "main", "image": "registry.example/tool:2"}],
    }
}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bare"}, "spec": {"template": TEMPLATE}}
GANG = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "gang"},
    "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": TEMPLATE}]},
}


@pytest.mark.parametrize("manifest", [JOB, GANG], ids=["job", "gang"])
def test_a_run_with_an_unknown_image_is_refused_at_once(longshore: Command, manifest: Any) -> None:
    done = longshore("run", "-", stdin=json.dumps(manifest))
    assert done.exit == 2
    assert 'longshore does not know what its image "registry.example/tool:2" runs' in done.stderr
    assert "longshore images add 'registry.example/tool:*' -- COMMAND" in done.stderr
    assert "created" not in done.stderr


def test_without_podman_auto_refuses_it_too(longshore: Command) -> None:
    (longshore.home / "bin").mkdir()
    longshore.env["PATH"] = str(longshore.home / "bin")  # where there is no podman
    done = longshore("run", "--runtime", "auto", "-", stdin=json.dumps(JOB))
    assert done.exit == 2
    assert "longshore images add 'registry.example/tool:*' -- COMMAND" in done.stderr


def test_the_way_out_works(longshore: Command) -> None:
    longshore.ok("images", "add", "registry.example/tool:*", "--", "echo", "as told")
    done = longshore("run", "--logs", "-", stdin=json.dumps(JOB))
    assert done.exit == 0, done.stderr
    assert done.stdout.endswith("as told\n")
