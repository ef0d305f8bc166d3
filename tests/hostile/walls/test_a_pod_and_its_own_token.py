"""A pod in a real longshore reaches for more by the token that it has, at every level, as root and as an
ordinary user: Jobs with fewer walls are refused, and no file of the administrator's is seen."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostile.walls.test_walls_hold import LEVELS, PEOPLE, USER
from support.longshore_process import READY, RunningLongshore
from support.other_users import python_of_everybody, python_path
from support.wall_attacks import BY_TOKEN

SYSTEM_PYTHON = "/usr/bin/python3"
_ATTACK = """
import json, os, ssl, sys, time, urllib.error, urllib.request
secrets = "/var/run/secrets/kubernetes.io/serviceaccount"
server = "https://%s:%s" % (os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"])
tls = ssl.create_default_context(cafile=secrets + "/ca.crt")
def post(path, body):
    head = {"Authorization": "Bearer " + open(secrets + "/token").read(), "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(server + path, json.dumps(body).encode(), head),
                                    context=tls, timeout=20) as answer:
            return [answer.status, ""]
    except urllib.error.HTTPError as error:
        return [error.code, json.load(error)["message"]]
where = "/apis/batch/v1/namespaces/default/"
plain = json.loads(sys.argv[2])
while post(where + "jobs?dryRun=All", plain)[0] != 201:
    time.sleep(0.1)  # its rights are on the way
found = {name: post(path, body) for name, (path, body) in json.loads(sys.argv[1]).items()}
print(json.dumps({"posted": found, "seen": os.path.exists(sys.argv[3] + "/token")}))
"""


def _pod(name: str, annotations: Any = None, context: Any = None, **spec: Any) -> Any:
    container = {"name": "c", "image": "none", "command": ["true"], "securityContext": context or {}}
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


def _job(pod: Any) -> Any:
    return {"metadata": {"name": pod["metadata"].pop("name")}, "spec": {"template": pod}}


def _attacks(data: Path) -> dict[str, Any]:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    none = {"longshore.dev/isolation": "none"}
    volcano = {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": _pod("x", none)}]}
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _pod("x", none)}}}
    over = [{"name": "v", "hostPath": {"path": str(data)}}]
    return {
        "no walls": (jobs, _job(_pod("a", none))),
        "hostPath": (jobs, _job(_pod("b", volumes=over))),
        "privileged": (jobs, _job(_pod("c", context={"privileged": True}))),
        "hostPID": (jobs, _job(_pod("d", hostPID=True))),
        "capability": (jobs, _job(_pod("e", context={"capabilities": {"add": ["MKNOD"]}}))),
        "CronJob": (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {"metadata": {"name": "f"}, "spec": cron},
        ),
        "Volcano Job": (
            "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs",
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "Job",
                "metadata": {"name": "g"},
                "spec": volcano,
            },
        ),
    }


@contextlib.contextmanager
def _longshore(who: str) -> Iterator[tuple[RunningLongshore, Path]]:
    """A longshore of root or of an ordinary user; its data lies outside /tmp, which pods do not see."""
    is_other = who == "user" and os.geteuid() == 0
    python = python_of_everybody() if is_other else sys.executable
    home = Path(tempfile.mkdtemp(dir="/var/tmp"))
    options: dict[str, Any] = {}
    if is_other:
        os.chown(home, USER, USER)
        options = {"user": USER, "group": USER, "extra_groups": []}
    data = home / "data"
    env = {
        "PYTHONPATH": python_path(),
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    words = [python, "-m", "longshore", "up", "--data-dir", str(data), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env, cwd="/", **options)
    try:
        assert process.stdout is not None
        ready = READY.fullmatch(process.stdout.readline())
        assert ready is not None
        yield RunningLongshore(ready[1], Path(ready[2])), data
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(home)


@functools.cache
def results(who: str) -> dict[str, Any]:
    """By level, what a pod of that level came to."""
    with _longshore(who) as (longshore, data):
        words = [
            SYSTEM_PYTHON,
            "-c",
            _ATTACK,
            json.dumps(_attacks(data)),
            json.dumps(_job(_pod("plain"))),
            str(data),
        ]
        for level in LEVELS:
            pod = _pod(level, {"longshore.dev/isolation": level})
            pod["spec"]["containers"][0]["command"] = [word.replace("$", "$$") for word in words]
            longshore.made("POST", "/api/v1/namespaces/default/pods", pod)
        return {level: _said(longshore, level) for level in LEVELS}


def _said(longshore: RunningLongshore, name: str) -> Any:
    path = f"/api/v1/namespaces/default/pods/{name}"
    deadline = time.monotonic() + 60
    while (phase := longshore.made("GET", path)["status"]["phase"]) not in ("Succeeded", "Failed"):
        assert time.monotonic() < deadline, phase
        time.sleep(0.1)
    said = longshore.text(f"{path}/log")
    assert phase == "Succeeded", said
    return json.loads(said)


@pytest.mark.skipif(
    not os.path.exists(SYSTEM_PYTHON), reason="pods of every user need a Python of the system"
)
@pytest.mark.parametrize("attack", _attacks(Path("/")))
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.xdist_group("walls")
def test_the_token_of_a_pod_does_not_undo_walls(who: str, level: str, attack: str) -> None:
    code, message = results(who)[level]["posted"][attack]
    held = code == 403 and 'violates PodSecurity "isolated:latest"' in message
    assert held == BY_TOKEN.holds(level, is_root=who == "root"), message


@pytest.mark.skipif(
    not os.path.exists(SYSTEM_PYTHON), reason="pods of every user need a Python of the system"
)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.xdist_group("walls")
def test_the_data_directory_of_its_own_longshore_is_seen_without_walls_alone(who: str, level: str) -> None:
    assert results(who)[level]["seen"] == (level == "none")
