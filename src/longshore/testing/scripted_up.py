"""`longshore up --in-memory --scripted FILE`: a cluster for tests as a program, for tests in any language."""

from __future__ import annotations

import shlex
import sys
import threading
from pathlib import Path

import msgspec
import yaml

from longshore import __version__
from longshore.scripts import script_documents
from longshore.scripts.script_documents import Script
from longshore.testing.cluster_for_tests import Cluster
from longshore.testing.language_door import PREFIX
from longshore.testing.settings import Settings


def run(file: Path, port: int, stopped: threading.Event) -> None:
    """Runs a cluster by this script until it is stopped. Raises ValueError, OSError or `CannotListen`."""
    settings, script = read(file)
    cluster = Cluster(**msgspec.structs.asdict(settings))
    cluster.start(port=port, door=True)
    try:
        cluster.loop.call(lambda: _follow(cluster, script))
        config = shlex.quote(str(cluster.kubeconfig))
        print(
            f"longshore {__version__} is ready at {cluster.url}; use it with: export KUBECONFIG={config}",
            flush=True,
        )
        time = "stands still until it is moved" if settings.clock == "virtual" else "is real"
        print(
            f"pods go as {file} says, time {time}; the door: {cluster.url}{PREFIX}",
            file=sys.stderr,
            flush=True,
        )
        stopped.wait()
    finally:
        cluster.close()


def read(file: Path) -> tuple[Settings, Script]:
    """Reads the settings of a cluster and its script. Raises ValueError with the field, the value and the
    rule, or OSError if the file cannot be read."""
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as err:
        raise ValueError(f"{file} is no YAML: {err}") from None
    return script_of(document)


def script_of(document: object) -> tuple[Settings, Script]:
    known = Settings.__struct_fields__
    found = script_documents.mapping(document, "the script", (*known, "default", "pods"))
    return Settings(**{key: found[key] for key in known if key in found}), script_documents.script_of(found)


def _follow(cluster: Cluster, script: Script) -> None:
    cluster.inside.scripts.rules.extend(script.rules)
    if script.default is not None:
        cluster.inside.scripts.default = script.default
