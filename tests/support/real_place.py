"""A longshore that runs pods, in a process and a directory of its own, and a kubectl for it."""

from __future__ import annotations

from pathlib import Path

from support.kubectl_binary import Kubectl
from support.longshore_process import Up


class Place(Up):
    """`home` has the data directory in it, and is the home of its kubectl."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / "data", "--on-stop", "kill")
        self.home, self.kubectl = home, Kubectl(home, home / "data" / "kubeconfig")

    def run(self, manifest: str, name: str) -> None:
        self.kubectl.ok("apply", "-f", "-", stdin=manifest)
        self.kubectl.ok("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{name}", "--timeout=10s")

    def phase(self, name: str, wanted: str) -> None:
        self.kubectl.ok("wait", f"--for=jsonpath={{.status.phase}}={wanted}", f"pod/{name}", "--timeout=10s")
