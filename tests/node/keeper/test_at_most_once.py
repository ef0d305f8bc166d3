"""A key is started once, whoever is killed in between."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from longshore.node.keeper import keeper_journal
from longshore.node.runtime import Key
from longshore.node.runtimes.process_link import Link
from support.keeper_engine import Engine, alive, kill, until

pytestmark = pytest.mark.anyio

Engines = Callable[[], Engine]
_PLAYS = 20


async def test_asking_twice_tells_what_became_of_it(engine: Engine, tmp_path: Path) -> None:
    container = engine.container("sh", "-c", "echo x >> count; exit 5", working_dir=str(tmp_path))
    first, second = await asyncio.gather(engine.runtime.start(container), engine.runtime.start(container))
    assert first.pid == second.pid
    await engine.end(container.key)
    again = await engine.runtime.start(container)
    assert (again.phase, again.exit_code) == ("exited", 5)
    assert (tmp_path / "count").read_text() == "x\n"


async def test_the_answer_to_a_start_waits_a_moment_for_the_end(engine: Engine, tmp_path: Path) -> None:
    """So other answers overtake it, unless the machine takes longer than that moment to hand them over."""
    for _ in range(_PLAYS):
        heard, phase = await _started_and_killed(engine, tmp_path / "keeper")
        assert sorted(heard) == ["ended", "signalled", "started"]
        assert phase == "running"
        if heard.index("signalled") < heard.index("started"):
            return
    pytest.fail(f"in {_PLAYS} plays no answer overtook that to a start")


async def _started_and_killed(engine: Engine, directory: Path) -> tuple[list[str], str]:
    """The order of a keeper's answers and of the end it tells, and the state in the answer to the start."""
    heard: list[str] = []
    link = Link(directory, lambda states: None, lambda state: heard.append("ended"))
    await link.connect()
    try:
        container = engine.container("sleep", "100")
        requests = [
            link.request("start", engine.runtime._spec(str(container.key), container)),
            link.request("signal", (str(container.key), 9)),
        ]
        for request, name in zip(requests, ("started", "signalled"), strict=True):
            request.add_done_callback(lambda _, name=name: heard.append(name))
        await asyncio.gather(*requests)
        await until(lambda: len(heard) == 3)
        return heard, requests[0].result()[1]
    finally:
        await link.close()


async def test_a_removed_key_is_forgotten_but_not_while_it_runs(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    await engine.runtime.remove([state.key])
    assert (await engine.runtime.start(engine.container("true", key=state.key))).pid == state.pid
    ended = await engine.run("true")
    await engine.runtime.remove([ended.key])
    assert (await engine.start("true", key=ended.key)).pid != ended.pid


async def test_containers_and_their_exit_codes_survive_the_owner(engines: Engines) -> None:
    first = engines()
    await first.open()
    runs = await first.start("sleep", "100")
    ends = await first.start("sh", "-c", "sleep 0.1; exit 9")
    await first.runtime.close(kill=False)
    await asyncio.sleep(0.2)
    second = engines()
    await second.open()
    found = {state.key: state for state in second.remembered}
    assert second.keeper == first.keeper
    assert (found[runs.key].phase, found[runs.key].pid) == ("running", runs.pid)
    assert (found[ends.key].phase, found[ends.key].exit_code) == ("exited", 9)
    kill(runs.pid)
    assert (await second.end(runs.key)).exit_code == 137


async def test_the_keeper_is_replaced_and_the_running_are_adopted(engine: Engine, tmp_path: Path) -> None:
    script = "while [ ! -e go ]; do sleep 0.02; done; echo after; exit 7"
    state = await engine.start("sh", "-c", f"echo before; {script}", working_dir=str(tmp_path))
    await until(lambda: "before" in engine.log(state.key))
    old = engine.keeper
    kill(old)
    await until(lambda: engine.keeper != old)
    again = await engine.runtime.start(engine.container("false", key=state.key))
    assert (again.phase, again.pid) == ("running", state.pid)
    (tmp_path / "go").touch()
    ended = await engine.end(state.key)
    assert (ended.phase, ended.exit_code) in (("exited", 7), ("lost", 0))
    assert engine.log(state.key) == "before\nafter\n"


async def test_what_ended_without_a_keeper_is_told_and_not_started_again(
    engines: Engines, tmp_path: Path
) -> None:
    first = engines()
    await first.open()
    container = first.container("sh", "-c", "echo x >> count; sleep 0.1; exit 7", working_dir=str(tmp_path))
    state = await first.runtime.start(container)
    await first.runtime.close(kill=False)
    kill(first.keeper)
    await until(lambda: not alive(state.pid))
    second = engines()
    await second.open()
    assert [s.key for s in second.remembered] == [container.key]
    assert (await second.runtime.start(container)).pid == state.pid
    await until(lambda: second.told or second.remembered[0].phase != "running")
    ended = (*second.told, second.remembered[0])[0]
    assert (ended.phase, ended.exit_code) in (("lost", 0), ("exited", 7))
    assert (tmp_path / "count").read_text() == "x\n"


async def test_a_start_under_way_when_the_keeper_dies_happens_once(engine: Engine, tmp_path: Path) -> None:
    kill(engine.keeper)
    script = "echo $LONGSHORE_CONTAINER >> count"
    states = await asyncio.gather(
        *(engine.start("sh", "-c", script, working_dir=str(tmp_path)) for _ in range(20))
    )
    for state in states:
        if state.phase == "running":
            await engine.end(state.key)
    lines = (tmp_path / "count").read_text().split()
    assert len(lines) == len(set(lines)) == sum(state.phase != "lost" for state in states)


async def test_an_intent_whose_child_runs_is_adopted_by_its_tag(engines: Engines, tmp_path: Path) -> None:
    key = Key("by-tag", "main", 0)
    directory = tmp_path / "keeper"
    directory.mkdir(mode=0o700)
    (directory / "journal").write_text(
        f"boot\t{keeper_journal.boot_id()}\nintent\t{key}\t1.0\t{tmp_path}/log\t0\t\n"
    )
    child = await asyncio.create_subprocess_exec("sleep", "100", env={"LONGSHORE_CONTAINER": str(key)})
    one = engines()
    await one.open()
    assert [(s.key, s.phase, s.pid) for s in one.remembered] == [(key, "running", child.pid)]
    kill(child.pid)
    await child.wait()
    assert (await one.end(key)).phase in ("exited", "lost")


async def test_after_a_restart_of_the_machine_all_that_ran_is_lost(engines: Engines, tmp_path: Path) -> None:
    directory = tmp_path / "keeper"
    directory.mkdir(mode=0o700)
    mine = os.getpid()
    (directory / "journal").write_text(
        "boot\tanother\nintent\ta/main/0\t1.0\t/x\t0\t\nstarted\ta/main/0\t"
        f"{mine}\t1\t1.0\t0\t\nintent\tb/main/0\t1.0\t/x\t0\t\nexited\tb/main/0\t2.0\t3\t0\tError\ta\\tb\nintent\tc"
    )
    one = engines()
    await one.open()
    assert [(s.key.pod_uid, s.phase, s.exit_code) for s in one.remembered] == [
        ("a", "lost", 0),
        ("b", "exited", 3),
    ]
    assert one.remembered[0].message == "the machine was restarted"
    assert one.remembered[1].message == "a\tb"


async def test_closing_with_kill_leaves_nobody(engines: Engines, tmp_path: Path) -> None:
    one = engines()
    await one.open()
    states = [await one.start("sh", "-c", "trap '' TERM; setsid sleep 100 & sleep 100") for _ in range(3)]
    keeper = one.keeper
    await one.runtime.close(kill=True)
    assert not any(alive(state.pid) for state in states)
    await until(lambda: not alive(keeper))
    second = engines()
    await second.open()
    assert {s.exit_code for s in second.remembered} == {137}
