"""Creates or updates objects from files, as kubectl apply does: created, configured or unchanged.

The server merges fields, and longshore takes over fields that others have set since. With --server-side it
refuses to take them over, as kubectl does, unless --force-conflicts is given.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.kinds import Kinds
    from longshore.cli.arguments.manifest_files import Manifest
    from longshore.cli.server.requests import Server

INTERMIXED = True
MANAGER = "longshore"
_BOOKKEEPING = frozenset(("managedFields", "resourceVersion", "generation"))
_VALIDATION = {"strict": "Strict", "true": "Strict", "warn": "Warn", "ignore": "Ignore", "false": "Ignore"}


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    add = parser.add_argument
    add(
        "--filename",
        "-f",
        action="append",
        default=[],
        required=True,
        metavar="F",
        help="file, directory, or - for standard input",
    )
    add("--recursive", "-R", action=BooleanOptionalAction, default=False, help="include subdirectories")
    add(
        "--server-side",
        action=BooleanOptionalAction,
        default=False,
        help="refuse to take over fields that others own",
    )
    add(
        "--force-conflicts",
        action=BooleanOptionalAction,
        default=False,
        help="take over fields that others own",
    )
    add("--field-manager", default=MANAGER, metavar="M", help=f"who sets the fields (default: {MANAGER})")
    add(
        "--dry-run",
        nargs="?",
        const="client",
        default="none",
        choices=("none", "client", "server"),
        help="say what would be done; server: let the server check it, too (default: none)",
    )
    add(
        "--validate",
        default="strict",
        choices=tuple(_VALIDATION),
        help="unknown fields: refuse, warn, ignore",
    )
    add("--output", "-o", default="", metavar="FORMAT", help="json, yaml, name, jsonpath=…")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.api.errors import StatusError
    from longshore.cli.arguments import kinds, manifest_files
    from longshore.cli.main import Said
    from longshore.cli.server import connecting, refusals

    code = 0
    manifests = manifest_files.read(arguments.filename, recursive=arguments.recursive)
    if not manifests:
        raise Said("error: no objects passed to apply", 2)
    with refusals.told():
        server = connecting.server(arguments)
        known = kinds.discover(server)
        for manifest in manifests:
            try:
                _apply(server, known, manifest, arguments)
            except StatusError as err:
                print(_refused(err, manifest, arguments), file=sys.stderr)
                code = 1
            except Said as err:
                print(err, file=sys.stderr)
                code = err.code
    return code


def _apply(server: Server, known: Kinds, manifest: Manifest, arguments: Namespace) -> None:
    from longshore.api.errors import StatusError
    from longshore.cli.arguments import targets
    from longshore.cli.main import Said

    kind = targets.kind_of(known, manifest)
    meta = manifest.obj["metadata"]
    if not meta.get("name"):
        if meta.get("generateName"):
            raise Said(f"error: from {meta['generateName']}: cannot use generate name with apply")
        raise Said("error: error when retrieving current configuration: resource name may not be empty")
    place = targets.place(server, kind, manifest, arguments.namespace)
    path = kind.path(place, meta["name"])
    before: Obj | None = None
    try:
        before = server.json("GET", path)
    except StatusError as err:
        if err.code != 404:
            raise
    if arguments.dry_run == "client":
        after = manifest.obj
        word = "configured" if before else "created"
    else:
        after = _written(server, path, manifest.obj, arguments)
        changed = before is not None and _meaning(after) != _meaning(before)
        word = ("configured" if changed else "unchanged") if before else "created"
    if arguments.server_side:
        word = "serverside-applied"
    dry = {"client": " (dry run)", "server": " (server dry run)"}.get(arguments.dry_run, "")
    _say(f"{kind.one}/{meta['name']}", f"{word}{dry}", after, arguments.output)


def _meaning(obj: Obj) -> Obj:
    """An object without the fields that every write changes and that a dry run does not set."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _BOOKKEEPING}
    return {**obj, "metadata": meta}


def _written(server: Server, path: str, obj: Obj, arguments: Namespace) -> Obj:
    force = arguments.force_conflicts or not arguments.server_side
    query = {
        "fieldManager": arguments.field_manager,
        "fieldValidation": _VALIDATION[arguments.validate],
        "force": "true" if force else "false",
    }
    if arguments.dry_run == "server":
        query["dryRun"] = "All"
    return server.json("PATCH", path, query=query, body=obj, content_type="application/apply-patch+yaml")


def _say(name: str, word: str, obj: Obj, output: str) -> None:
    from longshore.cli.printing import objects

    if not output:
        print(f"{name} {word}")
    elif output == "name":
        print(name)
    else:
        sys.stdout.write(objects.writer(output)(objects.without_managed_fields(obj)))


def _refused(err: StatusError, manifest: Manifest, arguments: Namespace) -> str:
    from longshore.cli.server import refusals

    if err.code == 409 and err.has_cause("FieldManagerConflict"):
        return f"error: {err.message}\n{_CONFLICT}"
    return refusals.text(err, f'error when applying "{manifest.source}": ')


_CONFLICT = """\
Others have set these fields. Either take them over with --force-conflicts, or leave them out of the
manifest, or give them the value they have."""

if TYPE_CHECKING:
    from longshore.api.errors import StatusError
