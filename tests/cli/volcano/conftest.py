from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from longshore.cli.main import main
from support.longshore_process import RunningLongshore, longshore_up


@pytest.fixture(scope="module")
def running() -> Iterator[RunningLongshore]:
    with longshore_up("--no-node") as running:
        yield running


@pytest.fixture
def vc(
    running: RunningLongshore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs a command against it: its exit code, and all that it printed."""
    monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
    monkeypatch.setenv("TZ", "UTC")

    def run(*words: str) -> tuple[int, str]:
        code = main(words)
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run
