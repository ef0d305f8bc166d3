"""Shows what `longshore apply` would change, as kubectl diff does.

  longshore diff -f job.yaml
  kubectl kustomize overlays/prod | longshore diff -f -

The server works the change out and does not make it. Exit codes: 0 nothing would change, 1 something would,
more than 1 is an error. $KUBECTL_EXTERNAL_DIFF names another program to compare with.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from longshore.api.types import Obj
from longshore.cli.arguments import flags
from longshore.cli.arguments.flags import switch
from longshore.cli.main import Failure, Said
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.cli.arguments.kinds import Kinds
    from longshore.cli.arguments.manifest_files import Manifest
    from longshore.cli.server.requests import Server

INTERMIXED = True
_ERROR_CODE = 2
"""Exit code of an error; 1 means that something differs."""


def add_arguments(parser: ArgumentParser) -> None:
    flags.files(parser)
    flags.selector(parser)
    flags.field_owner(parser)
    switch(parser, "--show-managed-fields", help="compare managedFields, too: who set which field")
    switch(parser, "--show-secrets", help="show the values of Secrets")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.arguments import kinds, manifest_files

    if not arguments.filename:
        raise Said("error: must specify -f", _ERROR_CODE)
    pairs = []
    try:
        with connecting.opened(arguments) as server:
            known = kinds.discover(server)
            found = manifest_files.read(arguments.filename, recursive=arguments.recursive)
            for manifest in manifest_files.selected(found, arguments.selector):
                pairs.append(_pair(server, known, manifest, arguments))
    except Failure as err:
        err.code = _ERROR_CODE
        raise
    return _show(pairs)


def _pair(server: Server, known: Kinds, manifest: Manifest, arguments: Namespace) -> _Sides:
    from longshore.cli.printing import objects
    from longshore.cli.server import apply_request

    target = apply_request.target(server, known, manifest, arguments.namespace)
    before = apply_request.live(server, target.path)
    after: Obj | None = apply_request.write(
        server,
        target.path,
        manifest.obj,
        manager=arguments.field_manager,
        force=arguments.force_conflicts or not arguments.server_side,
        dry=True,
    )
    if not arguments.show_managed_fields:
        before = objects.without_managed_fields(before) if before else None
        after = objects.without_managed_fields(after) if after else None
    if target.kind.kind == "Secret" and not arguments.show_secrets:
        before, after = _masked(before, after)
    api = ".".join(filter(None, (target.kind.group, target.kind.version)))
    name = f"{api}.{target.kind.kind}.{target.namespace}.{target.name}"
    texts = ("" if obj is None else objects.as_yaml(obj) for obj in (before, after))
    return _Sides(name.replace("/", "_"), *texts)


_VARIABLE: Final = "KUBECTL_EXTERNAL_DIFF"
_MASK: Final = "***"


class _Sides(NamedTuple):
    """An object's text before (empty for a new object) and after, under a file name."""

    name: str
    before: str
    after: str


def _show(pairs: Sequence[_Sides]) -> int:
    """Runs `diff -u -N`, or the user's own program, on both versions; exit code 1 means a difference."""
    command = shlex.split(os.environ.get(_VARIABLE) or "") or ["diff", "-u", "-N"]
    with tempfile.TemporaryDirectory(prefix="longshore-diff-") as folder:
        live, merged = (Path(folder, f"{side}-{os.getpid()}") for side in ("LIVE", "MERGED"))
        live.mkdir()
        merged.mkdir()
        for pair in pairs:
            if pair.before:
                (live / pair.name).write_text(pair.before)
            (merged / pair.name).write_text(pair.after)
        try:
            return subprocess.run([*command, live, merged], check=False).returncode
        except OSError as err:
            reason = f"cannot run {command[0]}: {err.strerror}; ${_VARIABLE} may name another program"
            raise Said(f"error: {reason}", 2) from None


def _masked(before: Obj | None, after: Obj | None) -> tuple[Obj | None, Obj | None]:
    """Both sides of a Secret without its values: a value that changes is marked on both sides."""
    old: dict[str, Any] = (before or {}).get("data") or {}
    new: dict[str, Any] = (after or {}).get("data") or {}

    def hidden(obj: Obj | None, values: dict[str, Any], side: str) -> Obj | None:
        if obj is None or not values:
            return obj
        changes = {key for key in values if key in old and key in new and old[key] != new[key]}
        data = {key: f"{_MASK} ({side})" if key in changes else _MASK for key in values}
        return {**obj, "data": data}

    return hidden(before, old, "before"), hidden(after, new, "after")
