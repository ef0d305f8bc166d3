"""`longshore up --listen`: names for other machines in the certificate; and ports that cannot be had."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

READY = re.compile(r"is ready at https://127\.0\.0\.1:(\d+);")
UP = (sys.executable, "-m", "longshore", "up")
OTHER = "127.0.0.2"
"""An address of this machine that is not the one it always listens on."""


@contextmanager
def up(directory: Path, *words: str, by: Sequence[str] = ()) -> Iterator[tuple[int, Path]]:
    """The port, and a file with what it says on standard error. `by` is a command that starts it."""
    said = directory / "said"
    command = [*by, *UP, "--data-dir", str(directory / "data"), "--port", "0", "--no-node", *words]
    with said.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    ready = READY.search(process.stdout.readline())
    assert ready is not None, said.read_text()
    try:
        yield int(ready[1]), said
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def refused(tmp_path: Path, *words: str) -> str:
    command = [*UP, "--data-dir", str(tmp_path / "data"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def get(url: str, config: str, token: str = "") -> tuple[int, str]:
    cluster = yaml.safe_load(config)["clusters"][0]["cluster"]
    import base64

    ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
    request = urllib.request.Request(url)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        context = ssl.create_default_context(cadata=ca)
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as err:
        with err:
            return err.code, err.read().decode()


def test_another_address_is_served_with_tls_and_never_without_credentials(tmp_path: Path) -> None:
    with up(tmp_path, "--listen", OTHER, "--tls-name", "build.example") as (port, said):
        words = [
            sys.executable,
            "-m",
            "longshore",
            "kubeconfig",
            "print",
            "--data-dir",
            str(tmp_path / "data"),
        ]
        words += ["--server", f"https://{OTHER}:{port}"]
        config = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        server = yaml.safe_load(config)["clusters"][0]["cluster"]["server"]
        token = yaml.safe_load(config)["users"][0]["user"]["token"]
        assert get(f"{server}/api/v1/namespaces", config)[0] in (401, 403)
        assert get(f"{server}/api/v1/namespaces", config, token)[0] == 200
        assert get(f"https://127.0.0.1:{port}/api/v1/namespaces", config, token)[0] == 200
        warned = said.read_text()
    assert f"other machines reach this longshore at https://build.example:{port}, {server}." in warned
    assert "can start processes here as" in warned
    assert f"longshore kubeconfig print --server https://build.example:{port}" in warned


def test_a_user_whom_the_machine_has_no_name_for_is_told_by_number(tmp_path: Path) -> None:
    nameless = ("env", "-u", "LOGNAME", "-u", "USER", "unshare", "--user", "--map-user=54321")
    if subprocess.run([*nameless, "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no user without a name can be made here")
    with up(tmp_path, "--listen", OTHER, by=nameless) as (port, said):
        config = (tmp_path / "data" / "kubeconfig").read_text()
        assert get(f"https://{OTHER}:{port}/version", config)[0] == 200
    assert "can start processes here as user id 54321." in said.read_text()


def test_all_addresses_are_listened_on_with_a_name_for_them(tmp_path: Path) -> None:
    assert "--listen 0.0.0.0 needs --tls-name NAME" in refused(tmp_path, "--listen", "0.0.0.0")
    with up(tmp_path, "--listen", "0.0.0.0", "--tls-name", OTHER) as (port, _):
        config = (tmp_path / "data" / "kubeconfig").read_text()
        for address in (OTHER, "127.0.0.1"):
            assert get(f"https://{address}:{port}/version", config)[0] == 200


def test_without_being_told_it_listens_on_the_loopback_address_alone(tmp_path: Path) -> None:
    with up(tmp_path) as (port, said):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((OTHER, port), timeout=5)
        assert "other machines" not in said.read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--listen", "build.example"), "'build.example' is not an IP address of this machine"),
        (("--tls-name", "no name"), "'no name' is neither a host name nor an IP address"),
        (("--port", "0", "--listen", "192.0.2.1"), "192.0.2.1 is no address of this machine"),
    ],
)
def test_bad_addresses_and_names_are_refused_in_a_sentence(
    tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    said = refused(tmp_path, *words)
    assert text in said


def test_a_port_that_is_taken_is_said_in_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(tmp_path, "--port", str(port))
    assert f"port {port} on 127.0.0.1 is taken by another process; pass --port 0" in said


def test_a_port_that_needs_root_is_said_in_a_sentence(tmp_path: Path) -> None:
    first = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    if first <= 80:
        pytest.skip("any user may listen on port 80 here")
    command = [*UP, "--data-dir", str(tmp_path / "data"), "--port", "80", "--no-node"]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("there is no setpriv to give up a right of root with")
        command = ["setpriv", "--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1, done.stderr
    assert f"port 80 needs root: user {os.geteuid()} may listen from port {first} on" in done.stderr
