"""A `kopf` operator at work: a process that watches Jobs and a kind of one's own, and changes them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.longshore_process import RunningLongshore

pytestmark = pytest.mark.xdist_group("clients: kopf")

JOBS = "/apis/batch/v1/namespaces/default/jobs"
BOATS = "/apis/example.org/v1/namespaces/default/boats"
EVENTS = "/api/v1/namespaces/default/events"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"

DEFINITION = {
    "metadata": {"name": "boats.example.org"},
    "spec": {
        "group": "example.org",
        "names": {"kind": "Boat", "plural": "boats", "singular": "boat"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"oars": {"type": "integer"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def operator(longshore: RunningLongshore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its log. The definition comes only when it is at work, as it may in life.

    Not earlier: kopf overlooks definitions that come between its first look and its watch.
    """
    log = tmp_path_factory.mktemp("kopf") / "log"
    program = Path(__file__).with_name("operator_for_jobs.py")
    words = "run", str(program), "--standalone", "--namespace", "default"
    environ = os.environ | {"KUBECONFIG": str(longshore.kubeconfig)}
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "kopf", *words], env=environ, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        longshore.made("POST", JOBS, job("first"))
        until(lambda: longshore.made("GET", JOBS + "/first")["metadata"].get("annotations"), log)
        longshore.made("POST", DEFINITIONS, DEFINITION)
        yield log
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert "Traceback" not in log.read_text(), log.read_text()


def until(condition: Callable[[], Any], log: Path) -> Any:
    end = time.monotonic() + 15
    while not (found := condition()):
        assert time.monotonic() < end, f"it did not happen in time; the operator says: {log.read_text()}"
        time.sleep(0.05)
    return found


def job(name: str) -> dict[str, Any]:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    return {
        "metadata": {"name": name, "labels": {"watched-by": "kopf"}},
        "spec": {"suspend": True, "parallelism": 1, "template": pods},
    }


def reasons(longshore: RunningLongshore, uid: str) -> set[str]:
    query = {"fieldSelector": f"involvedObject.uid={uid}"}
    return {event["reason"] for event in longshore.made("GET", EVENTS, query=query)["items"]}


def test_a_job_is_seen_changed_and_let_go(longshore: RunningLongshore, operator: Path) -> None:
    uid = longshore.made("POST", JOBS, job("j"))["metadata"]["uid"]

    def noted(key: str) -> Any:
        return longshore.made("GET", JOBS + "/j")["metadata"].get("annotations", {}).get(key)

    until(lambda: noted("seen/created") == "yes", operator)
    seen = longshore.made("GET", JOBS + "/j")
    assert seen["spec"]["suspend"] is False
    assert FINALIZER in seen["metadata"]["finalizers"]
    until(lambda: "Seen" in reasons(longshore, uid), operator)

    longshore.made("PATCH", JOBS + "/j", {"spec": {"parallelism": 3}}, content_type=MERGE)
    until(lambda: noted("seen/parallelism") == "1 to 3", operator)
    until(lambda: longshore.made("GET", JOBS + "/j")["status"].get("active") == 3, operator)

    longshore.made("DELETE", JOBS + "/j", query={"propagationPolicy": "Background"})
    until(lambda: longshore.request("GET", JOBS + "/j")[0] == 404, operator)
    until(lambda: "Farewell" in reasons(longshore, uid), operator)


def test_a_job_without_the_label_is_left_alone(longshore: RunningLongshore, operator: Path) -> None:
    plain = job("plain")
    del plain["metadata"]["labels"]
    longshore.made("POST", JOBS, plain)
    longshore.made("POST", JOBS, job("marker"))
    until(lambda: longshore.made("GET", JOBS + "/marker")["metadata"].get("annotations"), operator)
    left = longshore.made("GET", JOBS + "/plain")["metadata"]
    assert "annotations" not in left
    assert "finalizers" not in left


def test_a_kind_of_ones_own_is_handled_as_soon_as_it_exists(
    longshore: RunningLongshore, operator: Path
) -> None:
    made = until(lambda: boat(longshore, "b", oars=2), operator)

    def status() -> Any:
        return longshore.made("GET", BOATS + "/b").get("status", {})

    until(lambda: status().get("boat_created") == {"oars": 2}, operator)
    assert status()["afloat"] is True
    until(lambda: status().get("ticks") == 3, operator)
    # The handler fails once and is called again.
    longshore.made("PATCH", BOATS + "/b", {"spec": {"oars": 4}}, content_type=MERGE)
    until(lambda: status().get("oars") == 4, operator)
    longshore.made("DELETE", BOATS + "/b")
    until(lambda: longshore.request("GET", BOATS + "/b")[0] == 404, operator)
    until(lambda: "Sunk" in reasons(longshore, made["metadata"]["uid"]), operator)


def boat(longshore: RunningLongshore, name: str, oars: int) -> Any:
    """The new boat, or None while the kind is not served yet."""
    body = {
        "apiVersion": "example.org/v1",
        "kind": "Boat",
        "metadata": {"name": name},
        "spec": {"oars": oars},
    }
    code, answer = longshore.request("POST", BOATS, body)
    return answer if code == 201 else None
