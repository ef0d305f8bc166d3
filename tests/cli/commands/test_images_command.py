"""`longshore images` beside a longshore that runs pods: entries come into force without a restart."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")


@pytest.fixture
def file(longshore: Command) -> Iterator[Path]:
    """The file of images, which is gone at the end."""
    made = longshore.home / "data" / "images.yaml"
    yield made
    made.unlink(missing_ok=True)


def apply(longshore: Command, name: str, *containers: dict[str, Any], deadline: int | None = None) -> None:
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 20,
        "activeDeadlineSeconds": deadline,
        "containers": list(containers),
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    longshore.ok("apply", "-f", "-", stdin=json.dumps(pod))


def ended(longshore: Command, name: str, phase: str = "Succeeded") -> str:
    """The logs of a pod that has ended so."""
    longshore.ok("wait", f"pod/{name}", f"--for=jsonpath={{.status.phase}}={phase}", "--timeout=30s")
    return longshore.ok("logs", name)


def test_a_pod_waits_until_somebody_says_what_its_image_runs(longshore: Command, file: Path) -> None:
    apply(longshore, "image-waits", {"name": "main", "image": "registry.example/greeter:1"})
    waiting = "{.status.containerStatuses[0].state.waiting.reason}"
    longshore.ok("wait", "pod/image-waits", f"--for=jsonpath={waiting}=CreateContainerError", "--timeout=20s")
    way_out = "longshore images add 'registry.example/greeter:*' -- COMMAND"
    assert way_out in longshore.ok("describe", "pod", "image-waits")
    assert way_out in longshore.ok("why", "pod/image-waits")
    said = longshore.ok("images", "add", "registry.example/greeter:*", "--", "echo", "well met")
    assert said == f"\"registry.example/greeter:*\" is in {file}: runs echo 'well met'\n"
    assert ended(longshore, "image-waits") == "well met\n"


def test_a_file_with_a_mistake_leaves_the_last_one_in_force(longshore: Command, file: Path) -> None:
    longshore.ok("images", "add", "polite:*", "--", "echo", "please")
    apply(longshore, "image-polite-1", {"name": "main", "image": "polite:1"})
    assert ended(longshore, "image-polite-1") == "please\n"
    file.write_text('"polite:*": 5\n')
    apply(longshore, "image-rude", {"name": "main", "image": "rude:1"})
    problem = f'{file}: "polite:*": it must be a list of words'
    until = time.monotonic() + 20
    while problem not in longshore.ok("describe", "pod", "image-rude"):
        assert time.monotonic() < until, longshore.ok("describe", "pod", "image-rude")
    apply(longshore, "image-polite-2", {"name": "main", "image": "polite:2"})
    assert ended(longshore, "image-polite-2") == "please\n"
    refused = longshore("images", "list")
    assert (refused.exit, problem in refused.stderr) == (2, True)
    assert longshore("images", "add", "x", "--", "true").exit == 2, "a bad file is not written over"


def test_a_pause_waits_and_ends_on_term(longshore: Command) -> None:
    apply(longshore, "image-pause", {"name": "main", "image": "registry.k8s.io/pause:3.10"}, deadline=1)
    longshore.ok("wait", "pod/image-pause", "--for=jsonpath={.status.phase}=Failed", "--timeout=30s")
    code = "{.status.reason} {.status.containerStatuses[0].state.terminated.exitCode}"
    assert longshore.ok("get", "pod", "image-pause", "-o", f"jsonpath={code}") == "DeadlineExceeded 0"


@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed")
def test_a_pod_of_busybox_has_its_shell_and_its_applets(longshore: Command) -> None:
    script = "[[ a == a ]] && echo yes; sleep --help 2>&1 | head -1 | cut -d' ' -f1; which bunzip2"
    apply(
        longshore,
        "image-busy",
        {"name": "shell", "image": "busybox:1.36", "command": ["/bin/sh", "-c", script]},
        {"name": "applet", "image": "busybox", "command": ["busybox", "true"]},
        {"name": "bare", "image": "registry.example/mirror/busybox@sha256:" + "0" * 64},
    )
    longshore.ok("wait", "pod/image-busy", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s")
    assert (
        longshore.ok("logs", "image-busy", "-c", "shell") == "yes\nBusyBox\n/run/longshore/busybox/bunzip2\n"
    )
    assert longshore.ok("logs", "image-busy", "-c", "bare") == ""


def test_another_pod_has_the_shell_of_the_machine(longshore: Command) -> None:
    apply(
        longshore,
        "image-plain",
        {"name": "main", "image": "debian", "command": ["readlink", "-f", "/bin/sh"]},
    )
    assert ended(longshore, "image-plain").strip() == str(Path("/bin/sh").resolve())


def test_entries_are_listed_tested_and_removed(longshore: Command, file: Path, tmp_path: Path) -> None:
    longshore.ok("images", "add", "tool:1.*", "--path", str(tmp_path), "--", "sleep", "0")
    lacking = longshore.ok("images", "add", "lost:*", "--path", str(tmp_path / "no"), "--", "no-such-program")
    assert lacking.endswith(
        f"but there is no directory {tmp_path}/no\nbut there is no program no-such-program\n"
    )
    rows = [line.split() for line in longshore.ok("images").splitlines()]
    assert rows[:2] == [
        ["IMAGES", "COMMAND", "TOOLS", "FROM"],
        ["tool:1.*", "sleep", "0", str(tmp_path), "file"],
    ]
    assert ["*/ubuntu:*", "sh", "-", "built-in"] in rows
    good = longshore("images", "test", "tool:1.2", "ubuntu")
    assert (good.exit, good.stdout) == (
        0,
        f'tool:1.2: runs sleep 0, with {tmp_path} (entry "tool:1.*")\nubuntu: runs sh (built in)\n',
    )
    bad = longshore("images", "test", "tool:2", "lost")
    assert bad.exit == 1
    assert "longshore images add 'tool:*' -- COMMAND" in bad.stdout
    assert "there is no program no-such-program" in bad.stdout
    assert longshore.ok("images", "remove", "lost:*") == f'"lost:*" is not in {file} any more\n'
    again = longshore("images", "remove", "tool:1")
    assert (again.exit, again.stderr) == (
        2,
        f"longshore: {file} has no entry \"tool:1\"; did you mean 'tool:1.*'?\n",
    )


def test_another_file_is_used_where_it_is_named(longshore: Command, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    longshore.ok("images", "--images", str(other), "add", "a", "--", "true")
    assert other.read_text() == '"a": ["true"]\n'
    own = Command(tmp_path)
    up = own.start(
        "up", "--in-memory", "--port", "0", "--data-dir", str(tmp_path / "d"), "--images", str(other)
    )
    try:
        assert up.stdout is not None
        assert "is ready" in up.stdout.readline()
        said = own.ok("images", "--data-dir", str(tmp_path / "d"), "add", "b", "--", "true")
        assert said == f'"b" is in {other}: runs true\n'
    finally:
        up.terminate()
        up.communicate(timeout=20)
    other.write_text("5\n")
    refused = own("up", "--in-memory", "--port", "0", "--images", str(other))
    assert (refused.exit, refused.stderr[: refused.stderr.index(": it")]) == (1, f"longshore: {other}")
    assert own("up", "--images", str(tmp_path / "none")).exit == 2


def test_a_command_is_for_an_entry_that_is_added(longshore: Command) -> None:
    assert longshore("images", "test", "x", "--", "true").exit == 2
    assert longshore("images", "add", "x").exit == 2
