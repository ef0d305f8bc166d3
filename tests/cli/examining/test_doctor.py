"""`longshore doctor`: each finding has a state, a sentence, and the command that helps where one does."""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from longshore.cli import doctor_checks
from longshore.cli.doctor_checks import Finding
from longshore.store import journal_schema
from longshore.up import own_certificates
from support.longshore_command import Command

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def program(folder: Path, text: str) -> str:
    file = folder / "program"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("finding", "state", "help"),
    [
        (doctor_checks.python((3, 10, 1)), "broken", "install Python 3.11 or newer"),
        (doctor_checks.python((3, 12, 0)), "ok", ""),
        (doctor_checks.namespaces_finding("", "", ""), "ok", ""),
        (
            doctor_checks.namespaces_finding("not permitted", "1", ""),
            "limited",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            doctor_checks.namespaces_finding("not permitted", "", "0"),
            "limited",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        (
            doctor_checks.namespaces_finding("not permitted", "", ""),
            "limited",
            "run longshore as root, or in podman: longshore up --runtime podman",
        ),
        (
            doctor_checks.cgroups_finding(""),
            "limited",
            "systemd-run --user --scope -p Delegate=yes longshore up",
        ),
        (doctor_checks.cgroups_finding("/sys/fs/cgroup/x"), "ok", ""),
        (doctor_checks.open_files(256), "limited", "ulimit -n 65536"),
        (doctor_checks.open_files(-1), "ok", ""),
        (doctor_checks.processes(100), "limited", "ulimit -u 4096"),
        (doctor_checks.programs("/not/there"), "limited", "install sh and tar"),
        (doctor_checks.disk(Path("/x"), 5 * 2**20), "broken", "du -xh /x | sort -h | tail"),
        (doctor_checks.disk(Path("/x"), 500 * 2**20), "limited", "du -xh /x | sort -h | tail"),
        (doctor_checks.disk(Path("/x"), 5 * 2**30), "ok", ""),
        (
            doctor_checks.clock(Path("/x"), datetime(1970, 1, 1, tzinfo=UTC)),
            "broken",
            "sudo timedatectl set-ntp true",
        ),
        (doctor_checks.server(Path("/x"), None), "absent", "longshore up"),
    ],
)
def test_a_finding_says_what_helps(finding: Finding, state: str, help: str) -> None:
    assert (finding.state, finding.help) == (state, help)


def test_podman_is_asked_whether_it_works(tmp_path: Path) -> None:
    assert doctor_checks.podman(program(tmp_path, "echo 5.1")) == Finding("podman", "ok", "5.1")
    broken = doctor_checks.podman(program(tmp_path, "echo 'Error: no subuids' >&2; exit 125"))
    assert broken == Finding("podman", "limited", "does not work: no subuids", "podman info")
    assert doctor_checks.podman("/not/there").state == "limited"


def test_a_port_of_another_program_is_broken_unless_longshore_itself_holds_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        assert doctor_checks.port(number, ours=False).state == "broken"
        assert doctor_checks.port(number, ours=True).state == "ok"
    assert doctor_checks.port(number, ours=False) == Finding(f"port {number}", "ok", "free")


def test_the_data_directory_must_be_ours_and_writable(tmp_path: Path) -> None:
    me = os.geteuid()
    assert doctor_checks.directory(tmp_path, me).state == "ok"
    assert doctor_checks.directory(tmp_path / "new" / "one", me).text.endswith("is made by the first start")
    assert "belongs to user id" in doctor_checks.directory(tmp_path, me + 1).text
    (tmp_path / "file").touch()
    assert doctor_checks.directory(tmp_path / "file", me).text.endswith("is a file")


def test_the_version_of_the_data_is_read_from_the_file(tmp_path: Path) -> None:
    known = len(journal_schema.scripts(journal_schema.MIGRATIONS))
    assert doctor_checks.version(tmp_path).text == f"no data yet; this longshore writes version {known}"
    file = tmp_path / "journal.db"
    journal_schema.create(file)
    assert doctor_checks.version(tmp_path) == Finding("data version", "ok", str(known))
    head = bytearray(file.read_bytes())
    head[60:64] = (known + 1).to_bytes(4, "big")
    file.write_bytes(head)
    newer = doctor_checks.version(tmp_path)
    assert (newer.state, newer.help) == ("broken", "pip install --upgrade longshore")
    file.write_bytes(b"something else")
    assert doctor_checks.version(tmp_path).text.endswith("is not a longshore journal")


def test_a_clock_behind_the_data_is_broken(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    file.touch()
    os.utime(file, (NOW.timestamp() + 3600 * 5, NOW.timestamp() + 3600 * 5))
    found = doctor_checks.clock(tmp_path, NOW)
    assert (found.state, found.text) == ("broken", "5 h behind the last write to the data directory")
    assert doctor_checks.clock(tmp_path, NOW + timedelta(hours=5)).state == "ok"


def test_certificates_are_checked_for_their_end(tmp_path: Path) -> None:
    assert doctor_checks.certificates(tmp_path, NOW, False).text == "made by the first start"
    own_certificates.ensure(tmp_path / "pki", NOW)
    assert doctor_checks.certificates(tmp_path, NOW, True) == Finding(
        "certificates", "ok", "valid until 2027-05-04"
    )
    assert doctor_checks.certificates(tmp_path, NOW + timedelta(days=350), True).state == "limited"
    assert doctor_checks.certificates(tmp_path, NOW + timedelta(days=400), True).state == "broken"
    assert doctor_checks.certificates(tmp_path, NOW + timedelta(days=400), False).state == "ok"
    (tmp_path / "pki" / "server.pem").write_text("nonsense")
    assert doctor_checks.certificates(tmp_path, NOW, False).state == "broken"


def test_lines_are_aligned_and_help_stands_below() -> None:
    shown = doctor_checks.lines([Finding("a", "ok", "fine"), Finding("long", "broken", "bad", "mend it")])
    assert shown == ("ok       a     fine\nbroken   long  bad\n               help: mend it\n")


def test_the_command_checks_everything_and_its_exit_code_tells(tmp_path: Path) -> None:
    longshore = Command(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        done = longshore("doctor", "--port", taken)
    assert done.exit == 1
    assert f"broken   port {taken}" in done.stdout
    assert "help: longshore up --port 0\n" in done.stdout
    found = json.loads(longshore.ok("doctor", "-o", "json", "--port", "0"))
    assert {"python", "namespaces", "cgroups", "podman", "disk", "clock", "certificates"} <= {
        each["what"] for each in found
    }
