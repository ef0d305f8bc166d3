"""The scripts in the shells they are for, as far as these are installed; bash is always."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from longshore.cli.commands import completion
from support.longshore_process import RunningLongshore, longshore_up

ASK = r"""
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
# Bash hands lines over cut at its word breaks.
python3 - "$COMP_LINE" > words <<'END'
import re, sys
print("\n".join(re.findall(r"[=:]|[^\s=:]+", sys.argv[1]) + ([""] if sys.argv[1][-1:] in (" ", "") else [])))
END
mapfile -t COMP_WORDS < words
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { echo "compopt $*"; }
_longshore
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningLongshore]:
    with longshore_up("--no-node", "--no-scheduler", "--controllers", "none") as longshore:
        where = "/api/v1/namespaces/default/configmaps"
        for name in ("blue-one", "blue-two", "green"):
            longshore.made("POST", where, {"metadata": {"name": name}})
        yield longshore


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a `longshore` program and the script for bash."""
    program = tmp_path / "longshore"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m longshore "$@"\n')
    program.chmod(0o755)
    (tmp_path / "script").write_text(completion.SCRIPTS["bash"])
    return tmp_path


def in_bash(place: Path, line: str, kubeconfig: Path | str = "") -> list[str]:
    env = {"PATH": f"{place}:/usr/bin:/bin", "HOME": str(place), "KUBECONFIG": str(kubeconfig)}
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", str(place / "script"), f"longshore {line}"],
        capture_output=True,
        text=True,
        cwd=place,
        env=env,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("desc", ["describe"]),
        ("up --run", ["--runtime"]),
        ("up --runtime=p", ["process", "podman"]),
        ("up --runtime=", ["process", "podman", "auto"]),
        ("version --zzz", [""]),
    ],
)
def test_bash_completes_commands_and_flags(place: Path, line: str, words: list[str]) -> None:
    assert in_bash(place, line) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("get configmaps bl", ["blue-one", "blue-two"]),
        ("describe cm/gr", ["cm/green"]),
        ("get cm -n kube-p", ["kube-public"]),
    ],
)
def test_bash_completes_names_of_the_server(
    place: Path, server: RunningLongshore, line: str, words: list[str]
) -> None:
    assert in_bash(place, line, server.kubeconfig) == words


def test_a_word_that_goes_on_gets_no_space(place: Path) -> None:
    assert in_bash(place, "get -o jsonp") == ["compopt -o nospace", "jsonpath="]


def test_without_a_server_there_are_no_names_and_no_noise(place: Path) -> None:
    assert in_bash(place, "get jobs ", "/not/there") == [""]


def typed(place: Path, keys: str, until: str) -> str:
    """The screen of an interactive bash after these keys, read until a text appears."""
    env = {"PATH": f"{place}:/usr/bin:/bin", "HOME": str(place), "TERM": "dumb", "PS1": "> "}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], env)
    seen = ""
    try:
        os.write(terminal, f"source script; echo re''ady\n{keys}".encode())
        while until not in seen.partition("ready\r\n")[2]:
            seen += os.read(terminal, 65536).decode(errors="replace")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return seen.partition("ready\r\n")[2]


@pytest.mark.parametrize(
    ("keys", "line"),
    [("longshore desc\t", "longshore describe "), ("longshore up --runtime=po\t", "--runtime=podman ")],
)
def test_the_tab_key_completes_in_an_interactive_bash(place: Path, keys: str, line: str) -> None:
    assert line in typed(place, keys, line)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_reads(shell: str, tmp_path: Path) -> None:
    script = completion.SCRIPTS[shell]
    assert "longshore completion words --line" in script
    found = shutil.which(shell)
    if found is not None:
        (tmp_path / "script").write_text(script)
        subprocess.run([found, "-n", str(tmp_path / "script")], check=True)
