"""Everyday kubectl commands print, and ask for, what they did against real Kubernetes v1.36.4."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubectl import loosened, older_kubectl
from kubectl.recording_proxy import Seen, recording
from kubectl.stage import Stage
from support import kubectl_binary
from support.longshore_process import longshore_up
from support.places import RECORDED

RECORDING = RECORDED / "vectors/kubectl/commands.json"
COMMANDS: list[dict[str, Any]] = json.loads(RECORDING.read_text())
RECORDED_MINOR = 36
DRAWN = {
    "timeoutSeconds": "<random>",
    "resourceVersion": "<rv>",
    "continue": "<continue>",
    "hash": "<hash>",
}
"""Query parameters whose values differ from run to run."""

pytestmark = [
    # One longshore plays all commands; on two workers it would be played twice.
    pytest.mark.xdist_group("recorded kubectl commands"),
]


@pytest.fixture(scope="module")
def minor() -> int:
    return kubectl_binary.minor_version(kubectl_binary.find())


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    words = "--no-node", "--no-scheduler", "--controllers", "none"
    with longshore_up(*words) as longshore, recording(longshore) as proxy:
        yield Stage(longshore, proxy, tmp_path_factory.mktemp("kubectl"), COMMANDS)


def numbered(wanted: Callable[[dict[str, Any]], bool]) -> pytest.MarkDecorator:
    chosen = [(i, c["name"]) for i, c in enumerate(COMMANDS) if wanted(c)]
    return pytest.mark.parametrize(("number", "name"), chosen, ids=[name for _, name in chosen])


@numbered(lambda command: "exit" in command)
def test_it_prints_what_it_printed_there(stage: Stage, minor: int, number: int, name: str) -> None:
    recorded, outcome = COMMANDS[number], stage.outcome(number)
    if reason := older_kubectl.why_not_compared(minor, name):
        pytest.skip(reason)
    for stream in ("stderr", "stdout"):
        got = printed(name, loosened.text(getattr(outcome, stream), recorded["command"]))
        want = printed(name, older_kubectl.words_of(minor, name, recorded[stream]))
        if name == "api-versions":  # shortened in the recording
            got = "".join(line for line in got.splitlines(True) if line in want.splitlines(True))
        assert got == want
    assert outcome.exit == recorded["exit"]


def printed(name: str, text: str) -> str:
    """What of an output can be the same on both servers."""
    if name.startswith("explain-"):
        return "\n".join(loosened.structure_of(text))
    if name == "auth-whoami":  # the recording's caller had another name
        return re.sub(r'"(username|uid)": "[^"]*"', r'"\1": "<mine>"', text)
    return text


@numbered(lambda command: True)
def test_it_asks_for_what_it_asked_there(stage: Stage, minor: int, number: int, name: str) -> None:
    if minor != RECORDED_MINOR:
        pytest.skip(f"kubectl 1.{minor} has its own ways; the requests of 1.{RECORDED_MINOR} were recorded")
    wanted = [_recorded(r) for r in COMMANDS[number]["requests"]]
    asked = [_seen(s) for s in stage.outcome(number).requests]
    if name == "get-all":  # asks for every kind of the category, and longshore has fewer
        wanted = [r for r in wanted if not re.match("/apis/(apps|autoscaling)/", r["path"])]
    if name == "logs-job-follow":  # tries again and again while it fails
        asked = asked[: len(wanted)]
    if name in (
        "logs-job-all-pods",
        "logs-selector",
    ):  # begins with whichever pod, and stops at the first that has no log
        for request in (*wanted, *asked):
            request["path"] = re.sub(r"pi-[01]/log$", "pi-?/log", request["path"])
    assert [r for r in asked if not _kept(r)] == [r for r in wanted if not _kept(r)]


def test_the_openapi_document_of_a_group_is_fetched_once(stage: Stage, minor: int) -> None:
    if minor != RECORDED_MINOR:
        pytest.skip("only here is known which commands need it")
    every = [request for i in range(len(COMMANDS)) for request in stage.outcome(i).requests]
    # Once, and once more for each time the test threw kubectl's cache away.
    cold = sum(bool(command.get("coldCache")) for command in COMMANDS)
    assert 1 <= sum(r.path == "/openapi/v3/apis/batch/v1" for r in every) <= cold


def _kept(request: dict[str, Any]) -> bool:
    """A document named by its hash never changes; kubectl keeps it, as longshore's answer says it may."""
    return str(request["path"]).startswith("/openapi/v3/")


def _recorded(request: dict[str, Any]) -> dict[str, Any]:
    body = request.get("body")
    if "bodyBase64" in request:
        body = _protobuf(base64.b64decode(request["bodyBase64"]))
    return {
        "method": request["method"],
        "path": request["path"],
        "query": request.get("query") or {},
        "accept": request.get("accept") or "",
        "contentType": request.get("contentType") or "",
        "body": loosened.value(body),
        "status": request["status"],
    }


def _seen(request: Seen) -> dict[str, Any]:
    body: Any = None
    if request.body:
        protobuf = request.content_type == "application/vnd.kubernetes.protobuf"
        body = _protobuf(request.body) if protobuf else json.loads(request.body)
    return {
        "method": request.method,
        "path": loosened.value(request.path),
        "query": {k: _parameter(k, v) for k, v in request.query.items()},
        "accept": request.accept,
        "contentType": request.content_type,
        "body": loosened.value(body),
        # What kubectl's cache already has is as good as an answer.
        "status": 200 if request.status == 304 else request.status,
    }


def _parameter(name: str, value: str) -> Any:
    if name == "fieldSelector":  # kubectl's order varies
        value = ",".join(sorted(value.split(",")))
    return DRAWN.get(name) or loosened.value(value)


def _protobuf(body: bytes) -> str:
    """As text in which uids can be found: these are plain characters of a fixed length there too."""
    return body.decode("latin-1")
