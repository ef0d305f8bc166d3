"""Airflow's way to end a side container: an interrupt for all processes of the user whose command has `sh`.

Without walls that is every shell of the user, and longshore. So `trial` refuses to begin anywhere but as the
first process of a PID namespace with a /proc of its own: what it hits then can be nobody else's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from support.longshore_command import Command

KILL = "kill -2 $(pgrep -u $(id -u) -f sh)"
_SIDE = 'trap "exit 0" INT; while true; do sleep 0.1; done'
_VICTIM = "while true; do sleep 0.1; done"


def trial(level: str, home: Path) -> dict[str, object]:
    """What became of the side container, of the main one, of a shell outside, and of longshore."""
    if os.getpid() != 1 or os.readlink("/proc/self") != "1":
        raise SystemExit("not the first process of a PID namespace of its own: nothing is run")
    # The path may have `sh` in it, so without walls this process may be hit as well, and has to tell of it.
    signal.signal(signal.SIGINT, lambda *_: None)
    longshore = Command(home, {"PYTHONPATH": os.environ["PYTHONPATH"]})
    outside = subprocess.Popen(["sh", "-c", _VICTIM], start_new_session=True)
    server = longshore.start("up", "--port", "0", "--isolation", level, stdin=subprocess.DEVNULL)
    assert server.stdout is not None
    assert "is ready" in server.stdout.readline()
    longshore.ok("apply", "-f", "-", stdin=json.dumps(_pod()))
    _until(lambda: all("running" in state for state in _states(longshore).values()))
    longshore("exec", "-i", "pod/task", "-c", "side", "--", "/bin/sh", stdin=f"{KILL}\n")
    if level == "none":
        return {"outside": outside.wait(30)}
    _until(lambda: "terminated" in _states(longshore).get("side", {}))
    states = _states(longshore)
    return {
        "side": states["side"]["terminated"]["exitCode"],
        "main": "running" in states["main"],
        "outside": outside.poll(),
        "longshore": server.poll(),
    }


def _pod() -> dict[str, object]:
    containers = [
        {"name": name, "image": "none", "command": ["sh", "-c", script]}
        for name, script in (("main", _VICTIM), ("side", _SIDE))
    ]
    spec = {"restartPolicy": "Never", "containers": containers}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "task"}, "spec": spec}


def _states(longshore: Command) -> dict[str, dict[str, dict[str, int]]]:
    status = json.loads(longshore.ok("get", "pod", "task", "-o", "json")).get("status") or {}
    found = {each["name"]: each["state"] for each in status.get("containerStatuses") or ()}
    return found or {"main": {}}


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.05)


if __name__ == "__main__":
    print(json.dumps(trial(sys.argv[1], Path(sys.argv[2]))), flush=True)
