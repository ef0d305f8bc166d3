"""`longshore up` as a process that a test may kill."""

from __future__ import annotations

import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_READY = re.compile(r"longshore \S+ is ready at (https://127\.0\.0\.1:\d+);")


class UpProcess:
    """One process on one data directory. `log` takes its standard error, `before` runs in it first."""

    def __init__(
        self, data: Path, *words: str, log: Path | None = None, before: Callable[[], None] | None = None
    ) -> None:
        self.data = data
        self.log = log or data.with_name(data.name + ".log")
        command = [sys.executable, "-m", "longshore", "up", "--port", "0", "--controllers", "none"]
        command += ["--no-node", "--no-scheduler"]
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, "--data-dir", str(data), *words],
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=before,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def url(self) -> str:
        """Where it listens. Waits until it does."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        found = _READY.match(line)
        assert found is not None, f"not ready: {line!r} {self.said()}"
        return found[1]

    def tls(self) -> ssl.SSLContext:
        """Trusts this longshore's own authority and no other."""
        return ssl.create_default_context(cafile=self.data / "pki" / "ca.crt")

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.data / 'token').read_text().strip()}"}

    def said(self) -> str:
        """Everything on standard error so far."""
        return self.log.read_text()

    def kill(self) -> None:
        """SIGKILL; safe to call twice."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        return self._end(signal.SIGTERM)

    def wait(self, seconds: float = 20) -> int:
        """The exit code of a process that ends by itself."""
        self._process.communicate(timeout=seconds)
        return self._process.returncode

    def _end(self, number: signal.Signals) -> int:
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self.wait()
