"""`longshore run --logs` shows every byte, however fast it is written; `logs -f` says what it missed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.cli.running import streaming
from support.longshore_command import Command

LINES = 1_500_000  # about 110 MB as they are logged: more than twice what is kept of an ordinary log


def test_a_fast_writer_is_shown_to_its_last_line(longshore: Command) -> None:
    done = longshore(
        *("run", "--logs", "--name", "fast", "--", "sh", "-c", f"seq {LINES}; echo the end"), timeout=300
    )
    assert done.exit == 0, done.stderr[-500:]
    lines = done.stdout.splitlines()
    assert lines[-1].endswith("the end")
    numbers = [line.rpartition(" ")[2] for line in lines[:-1]]
    assert numbers == [str(number) for number in range(1, LINES + 1)]


def test_the_output_of_a_container_before_its_restart_is_shown_first(longshore: Command) -> None:
    script = f"cd {longshore.home}; [ -e tried ] && exec echo second; touch tried; echo first; exit 1"
    container = {"name": "main", "image": "host", "command": ["sh", "-c", script]}
    spec = {"restartPolicy": "OnFailure", "containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "again"}, "spec": spec}
    done = longshore("run", "--logs", "-", stdin=json.dumps(pod))
    assert (done.exit, done.stdout) == (0, "[again] first\n[again] second\n"), done.stderr


ENDED = {"terminated": {"exitCode": 1}}


@pytest.mark.parametrize(
    ("status", "exact", "readable"),
    [
        ({"state": {"waiting": {}}}, True, []),
        ({"state": {"running": {}}, "restartCount": 0}, True, [(0, False)]),
        ({"state": {"running": {}}, "restartCount": 2}, True, [(1, True), (2, False)]),
        ({"state": {"waiting": {}}, "lastState": ENDED, "restartCount": 1}, True, [(0, True), (1, False)]),
        ({"state": {"waiting": {}}, "lastState": ENDED, "restartCount": 1}, False, [(1, False)]),
    ],
)
def test_the_runs_of_a_container_that_can_be_read(
    status: dict[str, Any], exact: bool, readable: list[tuple[int, bool]]
) -> None:
    assert streaming.attempts(status, exact=exact) == readable
