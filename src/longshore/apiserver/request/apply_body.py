"""Bodies of server-side applies: reads a configuration, merges it into the stored object, answers as
Kubernetes does.

Works on objects without apiVersion and kind, and gives back a new one in canonical form. Defaults, hooks
and checks come afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from longshore.api import apply, codec, errors, types
from longshore.api.apply import shape_check
from longshore.api.apply.compare import Untypable
from longshore.api.codec import DecodeError
from longshore.api.errors import StatusError
from longshore.api.patch import unstructured
from longshore.api.resources import Resource
from longshore.api.shape import MapShape, Shape
from longshore.api.types import Obj
from longshore.apiserver.request.patch_body import MAP, mismatch


def applied(
    resource: Resource,
    live: Obj | None,
    body: bytes,
    *,
    shape: Shape,
    manager: str,
    force: bool,
    now: str,
    field_validation: str,
    warnings: list[str],
    subresource: str = "",
    versions: Collection[str] = (),
) -> Obj:
    """The object after a server-side apply, managedFields written; `live` is None when there is none yet."""
    config, problems = apply_body(resource, body, shape)
    try:
        merged = apply.apply(
            live,
            config,
            manager=manager,
            force=force,
            api_version=resource.group_version,
            shape=shape,
            now=now,
            subresource=subresource,
            versions=versions,
        )
    except Untypable:
        raise _untypable_live(resource, live, shape) from None
    result = _converted(resource, config, merged)
    if problems and field_validation == "Strict":
        text = f"error strict decoding YAML: error converting YAML to JSON: {problems[0]}"
        raise errors.bad_request(text)
    if field_validation != "Ignore":
        for problem in problems:
            # A YAML parser reports its findings as one text under a heading.
            lines = problem.removeprefix("yaml: unmarshal errors:\n").split("\n")
            warnings += [line.strip() for line in lines]
    return result


def apply_body(resource: Resource, body: bytes, shape: Shape) -> tuple[Obj, list[str]]:
    """The configuration in the body of an apply, and what strict decoding finds wrong with its text.

    Raises 400 for what is no configuration of this kind, and upstream's 500 for one that does not fit
    the schema.
    """
    assert isinstance(shape, MapShape)
    document = _yaml(body)
    config = document.value if document.value is not None else {}
    if type(config) is not dict:
        raise errors.bad_request(f"error decoding YAML: {mismatch(config, MAP)}")
    group, version, kind = _group_version_kind(config)
    if (group, version, kind) != (resource.group, resource.version, resource.kind):
        raise errors.bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
    meta = config.get("metadata")
    if isinstance(meta, dict) and isinstance(meta.get("managedFields"), list):
        raise errors.bad_request("metadata.managedFields must be nil")
    if problem := shape_check.problem_of(config, shape):
        raise StatusError(
            500, "", f"failed to create typed patch object ({_named(resource, config)}): {problem}"
        )
    return config, document.problems


def _untypable_live(resource: Resource, live: Obj | None, shape: Shape) -> StatusError:
    """Upstream's 500 for a stored object whose lists lack keys: plain writes may store such an object."""
    assert live is not None
    assert isinstance(shape, MapShape)
    problem = shape_check.problem_of(live, shape, allow_duplicates=True)
    return StatusError(500, "", f"failed to create typed live object ({_named(resource, live)}): {problem}")


def _yaml(body: bytes) -> codec.Plain:
    """Parses an apply's text. Most clients send JSON, for which the YAML parser takes 100 times as long."""
    if body[:1] == b"{":
        with contextlib.suppress(DecodeError):
            document = codec.plain_json(body)
            if not document.problems:
                return document
    try:
        return codec.plain_yaml(body)
    except DecodeError as error:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None


def _named(resource: Resource, config: Obj) -> str:
    """`<namespace>/<name>; <group>/<version>, Kind=<kind>` of a configuration."""
    found = config.get("metadata")
    meta = found if isinstance(found, dict) else {}
    place = "/".join(v if isinstance(v := meta.get(k), str) else "" for k in ("namespace", "name"))
    return f"{place}; {resource.group}/{resource.version}, Kind={resource.kind}"


def _group_version_kind(config: Obj) -> tuple[str, str, str]:
    api_version, kind = config.get("apiVersion"), config.get("kind")
    kind = kind if isinstance(kind, str) else ""
    if not isinstance(api_version, str) or api_version.count("/") > 1:
        return "", "", kind
    group, _, version = api_version.rpartition("/")
    return group, version, kind


def _converted(resource: Resource, config: Obj, merged: Obj) -> Obj:
    """The merged object in canonical form."""
    managers = merged["metadata"].pop("managedFields", None)
    try:
        if resource.style == "custom":
            merged = types.copy_of(merged)
            resource.strategy.coerce(merged)
        else:
            merged = codec.from_value(merged, resource.message).obj
    except DecodeError as error:
        problem = unstructured.problem_of(merged, resource.message) if resource.message else ""
        what = f"failed to convert new typed object ({_named(resource, config)}) to object"
        raise StatusError(500, "", f"{what}: {problem or error}") from None
    if managers:
        merged.setdefault("metadata", {})["managedFields"] = managers
    return merged
