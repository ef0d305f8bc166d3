"""Whom the keeper has to look after, told by the kernel in one look."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from longshore.node.keeper import killing, procfs


def test_all_children_are_found_and_nobody_else() -> None:
    before = procfs.own_children()
    if before is None:
        pytest.skip("this kernel keeps no list of children")
    alive, ended = subprocess.Popen(["sleep", "100"]), subprocess.Popen(["true"])
    try:
        time.sleep(0.1)  # it is a zombie by then, which is still to be reaped
        now = procfs.own_children()
        assert now is not None
        assert now - before == {alive.pid, ended.pid}
    finally:
        alive.kill()
        alive.wait()
        ended.wait()


@pytest.mark.parametrize("told", [True, False], ids=["the kernel tells", "the kernel does not tell"])
def test_a_child_that_nobody_started_here_is_killed(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {*procfs.ProcessSnapshot().children(os.getpid())}
    if not told:
        monkeypatch.setattr(procfs, "own_children", lambda: None)
    environ = {procfs.KEY: "a/key/0", procfs.HOME: "me"}
    ours, orphan = (subprocess.Popen(["/bin/sleep", "100"], env=environ) for _ in range(2))
    try:
        killing.orphans({ours.pid, *others}, set())
        assert orphan.wait(timeout=60) == -9
        assert ours.poll() is None
    finally:
        for process in (ours, orphan):
            process.kill()
            process.wait()
