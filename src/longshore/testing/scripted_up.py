"""`longshore up --in-memory --scripted FILE`: a cluster for tests as a program, for tests in any language."""

from __future__ import annotations

import shlex
import sys
import threading
from pathlib import Path

import msgspec

from longshore import __version__
from longshore.testing import script_files
from longshore.testing.cluster_for_tests import Cluster
from longshore.testing.language_door import PREFIX


def run(file: Path, port: int, stopped: threading.Event) -> None:
    """Runs a cluster by this script until it is stopped. Raises ValueError, OSError or `CannotListen`."""
    script = script_files.read(file)
    cluster = Cluster(**msgspec.structs.asdict(script.settings))
    cluster.start(port=port, door=True)
    try:
        cluster.loop.call(lambda: cluster.inside.scripts.rules.extend(script.rules))
        cluster.pods.default(script.default)
        config = shlex.quote(str(cluster.kubeconfig))
        print(
            f"longshore {__version__} is ready at {cluster.url}; use it with: export KUBECONFIG={config}",
            flush=True,
        )
        time = "stands still until it is moved" if script.settings.clock == "virtual" else "is real"
        print(
            f"pods go as {file} says, time {time}; the door: {cluster.url}{PREFIX}",
            file=sys.stderr,
            flush=True,
        )
        stopped.wait()
    finally:
        cluster.close()
