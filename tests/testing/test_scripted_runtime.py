"""The scripted engine keeps the contract of real ones, and its machine outlives it."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node.runtime import CannotStart, Container, ContainerState, Key
from longshore.testing import Exec, Run, ScriptedMachine, ScriptedRuntime

KEY = Key("uid", "main", 0)


def container(key: Key = KEY, message: Path | None = None) -> Container:
    return Container(key, "ns", "pod", "image", log=Path("log"), termination_message=message)


def played(
    run: Run, story: Callable[[ScriptedMachine, ScriptedRuntime, list[ContainerState]], Awaitable[None]]
) -> None:
    async def main(clock: VirtualClock) -> None:
        machine = ScriptedMachine(clock, lambda container: run)
        runtime, heard = ScriptedRuntime(machine), list[ContainerState]()
        assert await runtime.open(heard.append) == []
        await story(machine, runtime, heard)

    virtual.run(main)


def test_a_container_ends_when_and_how_the_script_says() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        assert (await runtime.start(container())).phase == "running"
        await machine.clock.sleep(29.9)
        assert heard == []
        await machine.clock.sleep(0.2)
        assert [(state.phase, state.exit_code, state.reason) for state in heard] == [("exited", 3, "Error")]

    played(Run(seconds=30.0, code=3), story)


def test_a_key_starts_at_most_once_and_is_remembered_until_it_is_removed() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        await runtime.start(container())
        await machine.clock.sleep(1)
        assert (await runtime.start(container())).phase == "exited"
        assert machine.started[KEY] == 1
        await runtime.remove([KEY])
        assert await ScriptedRuntime(machine).open(heard.append) == []

    played(Run(), story)


def test_what_runs_is_not_removed_and_a_new_engine_finds_it() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        await runtime.start(container())
        await runtime.remove([KEY])
        await runtime.close(kill=False)
        (found,) = await ScriptedRuntime(machine).open(heard.append)
        assert (found.key, found.phase) == (KEY, "running")

    played(Run(seconds=None), story)


@pytest.mark.parametrize(("on_term", "after_term"), [(2.0, "exited"), (None, "running")])
def test_a_stop_signal_is_obeyed_or_ignored_and_killing_always_works(on_term: float, after_term: str) -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        await runtime.start(container())
        await runtime.signal(KEY, signal.SIGTERM)
        await machine.clock.sleep(3)
        assert machine.states[KEY].phase == after_term
        await runtime.signal(KEY, 9)
        await machine.clock.sleep(1)
        assert machine.states[KEY].phase == "exited"

    played(Run(seconds=None, on_term=on_term), story)


def test_a_container_that_cannot_start_says_why() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        with pytest.raises(CannotStart):
            await runtime.start(container())
        assert machine.started[KEY] == 0

    played(Run(fails=CannotStart("StartError", "no such program")), story)


def test_a_machine_that_goes_down_forgets_how_anything_ended() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        await runtime.start(container())
        machine.lose()
        await machine.clock.sleep(100)
        assert machine.states[KEY].phase == "lost"
        assert heard == []

    played(Run(seconds=50.0), story)


def test_a_termination_message_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        await runtime.start(container(message=tmp_path / "in" / "message"))
        await machine.clock.sleep(1)
        assert (tmp_path / "in" / "message").read_text() == "so long"

    played(Run(message="so long"), story)


def test_a_command_beside_it_answers_as_scripted() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, heard: list[ContainerState]) -> None:
        machine.execs = lambda key, command: Exec(code=4, output=" ".join(command))
        session = await runtime.exec(KEY, ("echo", "hello"), stdin=False, tty=False)
        assert [part async for part in session.output()] == [("stdout", b"echo hello")]
        assert await session.wait() == 4

    played(Run(seconds=None), story)
