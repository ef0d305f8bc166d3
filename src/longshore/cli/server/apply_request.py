"""Server-side apply of one object, as `apply` and `diff` send it."""

from __future__ import annotations

from typing import Final

from longshore.api import errors
from longshore.api.types import Obj
from longshore.cli.arguments import targets
from longshore.cli.arguments.kinds import Kinds
from longshore.cli.arguments.manifest_files import Manifest
from longshore.cli.arguments.targets import Target
from longshore.cli.main import Said
from longshore.cli.server.requests import Server

MANAGER: Final = "longshore"
VALIDATION: Final = {
    "strict": "Strict",
    "true": "Strict",
    "warn": "Warn",
    "ignore": "Ignore",
    "false": "Ignore",
}


def target(server: Server, kinds: Kinds, manifest: Manifest, namespace: str) -> Target:
    """Kind, name and namespace of a manifest's object. `namespace` is the one in the arguments."""
    kind = targets.kind_of(kinds, manifest)
    meta = manifest.obj["metadata"]
    if not meta.get("name"):
        if meta.get("generateName"):
            raise Said(f"error: from {meta['generateName']}: cannot use generate name with apply")
        raise Said("error: error when retrieving current configuration: resource name may not be empty")
    return Target(kind, meta["name"], targets.place(server, kind, manifest, namespace))


def live(server: Server, path: str) -> Obj | None:
    """The object as it is now; None if it does not exist."""
    with errors.tolerated(404):
        return server.json("GET", path)
    return None


def write(
    server: Server,
    path: str,
    obj: Obj,
    *,
    manager: str = MANAGER,
    validate: str = "strict",
    force: bool = True,
    dry: bool = False,
) -> Obj:
    """Applies the object and returns it; `dry` changes nothing. `force` takes over others' fields."""
    query = {
        "fieldManager": manager,
        "fieldValidation": VALIDATION[validate],
        "force": "true" if force else "false",
    }
    if dry:
        query["dryRun"] = "All"
    return server.json("PATCH", path, query=query, body=obj, content_type="application/apply-patch+yaml")
