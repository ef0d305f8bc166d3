"""The scripted engine keeps the contract of `node.runtime`, so that tests with it mean something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.node.runtime import CannotStart, Container, ContainerState, Key, Runtime
from longshore.scripts.runs import Exec, Run, StartFault
from longshore.testing.scripted_runtime import ScriptedMachine, ScriptedRuntime
from support.node_world import scripted

KEY = Key("u", "main", 0)
CONTAINER = Container(KEY, "ns", "p", "image", ("c",))


def played(
    story: Callable[[ScriptedMachine, ScriptedRuntime, list[ContainerState]], Awaitable[None]], run: Run
) -> None:
    async def main(clock: VirtualClock) -> None:
        machine = ScriptedMachine(clock, scripted(main=run))
        told: list[ContainerState] = []
        runtime = ScriptedRuntime(machine)
        checked: Runtime = runtime
        assert await checked.open(told.append) == []
        await story(machine, runtime, told)

    virtual.run(main)


def test_a_key_starts_once_and_asking_again_says_what_became_of_it() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, told: list[ContainerState]) -> None:
        first = await runtime.start(CONTAINER)
        assert first.phase == "running"
        assert await runtime.start(CONTAINER) == first
        await machine.clock.sleep(2)
        again = await runtime.start(CONTAINER)
        assert (again.phase, again.exit_code) == ("exited", 3)
        assert told == [again]
        assert machine.started == {KEY: 1}

    played(story, Run(1.0, 3))


def test_what_ended_while_nobody_was_connected_is_in_the_list_of_the_next() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, told: list[ContainerState]) -> None:
        await runtime.start(CONTAINER)
        await runtime.close(kill=False)
        await machine.clock.sleep(2)
        assert told == []
        (state,) = await ScriptedRuntime(machine).open(told.append)
        assert (state.phase, state.exit_code) == ("exited", 3)

    played(story, Run(1.0, 3))


def test_what_is_removed_is_forgotten_and_what_runs_is_not_removed() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, told: list[ContainerState]) -> None:
        await runtime.start(CONTAINER)
        await runtime.remove([KEY])
        assert machine.running == [KEY]
        machine.end(KEY)
        await runtime.remove([KEY])
        assert machine.states == {}

    played(story, Run(None))


def test_a_stop_signal_takes_its_time_and_a_kill_does_not() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, told: list[ContainerState]) -> None:
        await runtime.start(CONTAINER)
        await runtime.signal(KEY, 15)
        await machine.clock.sleep(1)
        assert machine.running == [KEY]
        await runtime.signal(KEY, 9)
        await machine.clock.sleep(0.1)
        assert [(state.exit_code, state.signal) for state in told] == [(137, 9)]

    played(story, Run(None, on_term=5.0))


def test_what_cannot_start_may_be_tried_again() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, told: list[ContainerState]) -> None:
        with pytest.raises(CannotStart):
            await runtime.start(CONTAINER)
        machine.script = scripted(main=Run(1.0))
        assert (await runtime.start(CONTAINER)).phase == "running"

    played(story, Run(fails=StartFault("RunContainerError", "no")))


def test_a_machine_that_goes_down_loses_what_ran() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, told: list[ContainerState]) -> None:
        await runtime.start(CONTAINER)
        machine.lose()
        assert machine.states[KEY].phase == "lost"
        await machine.clock.sleep(10)
        assert told == []

    played(story, Run(1.0))


def test_a_command_beside_a_container_has_output_and_a_code() -> None:
    async def story(machine: ScriptedMachine, runtime: ScriptedRuntime, told: list[ContainerState]) -> None:
        machine.execs = lambda key, command: Exec(4, "said")
        session = await runtime.exec(KEY, ("x",), stdin=False, tty=False)
        assert [data async for _, data in session.output()] == [b"said"]
        assert await session.wait() == 4
        await session.close()

    played(story, Run(None))
