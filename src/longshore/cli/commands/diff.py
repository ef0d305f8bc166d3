"""Shows what `longshore apply` would change, as kubectl diff does.

  longshore diff -f job.yaml
  longshore diff -k overlays/prod

The server works the change out and does not make it. Exit codes: 0 nothing would change, 1 something would,
more than 1 is an error. $KUBECTL_EXTERNAL_DIFF names another program to compare with.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags
from longshore.cli.arguments.flags import switch

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.arguments.manifest_files import Manifest

INTERMIXED = True
_ERROR = 2
"""Exit code of an error: 1 says that something differs."""


def add_arguments(parser: ArgumentParser) -> None:
    from longshore.cli.server import connecting

    flags.files(parser)
    flags.selector(parser)
    flags.field_owner(parser)
    switch(parser, "--show-managed-fields", help="compare managedFields, too: who set which field")
    switch(parser, "--show-secrets", help="show the values of Secrets")
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.cli.arguments import kinds, manifest_files
    from longshore.cli.main import Failure, Said
    from longshore.cli.server import connecting, refusals
    from longshore.cli.showing import differences

    if not arguments.filename and not arguments.kustomize:
        raise Said("error: must specify one of -f and -k", _ERROR)
    pairs = []
    try:
        with refusals.told():
            server = connecting.server(arguments)
            known = kinds.discover(server)
            found = manifest_files.given(
                arguments.filename, arguments.kustomize, recursive=arguments.recursive
            )
            for manifest in manifest_files.selected(found, arguments.selector):
                pairs.append(_pair(server, known, manifest, arguments))
    except Failure as err:
        err.code = _ERROR
        raise
    return differences.show(pairs)


def _pair(server: Server, known: Kinds, manifest: Manifest, arguments: Namespace) -> Pair:
    from longshore.cli.printing import objects
    from longshore.cli.server import apply_request
    from longshore.cli.showing import differences

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
        before, after = differences.masked(before, after)
    api = ".".join(filter(None, (target.kind.group, target.kind.version)))
    name = f"{api}.{target.kind.kind}.{target.namespace}.{target.name}"
    texts = ("" if obj is None else objects.as_yaml(obj) for obj in (before, after))
    return differences.Pair(name.replace("/", "_"), *texts)


if TYPE_CHECKING:
    from longshore.cli.arguments.kinds import Kinds
    from longshore.cli.server.requests import Server
    from longshore.cli.showing.differences import Pair
