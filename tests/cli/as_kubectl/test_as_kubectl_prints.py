"""`longshore get`, `describe`, `delete`, `wait` and the others print what kubectl printed for the same words.

The recorded commands are played in order against one longshore: kubectl's own where longshore has no such
command, and longshore's where it has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubectl import loosened, older_kubectl
from kubectl.recording_proxy import recording
from kubectl.stage import Outcome, Stage
from support.longshore_process import longshore_up
from support.places import RECORDED

RECORDING = RECORDED / "vectors/kubectl/commands.json"
COMMANDS: list[dict[str, Any]] = json.loads(RECORDING.read_text())
OURS = frozenset(("get", "describe", "delete", "wait", "events", "diff", "edit", "api-resources"))
"""Commands of longshore with kubectl's words. `apply` has its own tests; `explain` has other sentences."""
CHANGING = frozenset(("create", "run", "apply", "replace", "patch", "label", "annotate", "set", "edit"))
"""Of kubectl's own commands, those that leave something behind for later ones."""

pytestmark = [
    pytest.mark.xdist_group("recorded commands with longshore"),
]


class OurStage(Stage):
    """Plays longshore where kubectl was recorded."""

    def _play(self, recorded: Mapping[str, Any]) -> Outcome:
        kubectl = self._kubectl.program
        if _is_ours(recorded):
            self._kubectl.program = Path(sys.executable)
            words = ["-m", "longshore", *recorded["command"][1:]]
            recorded = {**recorded, "command": [recorded["command"][0], *words]}
        elif recorded["command"][1] not in CHANGING:
            return Outcome(0, "", "", [])
        try:
            return super()._play(recorded)
        finally:
            self._kubectl.program = kubectl


def _is_ours(recorded: Mapping[str, Any]) -> bool:
    words = recorded["command"]
    return (words[1] in OURS or words[1:3] == ["auth", "can-i"]) and "exit" in recorded


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    words = "--no-node", "--no-scheduler", "--controllers", "none"
    with longshore_up(*words) as longshore, recording(longshore) as proxy:
        yield OurStage(longshore, proxy, tmp_path_factory.mktemp("kubectl"), COMMANDS)


@pytest.mark.parametrize(
    ("number", "name"), [(i, each["name"]) for i, each in enumerate(COMMANDS) if _is_ours(each)]
)
def test_it_prints_what_kubectl_printed(stage: Stage, number: int, name: str) -> None:
    recorded, outcome = COMMANDS[number], stage.outcome(number)
    for stream in ("stderr", "stdout"):
        got = loosened.text(getattr(outcome, stream), recorded["command"])
        want = older_kubectl.words_of(36, name, recorded[stream])
        assert got == want
    assert outcome.exit == recorded["exit"]
