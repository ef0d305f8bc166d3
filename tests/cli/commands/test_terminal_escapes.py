"""Control sequences in objects and logs never reach a terminal; files and pipes get every byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from support.longshore_command import Command, on_terminal

pytestmark = pytest.mark.xdist_group("cli commands")

EVIL = "\x1b]0;owned\x07\x1b[31m\u009b2J"
SHOWN = "^[]0;owned^G^[[31m\\x9b2J"
SCRIPT = r"printf '\033]0;owned\007\033[31m\302\2332J\n'"


@pytest.fixture(scope="module")
def evil(longshore: Command) -> Iterator[None]:
    """A pod and an event that try to take the terminal over."""
    command = ["sh", "-c", f"{SCRIPT}; {SCRIPT} > /dev/termination-log; exit 1"]
    containers = [{"name": "main", "image": f"none{EVIL}", "command": command}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "evil", "annotations": {"a": EVIL}},
        "spec": {"restartPolicy": "Never", "containers": containers},
    }
    about = {"kind": "Pod", "name": "evil", "namespace": "default"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "evil"},
        "involvedObject": about,
        "type": "Warning",
        "reason": "Evil",
        "message": EVIL,
    }
    for obj in (pod, event):
        longshore.ok("apply", "-f", "-", stdin=json.dumps(obj))
    longshore.ok("wait", "pod/evil", "--for=jsonpath={.status.phase}=Failed", "--timeout=30s")
    yield
    longshore.ok("delete", "pod/evil", "event/evil")


def on_a_terminal(longshore: Command, *words: str) -> str:
    shown = on_terminal(words, longshore.home, longshore.environment(), columns=400)
    assert shown.raw, words
    return shown.raw


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize(
    "words",
    [
        "get pods -o wide",
        "get pod evil -o custom-columns=I:.metadata.annotations.a",
        "get pod evil -o jsonpath={.metadata.annotations.a}",
        "get pod evil -o json",
        "get pod evil -o yaml",
        "get --raw /api/v1/namespaces/default/pods/evil",
        "get events",
        "describe pod evil",
        "events",
        "why pod/evil",
        "logs evil",
        "logs evil --timestamps --prefix",
        "logs --failed pod/evil",
        "wait pod/evil --for=done --timeout=60s",
    ],
)
def test_a_terminal_is_shown_no_control_sequence(longshore: Command, words: str) -> None:
    assert not {"\x1b", "\x07", "\u009b"} & set(on_a_terminal(longshore, *words.split()))


@pytest.mark.usefixtures("evil")
def test_logs_are_raw_when_piped_or_asked_for(longshore: Command) -> None:
    assert longshore.ok("logs", "evil") == f"{EVIL}\n"
    assert on_a_terminal(longshore, "logs", "evil") == f"{SHOWN}\r\n"
    assert on_a_terminal(longshore, "logs", "evil", "--raw") == f"{EVIL}\r\n"
    assert EVIL in on_a_terminal(longshore, "logs", "--failed", "pod/evil", "--raw")


def test_a_run_of_a_manifest_shows_no_control_sequence_of_its_pods(longshore: Command) -> None:
    container = {"name": "main", "image": "none", "command": ["sh", "-c", f"{SCRIPT}; exit 1"]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "evil-run"}, "spec": spec}
    file = longshore.home / "evil.json"
    file.write_text(json.dumps(manifest))
    raw = on_a_terminal(longshore, "run", "--throw-away", "--logs", str(file))
    assert SHOWN in raw
    assert "\x1b]0;" not in raw
    assert "\u009b" not in raw


def test_ones_own_command_has_the_terminal_as_it_is(longshore: Command) -> None:
    assert "\x1b]0;owned" in on_a_terminal(longshore, "run", "--throw-away", "--", "sh", "-c", SCRIPT)
