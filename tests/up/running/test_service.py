"""longshore as a service: the notification protocol for real, and a unit that systemd accepts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from longshore.cli.commands import service
from longshore.cli.main import main
from longshore.up import systemd_unit
from longshore.up.systemd_unit import SocketUnit, Unit


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def test_the_service_manager_hears_when_longshore_is_ready_and_when_it_stops(tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.settimeout(60)
        words = [
            "-m",
            "longshore",
            "up",
            "--data-dir",
            str(tmp_path / "data"),
            "--port",
            "0",
            "--on-stop",
            "kill",
        ]
        longshore = subprocess.Popen(
            [sys.executable, *words, "--on-stop", "kill"],
            env={**os.environ, "NOTIFY_SOCKET": str(address)},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            told = manager.recv(4096).decode().splitlines()
            assert longshore.stdout is not None
            server = re.search(r"https://\S+:\d+", longshore.stdout.readline())
            assert server is not None
            assert told == ["READY=1", f"STATUS=serves {server[0]}", f"MAINPID={longshore.pid}"]
            children = Path(f"/proc/{longshore.pid}/task/{longshore.pid}/children").read_text().split()
            assert all(b"NOTIFY_SOCKET" not in Path(f"/proc/{pid}/environ").read_bytes() for pid in children)
            longshore.send_signal(signal.SIGTERM)
            assert manager.recv(4096).decode().splitlines() == ["STOPPING=1", "STATUS=stopping"]
        finally:
            longshore.terminate()
            longshore.communicate()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze on this machine")
@pytest.mark.parametrize("user", [False, True])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, user: bool) -> None:
    command = ("/bin/sh", "up", "--data-dir", "/a dir/100%/$HOME", "--keep", "events=1k")
    file = tmp_path / systemd_unit.NAME
    unit_text = Unit(user=user, command=command, directory=str(tmp_path)).text()
    file.write_text(unit_text.replace("man:longshore-up(1)", "man:sh(1)"))
    sockets = tmp_path / systemd_unit.SOCKET_NAME
    unit = SocketUnit(user=user, addresses=("127.0.0.1", "::1"), port=6443)
    sockets.write_text(unit.text().replace("man:longshore-up(1)", "man:sh(1)"))
    words = ["systemd-analyze", *(["--user"] if user else []), "verify", "--man=no", str(file), str(sockets)]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    names = (systemd_unit.NAME, systemd_unit.SOCKET_NAME)
    mine = [line for line in done.stderr.splitlines() if any(name in line for name in names)]
    assert mine == [], done.stderr


def test_the_unit_waits_for_ready_keeps_pods_and_has_cgroups_of_its_own() -> None:
    text = Unit(user=False, command=("/usr/bin/longshore", "up")).text()
    for line in (
        "Type=notify",
        "ExecStart=/usr/bin/longshore up",
        "KillMode=process",
        "Delegate=yes",
        "Restart=on-failure",
        "WantedBy=multi-user.target",
        "Requires=longshore.socket",
    ):
        assert line in text.splitlines()
    assert "WantedBy=default.target" in Unit(user=True, command=("x",)).text()


@pytest.mark.parametrize(
    ("words", "streams"),
    [
        ([], ["ListenStream=127.0.0.1:6443"]),
        (["--port", "7443"], ["ListenStream=127.0.0.1:7443"]),
        (["--listen", "::1"], ["ListenStream=127.0.0.1:6443", "ListenStream=[::1]:6443"]),
        (["--listen", "0.0.0.0", "--tls-name", "here"], ["ListenStream=0.0.0.0:6443"]),
        (["--port", "0"], []),
    ],
)
def test_the_socket_unit_has_the_addresses_that_longshore_listens_on(
    home: Path, words: list[str], streams: list[str]
) -> None:
    sockets = home / ".config" / "systemd" / "user" / "longshore.socket"
    assert main(["service", "install", "--user", "--no-start", "--", "--port", "1234"]) == 0
    assert main(["service", "install", "--user", "--no-start", "--", *words]) == 0
    found = sockets.read_text() if sockets.exists() else ""
    assert re.findall("^ListenStream=.*", found, re.MULTILINE) == streams
    service = sockets.with_name("longshore.service").read_text()
    assert ("Requires=longshore.socket" in service) == bool(streams)


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("plain", "plain"),
        ("a b", '"a b"'),
        ("100%", "100%%"),
        ("$HOME", "$$HOME"),
        ("", '""'),
        ('"', '"\\""'),
    ],
)
def test_a_word_means_to_systemd_what_it_means_to_us(word: str, written: str) -> None:
    assert systemd_unit.quoted(word) == written


def test_a_unit_is_written_with_the_arguments_of_up_and_removed_again(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["service", "install", "--user", "--no-start", "--", "--port", "7443"]
    assert main(words) == 0
    file = home / ".config" / "systemd" / "user" / "longshore.service"
    assert file.read_text().splitlines().count("Type=notify") == 1
    assert re.search(r"^ExecStart=/\S+.* up --port 7443$", file.read_text(), re.MULTILINE)
    # Relative paths among the arguments mean what they mean here.
    assert f"\nWorkingDirectory=-{Path.cwd()}\nRestart=on-failure\n" in file.read_text()
    if not Path("/run/systemd/system").is_dir():
        assert main(["service", "remove", "--user"]) == 0
        assert list(file.parent.iterdir()) == []
        capsys.readouterr()
        assert main(["service", "status", "--user"]) == 1
        assert "install it with: longshore service install --user" in capsys.readouterr().out


def test_a_service_that_is_installed_with_other_arguments_is_started_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = home / "asked"
    systemctl = home / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$*" >> {asked}\n')
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    monkeypatch.setattr(service, "_runs", lambda: True)
    started = [
        "--user show --property=Version",
        "--user daemon-reload",
        "--user enable --now longshore.socket longshore.service",
    ]

    def install(port: str) -> list[str]:
        asked.unlink(missing_ok=True)
        assert main(["service", "install", "--user", "--", "--port", port]) == 0
        return asked.read_text().splitlines()

    assert install("7443") == started
    assert install("7443") == started
    stopped = "--user stop longshore.socket longshore.service"
    assert install("8443") == [*started[:2], stopped, started[2]]


@pytest.mark.parametrize("runs", [False, True])
def test_a_service_that_no_systemd_would_start_is_not_written(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: bool
) -> None:
    systemctl = home / "systemctl"
    systemctl.write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2; exit 1\n")
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    monkeypatch.setattr(service, "_runs", lambda: runs)
    assert main(["service", "install", "--user"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert ("Failed to connect to bus" if runs else "systemd does not run this machine") in said.err
    assert not (home / ".config").exists()


def test_arguments_that_up_would_refuse_are_refused_before_anything_is_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["service", "install", "--user", "--no-start", "--", "--prot", "1"]) == 2
    assert "did you mean '--port'?" in capsys.readouterr().err
    assert not (home / ".config").exists()
