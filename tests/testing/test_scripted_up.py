"""`longshore up --in-memory --scripted FILE`: a cluster for tests in other languages, with its door."""

from __future__ import annotations

import base64
import json
import re
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testing.cluster.cluster_manifests import a_job

SCRIPT = """
seed: 3
pods:
- {name: "report-*", runs: [{exit: 1, after: 3s}, {exit: 0, after: 1h}]}
"""


class Program:
    """What a test in another language has: an address, a token, HTTP."""

    def __init__(self, url: str, config: Any) -> None:
        self.url = url
        authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        self.token = config["users"][0]["user"]["token"]

    def ask(self, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.loads(refused.read())


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    file = tmp_path_factory.mktemp("scripted") / "script.yaml"
    file.write_text(SCRIPT)
    words = [sys.executable, "-m", "longshore", "up", "--in-memory", "--port", "0", "--scripted", str(file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        found = re.search(r"ready at (https://\S+); use it with: export KUBECONFIG=(\S+)", line)
        assert found, line
        config = Path(found[2])
        yield Program(found[1], yaml.safe_load(config.read_text()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert not config.exists()


def test_a_test_in_another_language_scripts_pods_moves_time_and_orders_faults(program: Program) -> None:
    ask = program.ask
    assert ask("POST", "/apis/batch/v1/namespaces/default/jobs", a_job())[0] == 201
    before = ask("GET", "/testing/clock")[1]["now"]
    code, job = ask(
        "POST", "/testing/wait", {"object": "job/report", "condition": "Complete", "timeout": "2h"}
    )
    assert (code, job["status"]["succeeded"], job["status"]["failed"]) == (200, 1, 1)
    assert ask("GET", "/testing/clock")[1]["now"] > before
    assert ask("POST", "/testing/clock/advance", {"duration": "1d"})[0] == 200
    at = ask("POST", "/testing/clock/set", {"moment": "2030-01-01T00:00", "zone": "Europe/Berlin"})
    assert at == (200, {"now": "2029-12-31T23:00:00+00:00"})
    assert ask("POST", "/testing/script", {"name": "other-*", "runs": [{"forever": True}]})[0] == 200
    assert ask("POST", "/apis/batch/v1/namespaces/default/jobs", a_job("other"))[0] == 201
    ask("POST", "/testing/clock/advance", {"duration": 1})
    pods = ask("GET", "/api/v1/namespaces/default/pods?labelSelector=job-name%3Dother")[1]["items"]
    assert ask("POST", f"/testing/pods/{pods[0]['metadata']['name']}/succeed")[0] == 200
    assert ask("POST", "/testing/wait", {"object": "job/other", "condition": "Complete"})[0] == 200
    assert ask("POST", "/testing/check")[0] == 200
    assert ask("POST", "/testing/faults/throttle", {"times": 1, "on": "GET pods", "who": "clients"})[0] == 200
    assert ask("GET", "/api/v1/pods")[0] == 429
    assert any(each["method"] == "POST" for each in ask("GET", "/testing/requests")[1])


def test_the_door_refuses_strangers_mistakes_and_what_can_never_be(program: Program) -> None:
    assert program.ask("GET", "/testing/clock", token="wrong")[0] == 401
    assert program.ask("GET", "/testing/nothing")[0] == 404
    assert program.ask("POST", "/testing/script", {"runs": []})[0] == 400
    assert program.ask("POST", "/testing/clock/advance", {"duration": "soon"})[0] == 400
    code, told = program.ask("POST", "/testing/wait", {"object": "job/none", "condition": "Complete"})
    assert code == 409
    assert "job/none is not Complete after 60 s" in told["message"]


def test_a_normal_up_has_no_door_and_a_script_needs_memory(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "longshore", "up", "--scripted", str(tmp_path / "none.yaml")]
    refused = subprocess.run(words, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "--scripted needs --in-memory" in refused.stderr
    refused = subprocess.run([*words, "--in-memory"], capture_output=True, text=True)
    assert refused.returncode != 0
    assert "none.yaml" in refused.stderr
