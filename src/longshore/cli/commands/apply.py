"""Creates or updates objects from files, as kubectl apply does: created, configured or unchanged.

The server merges fields, and longshore takes over fields that others have set since. With --server-side it
refuses to take them over, as kubectl does, unless --force-conflicts is given.

  longshore apply -f job.yaml
  kubectl kustomize overlays/prod | longshore apply -f -
  longshore apply -f manifests --prune -l app=web     deletes what is labelled so and no longer in the files
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from longshore.api import errors
from longshore.api.types import Obj
from longshore.cli.arguments import flags
from longshore.cli.arguments.kinds import Kinds
from longshore.cli.arguments.targets import Target
from longshore.cli.main import Said
from longshore.cli.server import connecting
from longshore.cli.server.requests import Server

if TYPE_CHECKING:
    from longshore.api.errors import StatusError
    from longshore.cli.arguments.kinds import Kind
    from longshore.cli.arguments.manifest_files import Manifest

INTERMIXED = True
_BOOKKEEPING = frozenset(("managedFields", "resourceVersion", "generation"))


_PRUNE_FLAGS: Final = """
--prune                  switch  delete applied objects that are no longer given; needs --selector or --all
--all                    switch  --prune looks at all objects
--prune-allowlist G/V/K  list    --prune looks at this kind, such as core/v1/ConfigMap, instead of the usual
                                 ones
"""


def add_arguments(parser: ArgumentParser) -> None:
    flags.files(parser)
    flags.field_owner(parser)
    flags.dry_run(parser, "done")
    flags.validation(parser)
    flags.table(parser, "--output, -o FORMAT  text  json, yaml, name, jsonpath=…")
    flags.selector(parser)
    flags.table(parser, _PRUNE_FLAGS)
    connecting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    from longshore.api.errors import StatusError
    from longshore.cli.arguments import kinds

    code = 0
    manifests = _given(arguments)
    applied: list[Applied] = []
    with connecting.opened(arguments) as server:
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

    if not arguments.filename:
        raise Said("error: must specify -f", 2)
    if arguments.prune and not arguments.all and not arguments.selector:
        raise Said(
            "error: all resources selected for prune without explicitly passing --all. To prune all "
            "resources, pass the --all flag. If you did not mean to prune all resources, specify a label "
            "selector",
            2,
        )
    found = manifest_files.read(arguments.filename, recursive=arguments.recursive)
    found = manifest_files.selected(found, arguments.selector)
    if not found:
        raise Said("error: no objects passed to apply", 2)
    return found


class Applied(NamedTuple):
    namespace: str
    uid: str


def _apply(server: Server, known: Kinds, manifest: Manifest, arguments: Namespace) -> Applied:
    """Applies one object and prints the result."""
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
    _say(target.text, f"{word}{flags.DRY_RUNS[arguments.dry_run]}", after, arguments.output)
    return Applied(target.namespace, (before or after)["metadata"].get("uid", ""))


def _prune(server: Server, known: Kinds, applied: list[Applied], arguments: Namespace) -> None:
    found = _prunable(known, arguments.prune_allowlist)
    if arguments.namespace:
        found = [kind for kind in found if kind.namespaced]
    namespaces = {each.namespace for each in applied} - {""}
    kept = {each.uid for each in applied}
    stale = _stale(server, found, namespaces, arguments.selector, kept, arguments.field_manager)
    for target in stale:
        _delete(server, target, arguments.dry_run)
        print(
            target.text
            if arguments.output == "name"
            else f"{target.text} pruned{flags.DRY_RUNS[arguments.dry_run]}"
        )


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


# --prune: an object counts as applied when this manager applied it, or when it carries the annotation of
# kubectl's plain apply. Other objects are never touched.

_KINDS: Final = (
    "core/v1/ConfigMap", "core/v1/Endpoints", "core/v1/Namespace", "core/v1/PersistentVolumeClaim",
    "core/v1/PersistentVolume", "core/v1/Pod", "core/v1/ReplicationController", "core/v1/Secret",
    "core/v1/Service", "batch/v1/Job", "batch/v1/CronJob", "networking.k8s.io/v1/Ingress",
    "apps/v1/DaemonSet", "apps/v1/Deployment", "apps/v1/ReplicaSet", "apps/v1/StatefulSet",
    "batch.volcano.sh/v1alpha1/Job", "flow.volcano.sh/v1alpha1/JobFlow",
    "flow.volcano.sh/v1alpha1/JobTemplate",
)  # fmt: skip
"""Kubectl's kinds, and Volcano's."""
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def _prunable(known: Kinds, asked: Sequence[str]) -> list[Kind]:
    """The kinds to look at: those asked for as GROUP/VERSION/KIND, else the default ones that are served."""
    found = []
    for word in asked or _KINDS:
        group, slash, rest = word.partition("/")
        version, more, name = rest.partition("/")
        if not slash or not more:
            raise Said(
                f"error: invalid GroupVersionKind format: {word}, please follow <group/version/kind>", 2
            )
        group = "" if group == "core" else group
        row = known.of({"apiVersion": f"{group}/{version}" if group else version, "kind": name})
        if row is not None:
            found.append(row)
        elif asked:
            raise Said(f"error: no matches for kind {name!r} in version {word.rpartition('/')[0]!r}", 2)
    return found


def _stale(
    server: Server,
    _prunable: Iterable[Kind],
    namespaces: Iterable[str],
    selector: str,
    kept: set[str],
    manager: str,
) -> list[Target]:
    """The objects to delete. `kept` has the UIDs of the applied ones."""
    found = []
    query = {"labelSelector": selector} if selector else {}
    for kind in _prunable:
        for namespace in sorted(namespaces) if kind.namespaced else [""]:
            for obj in server.json("GET", kind.path(namespace), query=query).get("items") or ():
                meta = obj["metadata"]
                if meta["uid"] not in kept and not meta.get("deletionTimestamp") and _applied(meta, manager):
                    found.append(Target(kind, meta["name"], namespace))
    return found


def _applied(meta: Obj, manager: str) -> bool:
    if _APPLIED in (meta.get("annotations") or {}):
        return True
    entries = meta.get("managedFields") or ()
    return any((each.get("manager"), each.get("operation")) == (manager, "Apply") for each in entries)


def _delete(server: Server, target: Target, dry_run: str) -> None:
    """Deletes one object, and what it owns in the background. An object that is already gone is no error."""
    options: Obj = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    if dry_run == "server":
        options["dryRun"] = ["All"]
    if dry_run == "client":
        return
    with errors.tolerated(404):
        server.json("DELETE", target.path, body=options)
