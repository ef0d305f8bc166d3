"""A storm: `kill -9` of longshore, of its keeper and of both at random moments, while Jobs run behind walls.

Each process writes down that it began and how it is about to end, so the test knows the truth from the
processes themselves. A killed keeper takes exit codes with it: such a pod ends as unknown, and its Job runs
the index in another pod. Never does the same pod run twice, an index count twice, or a Job wait for ever.

`make test-storm` kills a hundred times. LONGSHORE_STORM is the number, LONGSHORE_STORM_SEED the dice.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
import urllib.error
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.living_processes import containers, end_keeper, keepers
from support.longshore_process import Up

KILLS = int(os.environ.get("LONGSHORE_STORM", "0"))
SEED = int(os.environ.get("LONGSHORE_STORM_SEED", "12"))
PODS_EACH = 4
JOBS_EACH = 3
"""Pods of a Job, and Jobs between two kills."""
JOBS, PODS = "/apis/batch/v1/namespaces/default/jobs", "/api/v1/namespaces/default/pods"
UNKNOWN = 137
PATIENCE_SECONDS = 300.0
pytestmark = pytest.mark.skipif(not KILLS, reason="make test-storm runs it")

WORK = r"""
echo "begin $JOB_NAME $JOB_COMPLETION_INDEX $LONGSHORE_CONTAINER" >> "$BOOK"
sleep $NAP
echo "end $JOB_NAME $JOB_COMPLETION_INDEX $LONGSHORE_CONTAINER" >> "$BOOK"
"""


def _job(name: str, book: Path, nap: float) -> dict[str, Any]:
    told = {"BOOK": str(book), "NAP": f"{nap:.2f}", "JOB_NAME": name}
    env = [{"name": key, "value": value} for key, value in told.items()]
    main = {"name": "main", "image": "none", "command": ["/bin/sh", "-c", WORK], "env": env}
    counts = {"completions": PODS_EACH, "parallelism": PODS_EACH, "completionMode": "Indexed"}
    spec = {"restartPolicy": "Never", "containers": [main]}
    return {"metadata": {"name": name}, "spec": {**counts, "backoffLimit": 1000, "template": {"spec": spec}}}


def _until(done: Callable[[], bool], what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < end, what()
        time.sleep(0.1)


def _create(up: Up, job: dict[str, Any]) -> None:
    """Once: a keeper that is away does not keep anybody from creating Jobs."""
    up.client.made("POST", JOBS, job)


def _state(job: dict[str, Any]) -> set[str]:
    return {c["type"] for c in job["status"].get("conditions") or () if c["status"] == "True"}


@pytest.mark.parametrize("level", ["full", "process"])
def test_nothing_is_run_twice_lost_or_stuck(tmp_path: Path, level: str) -> None:
    dice = random.Random(f"{SEED} {level}")
    data, book = tmp_path / "data", tmp_path / "book"
    book.touch()
    up = Up(data, "--isolation", level)
    up.start()
    killed: Counter[str] = Counter()
    names: list[str] = []
    try:
        while killed.total() < KILLS // 2:
            for _ in range(JOBS_EACH):
                names.append(f"storm-{len(names)}")
                _create(up, _job(names[-1], book, dice.choice((0.0, 0.1, 0.5, 2.0))))
            time.sleep(dice.uniform(0.0, 0.6))
            whom = dice.choice(("longshore", "longshore", "keeper", "both"))
            if whom != "keeper":
                up.kill()
                killed["longshore"] += 1
            if whom != "longshore":
                killed["keeper"] += end_keeper(data)
            if whom != "keeper":
                up.start()
        jobs = _finished(up, names)
        _check(up, jobs, book, killed)
    finally:
        with contextlib.suppress(Exception):
            up.kill()
        end_keeper(data)


def _finished(up: Up, names: list[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}

    def all_finished() -> bool:
        with contextlib.suppress(urllib.error.URLError, TimeoutError):
            found.update({job["metadata"]["name"]: job for job in up.client.made("GET", JOBS)["items"]})
        return found.keys() == {*names} and all(map(_state, found.values()))

    _until(all_finished, lambda: {name: job["status"] for name, job in found.items() if not _state(job)})
    return found


def _check(up: Up, jobs: dict[str, dict[str, Any]], book: Path, killed: Counter[str]) -> None:
    pods = up.client.made("GET", PODS)["items"]
    began: Counter[str] = Counter()
    ended: set[str] = set()
    for line in book.read_text().splitlines():
        word, _, _, key = line.split()
        uid = key.partition("/")[0]
        if word == "begin":
            began[uid] += 1
        else:
            ended.add(uid)
    assert [uid for uid, times in began.items() if times > 1] == [], "a pod ran twice"
    assert began.keys() <= {pod["metadata"]["uid"] for pod in pods}, "a process of no pod"
    wins: Counter[tuple[str, str]] = Counter()
    unknown = 0
    for pod in pods:
        labels, status = pod["metadata"]["labels"], pod["status"]
        code = status["containerStatuses"][0]["state"]["terminated"]["exitCode"]
        if code == 0:
            assert pod["metadata"]["uid"] in ended, "a success that nobody saw"
            wins[labels["job-name"], labels["batch.kubernetes.io/job-completion-index"]] += 1
        else:
            assert code == UNKNOWN, (pod["metadata"]["name"], status)
            unknown += 1
    assert unknown == 0 or killed["keeper"]
    for name, job in jobs.items():
        assert "Complete" in _state(job), job["status"]
        assert job["status"]["succeeded"] == PODS_EACH
        assert job["status"]["completedIndexes"] == f"0-{PODS_EACH - 1}"
        for index in range(PODS_EACH):
            assert wins[name, str(index)] == 1, (name, index)
    _until(lambda: not containers(set(began)), lambda: "a process was left behind")
    assert len(keepers(up.directory)) <= 2, "more than one keeper, with its fork server"
    assert "Traceback" not in up.said(), up.said()[-4000:]
    kills = f"{killed['longshore']} of longshore, {killed['keeper']} of the keeper"
    print(f"{kills}; {len(jobs)} Jobs, {began.total()} starts, {unknown} exit codes lost with a keeper")
