"""One shell for one page: what a command exports, starts or writes is there for the next."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType

from docs.console_blocks import Step, same
from support import kubectl_binary
from support.places import ROOT

STEP_SECONDS = 120
_END = "\x1e"
_LOOP = r"""
exec 4</dev/null
code=0
while IFS= read -r -d '' command <&3; do
  (exit "$code")
  eval "$command" <&4 2>&1
  code=$?
  printf '\036%d\036' "$code"
done
kill $(jobs -p) 2>/dev/null
wait
"""
_WRAPPER = """#!/bin/sh
# Pages share a machine: each longshore takes a free port, and leaves no process behind.
if [ "$1" = up ]; then shift; set -- up --port 0 --on-stop kill "$@"; fi
exec "{python}" -m longshore "$@"
"""


def page_session(home: Path, *, kubectl: bool = False) -> Session:
    """A shell in a home of its own, with longshore, the examples and, where it is needed, kubectl at hand."""
    work, programs = home / "longshore", home / ".local" / "bin"
    work.mkdir()
    (work / "examples").symlink_to(ROOT / "examples")
    programs.mkdir(parents=True)
    longshore = programs / "longshore"
    longshore.write_text(_WRAPPER.format(python=sys.executable))
    longshore.chmod(0o755)
    if kubectl:
        (programs / "kubectl").symlink_to(kubectl_binary.find())
    return Session(home, work, path=f"{programs}:{os.environ['PATH']}")


class Session:
    """A person's shell. `prefix` is a program that starts the shell, say as another user."""

    def __init__(
        self, home: Path, work: Path, *, path: str, prefix: Sequence[str] = (), **variables: str
    ) -> None:
        self.home = home
        self._background = 0
        reading, self._commands = os.pipe()
        os.set_inheritable(reading, True)
        self._shell = subprocess.Popen(
            [*prefix, "bash", "--norc", "--noprofile", "-c", f"exec 3<&{reading}; {_LOOP}"],
            cwd=work,
            env={
                "HOME": str(home),
                "PATH": path,
                "TZ": "Etc/UTC",
                "LANG": "C.UTF-8",
                "USER": "you",
                **variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(reading,),
            start_new_session=True,
        )
        os.close(reading)
        assert self._shell.stdout is not None
        os.set_blocking(self._shell.stdout.fileno(), False)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._commands)
        try:
            self._shell.wait(20)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._shell.pid, signal.SIGKILL)
            self._shell.wait()
        if self._shell.stdout is not None:
            self._shell.stdout.close()

    def run(self, command: str, has_spoken: Callable[[str], bool] = bool) -> tuple[int, str]:
        """Exit code and output. A command that ends with `&` goes on; it is watched until it `has_spoken`."""
        if command.rstrip().endswith("&"):
            return self._start(command, has_spoken)
        os.write(self._commands, command.encode() + b"\0")
        return self._answer(command)

    def check(self, step: Step) -> None:
        """Runs a command of a page, which must end well and print what the page shows."""
        code, seen = self.run(step.command, partial(same, step.output) if step.output else bool)
        if step.output:
            assert same(step.output, seen), f"$ {step.command}\n{seen}\n-- expected --\n{step.output}"
        assert code == 0 or step.may_fail, f"$ {step.command}\n{seen}\nexit code {code}"

    def _start(self, command: str, has_spoken: Callable[[str], bool]) -> tuple[int, str]:
        self._background += 1
        file = self.home / f"background.{self._background}"
        os.write(self._commands, f"{command.rstrip()[:-1]} >{file} 2>&1 &\0".encode())
        self._answer(command)
        end = time.monotonic() + STEP_SECONDS
        said = ""
        while time.monotonic() < end and not has_spoken(said):
            time.sleep(0.05)
            said = self._plain(file.read_text()) if file.exists() else ""
        return 0, said

    def _answer(self, command: str) -> tuple[int, str]:
        assert self._shell.stdout is not None
        said, end = b"", time.monotonic() + STEP_SECONDS
        while not (found := re.search(rb"\x1e(\d+)\x1e$", said)):
            if time.monotonic() > end:
                raise AssertionError(f"{command} did not end: {said.decode()}")
            chunk = self._shell.stdout.read()
            if chunk:
                said += chunk
            elif self._shell.poll() is not None:
                raise AssertionError(f"the shell ended at {command}: {said.decode()}")
            else:
                time.sleep(0.01)
        return int(found[1]), self._plain(said[: found.start()].decode())

    def _plain(self, text: str) -> str:
        """What a page shows for the same output: a home of anybody's, and the usual port."""
        text = text.replace(str(self.home), "/home/you")
        return re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:6443", text)
