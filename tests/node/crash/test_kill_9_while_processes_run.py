"""`kill -9` of longshore at random moments while 200 processes run, thirty times.

Each round is one Indexed Job of 200 indexes, all at once; some of them fail the first time, with an exit code
that names them. Every process writes down that it began and how it is about to end, so the test knows the
truth from the processes themselves, and compares it with what the API says in the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.longshore_process import READY, RunningLongshore

ROUNDS = int(os.environ.get("LONGSHORE_KILLS", "30"))
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


class Up:
    """A `longshore up` that can be killed and started again on the same directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.errors = directory.parent / "stderr"

    def start(self) -> None:
        command = [sys.executable, "-m", "longshore", "up", "--data-dir", str(self.directory)]
        command += ["--port", "0"]  # not the same again: while it is dead, anybody may take it
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self.process.stdout is not None
        ready = READY.fullmatch(self.process.stdout.readline())
        assert ready is not None, f"longshore did not start: {self.errors.read_text()[-2000:]}"
        self.client = RunningLongshore(ready[1], Path(ready[2]))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


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
        _end_keeper(data)


def _end_keeper(data: Path) -> None:
    """It outlives longshore by design; the test's own does not outlive the test."""
    for pid, words in _processes():
        if b"longshore.node.keeper" in words and os.fsencode(data) in words:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _processes() -> Iterator[tuple[int, bytes]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry), Path(f"/proc/{entry}/cmdline").read_bytes()


def _containers(uids: set[str]) -> list[int]:
    """Processes of this machine that belong to one of these pods."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                environ = Path(f"/proc/{entry}/environ").read_bytes()
                at = environ.find(b"LONGSHORE_CONTAINER=")
                if at >= 0 and environ[at + 20 : at + 56].decode() in uids:
                    found.append(int(entry))
    return found


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
            why = up.client.made("GET", f"/apis/longshore.dev/v1/namespaces/default/explanations/jobs.{name}")
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
    assert _containers(set(began)) == [], "a process was left behind"


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
    assert "Traceback" not in up.errors.read_text(), up.errors.read_text()[-4000:]
