"""Root of a user namespace, as in rootless containers and build sandboxes: pods run there, with walls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLACES = {
    "-Ur": ["unshare", "-Ur"],
    "-Urm": ["unshare", "-Urm"],
    "-Urmpf": ["unshare", "-Urmpf", "--mount-proc", "--kill-child"],
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> list[str]:
    words = PLACES[request.param]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("this system allows no user namespaces")
    return words


def _longshore(
    place: list[str], home: Path, *words: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*place, sys.executable, "-m", "longshore", *words],
        env={**os.environ, "HOME": str(home)},
        cwd="/",  # at level full a pod sees no working directory below /tmp
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("isolation", [[], ["--isolation", "none"], ["--isolation", "full"]], ids=str)
def test_a_command_runs_at_every_level(place: list[str], tmp_path: Path, isolation: list[str]) -> None:
    done = _longshore(place, tmp_path, "run", *isolation, "--", "echo", "hi")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr


def test_doctor_says_what_can_be_had_there(place: list[str], tmp_path: Path) -> None:
    said = _longshore(place, tmp_path, "doctor").stdout
    assert "pods can have any level up to full, as root of a user namespace" in said


@pytest.mark.parametrize("place", ["-Urmpf"], indirect=True)
def test_a_user_that_the_namespace_does_not_have_is_refused_in_a_sentence(
    place: list[str], tmp_path: Path
) -> None:
    container = {"name": "main", "image": "none", "command": ["true"]}
    pod = {"restartPolicy": "Never", "securityContext": {"runAsUser": 1234}, "containers": [container]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "other"},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }
    words = "run", "--throw-away", "--fail-unstartable", "2s", "-"
    done = _longshore(place, tmp_path, *words, stdin=json.dumps(job))
    assert done.returncode != 0
    assert "the user namespace that longshore runs in has no uid 1234" in done.stdout + done.stderr
