"""`longshore attach`, `cp` and `port-forward` with a real pod, and what they say when it cannot be."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.longshore_command import Command

pytestmark = pytest.mark.xdist_group("cli commands")

POD = """
apiVersion: v1
kind: Pod
metadata: {name: reached, labels: {app: reached}}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: python
    command: [python3, -c, "import http.server as h, sys; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); print(s.server_port, flush=True); s.serve_forever()"]
    ports: [{name: web, containerPort: 1}]
---
apiVersion: v1
kind: Pod
metadata: {name: echoing}
spec:
  restartPolicy: Never
  containers: [{name: main, image: busybox, stdin: true, stdinOnce: true, command: [cat]}]
"""  # noqa: E501 - one line of Python in a manifest


@pytest.fixture(scope="module")
def port(longshore: Command) -> Iterator[str]:
    """The port that the pod `reached` serves HTTP on."""
    longshore.ok("apply", "-f", "-", stdin=POD)
    longshore.ok("wait", "--for=condition=Ready", "pod/reached", "pod/echoing")
    shown = ""
    while not shown:
        shown = longshore.ok("logs", "reached", "--tail=1")
    yield shown.strip()
    longshore.ok("delete", "--now", "pod/reached", "pod/echoing", "--ignore-not-found")


CHOSEN = """
apiVersion: v1
kind: Pod
metadata: {name: chosen, labels: {team: a, app: one}}
spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [echo, chosen]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: another, labels: {team: a, app: two}}
spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [echo, another]}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: chosen}
spec:
  selector:
    matchLabels: {team: a}
    matchExpressions:
    - {key: app, operator: NotIn, values: [two, three]}
    - {key: team, operator: Exists}
    - {key: old, operator: DoesNotExist}
"""


def test_all_of_a_selector_counts_for_the_pods_behind_a_name(longshore: Command) -> None:
    longshore.ok("apply", "-f", "-", stdin=CHOSEN)
    try:
        for name in ("chosen", "another"):
            longshore.ok("wait", "--for=jsonpath={.status.phase}=Succeeded", f"pod/{name}")
        assert longshore.ok("logs", "pdb/chosen") == "chosen\n"
    finally:
        longshore.ok("delete", "--now", "pod/chosen", "pod/another", "pdb/chosen")


@pytest.mark.usefixtures("port")
class TestFiles:
    def test_they_go_to_a_pod_and_come_back(self, longshore: Command, tmp_path: Path) -> None:
        tree, far = tmp_path / "tree", tmp_path / "far"
        (tree / "empty").mkdir(parents=True)
        far.mkdir()
        (tree / "large").write_bytes(os.urandom(3_000_000))
        (tree / "script").write_text("#!/bin/sh\n")
        (tree / "script").chmod(0o755)
        os.link(tree / "large", tree / "linked")
        assert longshore("cp", str(tree), f"reached:{far}/copy").stderr == ""
        assert longshore("cp", f"default/reached:{far}/copy", str(tmp_path / "back")).stderr == ""
        for copy in (far / "copy", tmp_path / "back"):
            assert sorted(path.name for path in copy.iterdir()) == ["empty", "large", "linked", "script"]
            assert (copy / "linked").read_bytes() == (tree / "large").read_bytes()
            assert (copy / "script").stat().st_mode & 0o777 == 0o755

    def test_a_directory_takes_a_file_in(self, longshore: Command, tmp_path: Path) -> None:
        here, there = tmp_path / "here", tmp_path / "there"
        here.mkdir()
        there.mkdir()
        (here / "note").write_text("hello")
        longshore.ok("cp", str(here / "note"), f"reached:{there}", "-c", "main")
        longshore.ok("cp", f"reached:{there}/note", str(tmp_path))
        assert (tmp_path / "note").read_text() == "hello"

    def test_links_in_a_pod_are_left_out_with_a_warning(self, longshore: Command, tmp_path: Path) -> None:
        tree = tmp_path / "tree"
        tree.mkdir()
        (tree / "link").symlink_to("/etc/passwd")
        done = longshore("cp", f"reached:{tree}", str(tmp_path / "back"))
        assert (done.exit, "skipping symlink" in done.stderr) == (0, True)
        assert list((tmp_path / "back").iterdir()) == []

    @pytest.mark.parametrize(
        ("words", "message", "code"),
        [
            (("a", "b"), "error: one of src or dest must be a remote file specification", 2),
            (("reached:/a", "reached:/b"), "error: one of src or dest must be a local file specification", 2),
            (("/not/there", "reached:/b"), "error: /not/there doesn't exist in local filesystem", 1),
            (("reached:/not/there", "b"), "/not/there: Cannot stat: No such file or directory", 2),
            (("a/b/c:/x", "b"), "error: filespec must match the canonical format", 2),
            (("reached:", "b"), "error: filepath can not be empty", 2),
            (("nobody:/a", "b"), 'Error from server (NotFound): pods "nobody" not found', 1),
        ],
    )
    def test_a_copy_that_cannot_be_says_why(
        self, longshore: Command, words: tuple[str, ...], message: str, code: int
    ) -> None:
        done = longshore("cp", *words)
        assert (done.exit, message in done.stderr) == (code, True), done.stderr


def forwarded(longshore: Command, *words: str) -> tuple[subprocess.Popen[str], int]:
    process = longshore.start("port-forward", *words)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"Forwarding from 127\.0\.0\.1:(\d+) -> \d+\n", line)
    assert found, line
    return process, int(found[1])


@pytest.mark.parametrize("target", ["pod/reached", "service/reached"])
def test_a_forwarded_port_answers_until_it_is_stopped(longshore: Command, port: str, target: str) -> None:
    ports = f"[{{name: http, port: 80, targetPort: {port}}}]"
    service = f"{{apiVersion: v1, kind: Service, metadata: {{name: reached}}, spec: {{selector: {{app: reached}}, ports: {ports}}}}}"  # noqa: E501
    longshore.ok("apply", "-f", "-", stdin=service)
    process, local = forwarded(longshore, target, f":{port}" if target.startswith("pod") else ":http")
    for _ in range(2):
        with urllib.request.urlopen(f"http://127.0.0.1:{local}/", timeout=20) as answer:
            assert answer.status == 200
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")
    assert f"Handling connection for {local}\n" in out


@pytest.mark.usefixtures("port")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pod/reached",), "error: TYPE/NAME and list of ports are required for port-forward\n"),
        (("pod/reached", "70000"), "error: '70000' is not a port: a whole number from 1 to 65535\n"),
        (("pod/reached", "1:2:3"), "error: invalid port format '1:2:3'\n"),
        (("pod/reached", "https"), "error: Pod 'reached' does not have a named port 'https'\n"),
        (("pod/reached", "9"), "choose another port here: longshore port-forward pod/reached :9\n"),
        (("pod/nobody", "80"), 'Error from server (NotFound): pods "nobody" not found\n'),
    ],
)
def test_a_port_that_cannot_be_forwarded_says_why(
    longshore: Command, words: tuple[str, ...], message: str
) -> None:
    done = longshore("port-forward", *words)
    assert done.exit != 0
    assert done.stderr.endswith(message)


@pytest.mark.usefixtures("port")
def test_attach_gives_input_and_shows_output_to_the_end(longshore: Command) -> None:
    done = longshore("attach", "-i", "pod/echoing", stdin="hello\n")
    assert (done.exit, done.stdout, done.stderr) == (0, "hello\n", "")
    longshore.ok("wait", "--for=done", "pod/echoing")
    done = longshore("attach", "echoing")
    assert done.stderr == "error: cannot attach a container in a completed pod; current phase is Succeeded\n"
    assert done.exit == 1


def test_attach_without_a_terminal_in_the_container_goes_on_without(longshore: Command, port: str) -> None:
    process = longshore.start("attach", "reached", "-t")
    assert process.stderr is not None
    said = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert said == "error: Unable to use a TTY - container main did not allocate one\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("logs", ""), "error: resource name may not be empty\n"),
        (("attach", "pod/"), "error: resource name may not be empty\n"),
        (("cron", "run", ""), "longshore: name a CronJob, as longshore cron list does\n"),
        (("logs", "ü"), 'Error from server (NotFound): pods "ü" not found\n'),
    ],
)
def test_a_name_that_is_none_is_told(longshore: Command, words: tuple[str, ...], message: str) -> None:
    assert longshore(*words).stderr == message
