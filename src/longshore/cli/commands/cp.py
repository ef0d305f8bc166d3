"""Copies files between this machine and a pod, as kubectl cp does. The container needs `tar`.

  longshore cp report.csv web:/tmp/report.csv
  longshore cp web:/var/log logs -c main
  longshore cp other-namespace/web:/etc/motd motd

Files and directories are copied; symbolic links in a pod's directory are left out, with a warning.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import NamedTuple

from longshore.cli.arguments import flags
from longshore.cli.main import Said
from longshore.cli.server import connecting

INTERMIXED = True


class PodPath(NamedTuple):
    """A path in a pod; with an empty pod, a path on this machine."""

    pod: str
    namespace: str
    path: str


def add_arguments(parser: ArgumentParser) -> None:
    flags.table(parser, "words* FROM TO  words  FILE here, or [NAMESPACE/]POD:FILE in a pod")
    flags.container(parser)
    preserve = "--no-preserve  on  files in the pod belong to its user, with that user's usual permissions"
    flags.table(parser, preserve)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.server import pod_files

    if len(arguments.words) != 2:
        raise Said("error: source and destination are required", 2)
    source, target = (_place(word) for word in arguments.words)
    if not source.path or not target.path:
        raise Said("error: filepath can not be empty", 2)
    if bool(source.pod) == bool(target.pod):
        kind = "local" if source.pod else "remote"
        raise Said(f"error: one of src or dest must be a {kind} file specification", 2)
    far = source if source.pod else target
    with connecting.opened(arguments) as server:
        server.namespace = far.namespace or server.namespace
        pod = pod_files.Pod(server, far.pod, arguments.container)
        if source.pod:
            pod.fetch(source.path, Path(target.path))
        else:
            if not Path(source.path).exists():
                raise Said(f"error: {source.path} doesn't exist in local filesystem")
            pod.send(Path(source.path), target.path, preserve=not arguments.no_preserve)
    return 0


def _place(word: str) -> PodPath:
    """Parses a word. One with a colon names a pod, unless a path begins before the colon."""
    before, colon, path = word.partition(":")
    if not colon or before.startswith((".", "/")) or not before:
        return PodPath("", "", word)
    parts = before.split("/")
    if len(parts) > 2 or not all(parts):
        raise Said("error: filespec must match the canonical format: [[namespace/]pod:]file/path", 2)
    return PodPath(parts[-1], parts[0] if len(parts) == 2 else "", path)
