"""A program as a person runs it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass
class Result:
    exit: int
    stdout: str
    stderr: str


class CommandLine:
    name: ClassVar[str]

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        raise NotImplementedError

    def __call__(self, *words: str, stdin: str = "", timeout: float = 60, **more: Any) -> Result:
        process = self.start(*words, **more)
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{self.name} {' '.join(words)} did not end: {out}{err}") from None
        return Result(process.returncode, out, err)

    def ok(self, *words: str, **more: Any) -> str:
        """Standard output of a command that must succeed."""
        result = self(*words, **more)
        assert result.exit == 0, f"{self.name} {' '.join(words)}: {result.stdout}{result.stderr}"
        return result.stdout

    def refused(self, *words: str, **more: Any) -> str:
        """Standard error of a command that must fail."""
        result = self(*words, **more)
        assert result.exit != 0, f"{self.name} {' '.join(words)} succeeded: {result.stdout}"
        return result.stderr
