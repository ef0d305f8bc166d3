"""One longshore that runs pods, for all commands of a module, and a person's command line beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.longshore_command import Command


@pytest.fixture(scope="session")
def longshore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    command = Command(tmp_path_factory.mktemp("home"))
    with command.up("--on-stop", "kill"):
        yield command
