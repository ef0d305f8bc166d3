"""`longshore run --run-as-me`: a manifest that names users runs as whoever runs it, be that root or not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.other_users import python_of_everybody, python_path

USER = 12345
PEOPLE = [0, USER] if os.geteuid() == 0 else [os.geteuid()]


def _job(user: int, group: int) -> dict[str, object]:
    """Asks to be somebody else, and fails unless it is this user of this group."""
    check = f'[ "$(id -u) $(id -g)" = "{user} {group}" ]'
    pod = {
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": 4242, "runAsGroup": 4242, "fsGroup": 4242},
        "containers": [{"name": "main", "image": "none", "command": ["sh", "-c", check]}],
    }
    spec = {"backoffLimit": 0, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "whoami"}, "spec": spec}


def _run(who: int, *options: str) -> subprocess.CompletedProcess[str]:
    """A throw-away run by this user, from a home of theirs."""
    home = Path(tempfile.mkdtemp(dir="/var/tmp"))
    other = {"user": who, "group": who, "extra_groups": []} if who != os.geteuid() else {}
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": python_path()}
    try:
        (home / "job.json").write_text(json.dumps(_job(who, who if other else os.getegid())))
        os.chown(home, who, -1)
        return subprocess.run(
            [
                python_of_everybody() if other else sys.executable,
                "-m",
                "longshore",
                "run",
                *options,
                "job.json",
            ],
            cwd=home,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            **other,  # type: ignore[call-overload] # of words with values of several types
        )
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize("who", PEOPLE)
def test_users_of_a_manifest_are_ignored(who: int) -> None:
    done = _run(who, "--run-as-me")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(PEOPLE == [0], reason="only root can be somebody else")
def test_who_is_not_root_is_told_of_it() -> None:
    done = _run(PEOPLE[-1], "--fail-unstartable", "1s")
    assert done.returncode != 0
    assert "longshore run --run-as-me" in done.stdout + done.stderr
