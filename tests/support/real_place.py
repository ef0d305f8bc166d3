"""A longshore that runs pods, in a process and a directory of its own, and a kubectl for it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from support.kubectl_binary import Kubectl

_READY = re.compile(r"export KUBECONFIG=(\S+)\n")


class Place:
    """A data directory, and the longshore that runs on it now."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kubectl = Kubectl(directory, directory / "data" / "kubeconfig")
        self.process: subprocess.Popen[str]

    def start(self, *more: str) -> None:
        """`more` are further options of `longshore up`."""
        words = [sys.executable, "-m", "longshore", "up", "--data-dir", str(self.directory / "data")]
        words += ["--port", "0", "--on-stop", "kill", *more]
        with (self.directory / "said").open("a") as said:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said, text=True)
        assert self.process.stdout is not None
        ready = self.process.stdout.readline()
        assert _READY.search(ready), (ready, (self.directory / "said").read_text())

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(15)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def run(self, manifest: str, name: str) -> None:
        self.kubectl.ok("apply", "-f", "-", stdin=manifest)
        self.kubectl.ok("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{name}", "--timeout=10s")

    def phase(self, name: str, wanted: str) -> None:
        self.kubectl.ok("wait", f"--for=jsonpath={{.status.phase}}={wanted}", f"pod/{name}", "--timeout=10s")
