"""`longshore up --in-memory --scripted FILE`: a cluster for tests in other languages, with its door."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import forked_longshore
from support.places import ROOT
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

    def asked_until_answered(self, path: str) -> tuple[int, Any]:
        """Asks until the server is back."""
        end = time.monotonic() + 60
        while True:
            try:
                return self.ask("GET", path)
            except OSError:
                assert time.monotonic() < end, "the server is not back"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    file = tmp_path_factory.mktemp("scripted") / "script.yaml"
    file.write_text(SCRIPT)
    words = ["up", "--in-memory", "--port", "0", "--scripted", str(file)]
    with forked_longshore.popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
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


def test_the_door_has_all_that_the_fixture_has(program: Program) -> None:
    ask = program.ask
    assert ask("POST", "/testing/clock/set", {"moment": "2031-01-01T00:00"})[0] == 200
    to = ask("POST", "/testing/clock/advance_to", {"moment": "2031-01-01T02:00", "zone": "Europe/Berlin"})
    assert to == (200, {"now": "2031-01-01T01:00:00+00:00"})
    assert ask("POST", "/testing/script", {"name": "late-*", "runs": [{"after": "1h"}]})[0] == 200
    assert ask("POST", "/apis/batch/v1/namespaces/default/jobs", a_job("late"))[0] == 201
    until = ask("POST", "/testing/clock/until", {"what": "job/late complete", "at_most": "1d"})
    assert until == (200, {"now": "2031-01-01T02:00:00+00:00"})
    assert "succeeded" in ask("POST", "/testing/why", {"object": "job/late"})[1]["text"]
    reasons = {each["reason"] for each in ask("POST", "/testing/events", {"object": "job/late"})[1]}
    assert "SuccessfulCreate" in reasons
    assert "job/late" in ask("GET", "/testing/summary")[1]["text"]
    assert ask("POST", "/testing/exec", {"name": "db-*", "command": "psql *", "output": "14"})[0] == 200
    assert (
        ask("POST", "/testing/answers", {"on": "GET /apis/keda.sh/*", "body": {"a": 1}, "times": 1})[0] == 200
    )
    assert ask("GET", "/apis/keda.sh/v1/x") == (200, {"a": 1})
    assert "the answer to 'psql *' of 'db-*', container='*'" in ask("GET", "/testing/unused")[1]
    assert ask("POST", "/testing/clock/flow", {"speed": 3600})[0] == 200
    while ask("GET", "/testing/clock")[1]["now"] < "2031-01-01T02:10":
        pass
    assert ask("POST", "/testing/clock/flow", {"speed": 0})[0] == 200
    state = ask("POST", "/testing/snapshot")[1]["id"]
    assert ask("DELETE", "/apis/batch/v1/namespaces/default/jobs/late")[0] == 200
    with contextlib.suppress(OSError, http.client.HTTPException):  # it cuts all connections
        ask("POST", "/testing/restore", {"id": state})
    assert program.asked_until_answered("/apis/batch/v1/namespaces/default/jobs/late")[0] == 200


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("clock/advance", {}, "missing required field `duration`"),
        ("clock/advance", {"duration": "1h", "speed": 3}, "unknown field `speed`"),
        ("wait", {"object": 3, "condition": "Complete"}, "Expected `str`, got `int` - at `$.object`"),
        ("faults/conflict", {"on": "PUT gears"}, "nothing that is served here is 'gears'"),
        ("faults/conflict", {"who": "nobody"}, "who: there is no 'nobody'"),
        ("restore", {"id": 99}, "there is no snapshot 99"),
        ("clock/flow", {"speed": -1}, "it must be 0 or more"),
        ("wait", {"object": "job/x", "condition": "Completed"}, "never true of a jobs.batch"),
    ],
)
def test_the_door_refuses_what_it_does_not_know_by_name(
    program: Program, path: str, body: Any, said: str
) -> None:
    code, told = program.ask("POST", f"/testing/{path}", body)
    assert (code, said in told["message"]) == (400, True), told


def test_the_door_describes_itself_and_the_page_lists_every_request(program: Program) -> None:
    document = program.ask("GET", "/testing/openapi.json")[1]
    described = {
        f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods
    }
    page = (ROOT / "docs" / "how-to" / "test-other-languages.md").read_text()
    assert described == set(re.findall(r"^\| `((?:GET|POST|DELETE) [^`]+)` \|", page, re.MULTILINE))
    advance = document["paths"]["/testing/clock/advance"]["post"]["requestBody"]["content"][
        "application/json"
    ]
    schema = document["components"]["schemas"][advance["schema"]["$ref"].rpartition("/")[2]]
    assert (schema["required"], schema["additionalProperties"]) == (["duration"], False)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node on this machine")
def test_the_test_in_node_of_the_page_passes(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "test-other-languages.md").read_text()
    for mark, name in (("# script.yaml", "script.yaml"), ("// report.test.mjs", "report.test.mjs")):
        found = re.search(rf"```\w+\n{mark}\n(.*?)```", page, re.DOTALL)
        assert found
        (tmp_path / name).write_text(found[1])
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    words = ["node", "--test", "report.test.mjs"]
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 1" in done.stdout


def test_a_normal_up_has_no_door_and_a_script_needs_memory(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "longshore", "up", "--scripted", str(tmp_path / "none.yaml")]
    refused = subprocess.run(words, capture_output=True, text=True)
    assert refused.returncode != 0
    assert "--scripted needs --in-memory" in refused.stderr
    refused = subprocess.run([*words, "--in-memory"], capture_output=True, text=True)
    assert refused.returncode != 0
    assert "none.yaml" in refused.stderr
