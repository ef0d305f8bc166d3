"""`longshore up` as a person sees it: a process, one ready line, a clean end, clear refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from support import forked_longshore
from support.longshore_command import ignoring_ctrl_c

READY = re.compile(
    r"longshore \S+ is ready at (https://127\.0\.0\.1:\d+); use it with: export KUBECONFIG=(\S+)\n"
)


@dataclass
class Up:
    process: subprocess.Popen[str]
    server: str
    kubeconfig: Path

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Exit code and standard error, without what the machine that the test runs on lacks."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, re.sub("this machine: .*\n", "", errors)

    def get(self, path: str, token: str = "") -> tuple[int, str]:
        trusted = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]
        import base64

        ca = base64.b64decode(trusted["certificate-authority-data"]).decode()
        tls = ssl.create_default_context(cadata=ca)
        request = urllib.request.Request(self.server + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, context=tls, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as err:
            with err:
                return err.code, err.read().decode()


def start(*words: str, **environ: str) -> subprocess.Popen[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return forked_longshore.popen(["up", *words], env=os.environ | environ, **streams)


@contextmanager
def up(*words: str, **environ: str) -> Iterator[Up]:
    process = start(*words, **environ)
    try:
        assert process.stdout is not None
        found = READY.fullmatch(process.stdout.readline())
        assert found is not None, process.communicate(timeout=60)[1]
        yield Up(process, found[1], Path(found[2]))
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def refused(*words: str) -> str:
    """What a longshore that must not start says."""
    process = start(*words)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    return errors


def test_the_kubeconfig_of_the_ready_line_works_and_is_private(tmp_path: Path) -> None:
    with up("--port", "0", LONGSHORE_HOME=str(tmp_path / "home")) as longshore:
        assert longshore.kubeconfig == tmp_path / "home" / "kubeconfig"
        assert stat.S_IMODE(longshore.kubeconfig.stat().st_mode) == 0o600
        assert stat.S_IMODE(longshore.kubeconfig.parent.stat().st_mode) == 0o700
        config = yaml.safe_load(longshore.kubeconfig.read_text())
        assert config["clusters"][0]["cluster"]["server"] == longshore.server
        assert config["current-context"] == "longshore"


def test_without_credentials_only_health_and_version_answer(tmp_path: Path) -> None:
    with up("--port", "0", "--in-memory", "--data-dir", str(tmp_path / "d")) as longshore:
        assert longshore.get("/healthz") == (200, "ok")
        assert longshore.get("/version")[0] == 200
        code, body = longshore.get("/api/v1/namespaces")
        assert code in (401, 403)
        assert json.loads(body)["kind"] == "Status"
        assert longshore.get("/api/v1/namespaces", "wrong")[0] == 401
        token = (tmp_path / "d" / "token").read_text().strip()
        code, body = longshore.get("/api/v1/namespaces", token)
        assert code == 200
        names = {item["metadata"]["name"] for item in json.loads(body)["items"]}
        assert names == {"default", "kube-system", "kube-public", "kube-node-lease"}


def test_it_listens_on_loopback_alone(tmp_path: Path) -> None:
    with up("--port", "0", "--in-memory") as longshore:
        port = int(longshore.server.rpartition(":")[2])
        listening = Path(f"/proc/{longshore.process.pid}/net/tcp").read_text()
        bound = {line.split()[1] for line in listening.splitlines()[1:] if line.split()[3] == "0A"}
        mine = {address for address in bound if int(address.partition(":")[2], 16) == port}
        assert mine == {f"0100007F:{port:04X}"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with up("--port", "0", "--data-dir", str(tmp_path / "d")) as longshore:
        assert longshore.stop(number) == (0, "longshore is stopping\n")


def test_in_the_background_of_a_script_ctrl_c_is_not_for_it(tmp_path: Path) -> None:
    with ignoring_ctrl_c(), up("--port", "0", "--data-dir", str(tmp_path / "d")) as longshore:
        longshore.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert longshore.get("/healthz") == (200, "ok")
        assert longshore.stop(signal.SIGTERM) == (0, "longshore is stopping\n")


def test_data_and_credentials_are_there_again_after_a_restart(tmp_path: Path) -> None:
    words = "--port", "0", "--data-dir", str(tmp_path / "d")
    with up(*words) as longshore:
        token = (tmp_path / "d" / "token").read_text().strip()
        _, before = longshore.get("/api/v1/namespaces/default", token)
        longshore.stop()
    with up(*words) as longshore:
        assert longshore.get("/api/v1/namespaces/default", token)[1] == before


def test_a_throw_away_longshore_leaves_nothing_behind(tmp_path: Path) -> None:
    with up("--port", "0", "--in-memory", TMPDIR=str(tmp_path)) as longshore:
        assert longshore.kubeconfig.parent.parent == tmp_path
        longshore.stop()
        assert list(tmp_path.iterdir()) == []


def test_clients_of_a_longshore_in_memory_find_out_that_another_one_answers(tmp_path: Path) -> None:
    def version() -> str:
        code, body = longshore.get("/api/v1/namespaces", (tmp_path / "d" / "token").read_text().strip())
        assert code == 200
        return str(json.loads(body)["metadata"]["resourceVersion"])

    words = "--port", "0", "--in-memory", "--data-dir", str(tmp_path / "d")
    with up(*words) as longshore:
        before = version()
    with up(*words) as longshore:
        assert int(version()) > int(before)
        token = (tmp_path / "d" / "token").read_text().strip()
        path = f"/api/v1/namespaces?watch=true&timeoutSeconds=5&resourceVersion={before}"
        assert '"code":410' in longshore.get(path, token)[1]


@pytest.mark.parametrize("kind", [(), ("--in-memory",)])
def test_a_second_one_on_the_same_directory_is_told_who_holds_it(
    tmp_path: Path, kind: tuple[str, ...]
) -> None:
    words = "--port", "0", "--data-dir", str(tmp_path / "d"), *kind
    with up(*words) as longshore:
        before = longshore.kubeconfig.read_bytes()
        said = refused(*words)
        assert "Another longshore holds this data directory. Stop it, or pass another --data-dir." in said
        assert f"held by process {longshore.process.pid}" in said
        assert "Traceback" not in said
        assert longshore.kubeconfig.read_bytes() == before


def test_a_taken_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused("--port", str(port), "--data-dir", str(tmp_path / "d"))
    assert said == (
        f"longshore: port {port} on 127.0.0.1 is taken by another process; "
        "pass --port 0 for any free one, or another --port\n"
    )


def test_a_directory_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").touch()
    assert "holds other files and is open to other users" in refused("--data-dir", str(tmp_path))
