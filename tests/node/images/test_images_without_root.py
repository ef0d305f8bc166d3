"""Images mean the same to a longshore of an ordinary user, and to pods of other users than root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import pytest

from support.longshore_command import Command
from support.other_users import python_of_everybody
from support.places import ROOT

pytestmark = [
    pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]
USER = 12345
SCRIPT = "id -u; [[ a == a ]] && which bunzip2"


def pod(**security: int) -> str:
    container = {"name": "main", "image": "busybox", "command": ["/bin/sh", "-c", SCRIPT]}
    spec = {"restartPolicy": "Never", "securityContext": security, "containers": [container]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})


def test_an_ordinary_users_pod_of_busybox_has_its_shell_and_applets() -> None:
    python = python_of_everybody()
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, USER, USER)
        packages = sysconfig.get_path("purelib")
        env = {
            "HOME": home,
            "LONGSHORE_HOME": f"{home}/data",
            "PATH": os.defpath,
            "PYTHONPATH": f"{ROOT / 'src'}:{packages}",
        }
        done = subprocess.run(
            [python, "-m", "longshore", "run", "--logs", "-"],
            input=pod(),
            capture_output=True,
            text=True,
            timeout=60,
            user=USER,
            group=USER,
            env=env,
            cwd="/",
        )
    if "which: command not found" in done.stdout or "[[" in done.stdout:
        pytest.skip("an ordinary user can mount nothing here")
    assert done.stdout == f"[p] {USER}\n[p] /run/longshore/busybox/bunzip2\n", done.stderr


def test_a_pod_of_another_user_has_them_too(tmp_path: Path) -> None:
    longshore = Command(tmp_path)
    done = longshore("run", "--logs", "-", stdin=pod(runAsUser=USER))
    assert done.stdout == f"[p] {USER}\n[p] /run/longshore/busybox/bunzip2\n", done.stderr
