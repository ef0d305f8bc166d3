"""`kill -9` of longshore at random moments while 200 processes run, six times (`make test-storm`: many more).

Each round is one Indexed Job of 200 indexes, all at once; some of them fail the first time, with an exit code
that names them. Every process writes down that it began and how it is about to end, so the test knows the
truth from the processes themselves, and compares it with what the API says in the end.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.living_processes import containers, end_keeper
from support.longshore_process import Up

ROUNDS = int(os.environ.get("LONGSHORE_KILLS", "6"))
PROCESSES = 200
JOBS, PODS = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"
_PATIENCE = 40.0

WORK = r"""
echo "begin $JOB_COMPLETION_INDEX $LONGSHORE_CONTAINER" >> "$BOOK"
sleep $NAP
if [ $((JOB_COMPLETION_INDEX % 20)) = 7 ] && mkdir "$BOOK.$JOB_COMPLETION_INDEX" 2>/dev/null
then code=$((JOB_COMPLETION_INDEX % 100 + 10)); else code=0; fi
echo "end $JOB_COMPLETION_INDEX $LONGSHORE_CONTAINER $code" >> "$BOOK"
exit $code
"""


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    data = tmp_path / "data"
    running = Up(data)
    running.start()
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
        end_keeper(data)


def _job(name: str, book: Path, nap: float) -> dict[str, Any]:
    env = [{"name": "BOOK", "value": str(book)}, {"name": "NAP", "value": f"{nap:.2f}"}]
    main = {"name": "main", "image": "none", "command": ["/bin/sh", "-c", WORK], "env": env}
    spec: dict[str, Any] = {"restartPolicy": "Never", "containers": [main]}
    return {
        "metadata": {"name": name},
        "spec": {
            "completions": PROCESSES,
            "parallelism": PROCESSES,
            "completionMode": "Indexed",
            "backoffLimit": 1000,
            "template": {"spec": spec},
        },
    }


def _finished(up: Up, name: str) -> dict[str, Any]:
    end = time.monotonic() + _PATIENCE
    while True:
        job: dict[str, Any] = up.client.made("GET", f"{JOBS}/{name}")
        types = {c["type"] for c in job["status"].get("conditions") or () if c["status"] == "True"}
        if types & {"Complete", "Failed"}:
            assert "Complete" in types, job["status"]
            return job
        if time.monotonic() > end:
            why = up.client.made("GET", f"/apis/longshore.dev/v1/namespaces/default/explanations/job.{name}")
            pods = up.client.made("GET", PODS, query={"labelSelector": f"job-name={name}"})["items"]
            phases = Counter(pod["status"]["phase"] for pod in pods)
            pytest.fail(json.dumps({"status": job["status"], "why": why, "pods": phases}, indent=1))
        time.sleep(0.1)


def _check(up: Up, job: dict[str, Any], book: Path) -> None:
    """What the API says is what happened."""
    name = job["metadata"]["name"]
    pods = up.client.made("GET", PODS, query={"labelSelector": f"job-name={name}"})["items"]
    began: Counter[str] = Counter()
    codes: dict[str, int] = {}
    for line in book.read_text().splitlines():
        word, _, key, *code = line.split()
        assert key.endswith("/main/0")
        if word == "begin":
            began[key.partition("/")[0]] += 1
        else:
            codes[key.partition("/")[0]] = int(code[0])
    assert [uid for uid, times in began.items() if times > 1] == [], "a pod ran twice"
    assert began.keys() == {pod["metadata"]["uid"] for pod in pods}, "a pod was lost, or never ran"
    wins: Counter[str] = Counter()
    for pod in pods:
        uid, status = pod["metadata"]["uid"], pod["status"]
        ended = status["containerStatuses"][0]["state"]["terminated"]
        assert ended["exitCode"] == codes[uid], (pod["metadata"]["name"], ended)
        assert status["phase"] == ("Failed" if codes[uid] else "Succeeded")
        wins[pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"]] += codes[uid] == 0
    assert set(wins.values()) == {1}
    assert len(wins) == PROCESSES
    status = job["status"]
    assert status["succeeded"] == PROCESSES
    assert status["completedIndexes"] == f"0-{PROCESSES - 1}"
    assert status.get("failed", 0) == sum(1 for code in codes.values() if code)
    assert status.get("failed", 0) == len(range(7, PROCESSES, 20))
    assert containers(set(began)) == [], "a process was left behind"


def test_nothing_is_lost_run_twice_or_counted_twice(up: Up, tmp_path: Path) -> None:
    rng = random.Random(4)
    for number in range(ROUNDS):
        book = tmp_path / f"book{number}"
        book.touch()
        name = f"round-{number}"
        nap = rng.choice((0.05, 0.3, 1.0))
        up.client.made("POST", JOBS, _job(name, book, nap))
        time.sleep(rng.uniform(0.0, 1.5))
        up.kill()
        time.sleep(rng.choice((0.0, 0.0, 0.5)))
        up.start()
        if rng.random() < 0.3:
            time.sleep(rng.uniform(0.0, 0.5))
            up.kill()
            up.start()
        _check(up, _finished(up, name), book)
        up.client.made("DELETE", f"{JOBS}/{name}", {"propagationPolicy": "Background"})
    assert "Traceback" not in up.said(), up.said()[-4000:]
