"""Creates or updates objects from files, as kubectl apply does: created, configured or unchanged.

The server merges fields, and longshore takes over fields that others have set since. With --server-side it
refuses to take them over, as kubectl does, unless --force-conflicts is given.

  longshore apply -f job.yaml
  longshore apply -k overlays/prod
  longshore apply -f manifests --prune -l app=web     deletes what is labelled so and no longer in the files
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, NamedTuple

from longshore.cli.arguments import flags
from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.kinds import Kinds
    from longshore.cli.arguments.manifest_files import Manifest
    from longshore.cli.server.requests import Server

INTERMIXED = True
_BOOKKEEPING = frozenset(("managedFields", "resourceVersion", "generation"))


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting
    from longshore.cli.server.apply_request import VALIDATION

    add = parser.add_argument
    flags.files(parser)
    flags.field_owner(parser)
    flags.dry_run(parser, "done")
    add(
        "--validate",
        default="strict",
        choices=tuple(VALIDATION),
        help="unknown fields: refuse, warn, ignore",
    )
    add("--output", "-o", default="", metavar="FORMAT", help="json, yaml, name, jsonpath=…")
    flags.selector(parser)
    switch(
        parser, "--prune", help="delete applied objects that are no longer given; needs --selector or --all"
    )
    switch(parser, "--all", help="--prune looks at all objects")
    add(
        "--prune-allowlist",
        action="append",
        default=[],
        metavar="G/V/K",
        help="--prune looks at this kind, such as core/v1/ConfigMap, instead of the usual ones",
    )
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.api.errors import StatusError
    from longshore.cli.arguments import kinds
    from longshore.cli.main import Said
    from longshore.cli.server import connecting, refusals

    code = 0
    manifests = _given(arguments)
    applied: list[Applied] = []
    with refusals.told():
        server = connecting.server(arguments)
        known = kinds.discover(server)
        for manifest in manifests:
            try:
                applied.append(_apply(server, known, manifest, arguments))
            except StatusError as err:
                print(_refused(err, manifest, arguments), file=sys.stderr)
                code = 1
            except Said as err:
                print(err, file=sys.stderr)
                code = err.code
        if arguments.prune and not code:
            _prune(server, known, applied, arguments)
    return code


def _given(arguments: Namespace) -> list[Manifest]:
    from longshore.cli.arguments import manifest_files
    from longshore.cli.main import Said

    if not arguments.filename and not arguments.kustomize:
        raise Said("error: must specify one of -f and -k", 2)
    if arguments.prune and not arguments.all and not arguments.selector:
        raise Said(
            "error: all resources selected for prune without explicitly passing --all. To prune all "
            "resources, pass the --all flag. If you did not mean to prune all resources, specify a label "
            "selector",
            2,
        )
    found = manifest_files.given(arguments.filename, arguments.kustomize, recursive=arguments.recursive)
    found = manifest_files.selected(found, arguments.selector)
    if not found:
        raise Said("error: no objects passed to apply", 2)
    return found


class Applied(NamedTuple):
    namespace: str
    uid: str


def _apply(server: Server, known: Kinds, manifest: Manifest, arguments: Namespace) -> Applied:
    """Applies one object and says so."""
    from longshore.cli.server import apply_request

    target = apply_request.target(server, known, manifest, arguments.namespace)
    before = apply_request.live(server, target.path)
    if arguments.dry_run == "client":
        after = manifest.obj
        word = "configured" if before else "created"
    else:
        after = apply_request.write(
            server,
            target.path,
            manifest.obj,
            manager=arguments.field_manager,
            validate=arguments.validate,
            force=arguments.force_conflicts or not arguments.server_side,
            dry=arguments.dry_run == "server",
        )
        changed = before is not None and _meaning(after) != _meaning(before)
        word = ("configured" if changed else "unchanged") if before else "created"
    if arguments.server_side:
        word = "serverside-applied"
    _say(target.text, f"{word}{_dry(arguments)}", after, arguments.output)
    return Applied(target.namespace, (before or after)["metadata"].get("uid", ""))


def _dry(arguments: Namespace) -> str:
    return {"client": " (dry run)", "server": " (server dry run)"}.get(arguments.dry_run, "")


def _prune(server: Server, known: Kinds, applied: list[Applied], arguments: Namespace) -> None:
    from longshore.cli.server import pruning

    found = pruning.kinds(known, arguments.prune_allowlist)
    if arguments.namespace:
        found = [kind for kind in found if kind.namespaced]
    namespaces = {each.namespace for each in applied} - {""}
    kept = {each.uid for each in applied}
    stale = pruning.stale(server, found, namespaces, arguments.selector, kept, arguments.field_manager)
    for target in stale:
        pruning.delete(server, target, arguments.dry_run)
        print(target.text if arguments.output == "name" else f"{target.text} pruned{_dry(arguments)}")


def _meaning(obj: Obj) -> Obj:
    """An object without the fields that every write changes and that a dry run does not set."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _BOOKKEEPING}
    return {**obj, "metadata": meta}


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
