"""A container that ends while longshore starts, before anybody has looked at pods."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from longshore.node.open_runtimes import OpenRuntimes
from longshore.node.runtime import ContainerState, Key, Runtime
from longshore.node.runtime_choice import RuntimeClasses
from longshore.node.runtimes.process import ProcessRuntime

_RUNS = ("uid/main/0", "running", 7, 1.0, 0.0, 0, 0, "", "")
_ENDED = ("uid/main/0", "exited", 7, 1.0, 2.0, 3, 0, "Error", "")


def test_an_end_that_comes_with_the_greeting_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = ProcessRuntime(tmp_path)

    async def greeted_and_told_of_an_end() -> None:
        runtime._greeted([_RUNS])
        runtime._ended(_ENDED)
        await asyncio.sleep(0)

    monkeypatch.setattr(runtime._keepers, "connect", greeted_and_told_of_an_end)
    heard: list[bool] = []

    def changed(engine: Runtime, state: ContainerState) -> None:
        heard.append(engines.changed(engine, state))

    engines = OpenRuntimes({"process": runtime}, changed, RuntimeClasses())
    asyncio.run(engines.open())
    assert heard == [True]  # or what is remembered of the container would be removed, as a stranger's
    states = engines.take("uid")
    assert states is not None
    assert [(state.phase, state.exit_code) for state in states] == [("exited", 3)]


def test_an_end_of_what_nobody_remembers_is_a_strangers(tmp_path: Path) -> None:
    runtime = ProcessRuntime(tmp_path)
    engines = OpenRuntimes({"process": runtime}, lambda engine, state: None, RuntimeClasses())
    assert not engines.changed(runtime, ContainerState(Key("uid", "main", 0), "exited"))
