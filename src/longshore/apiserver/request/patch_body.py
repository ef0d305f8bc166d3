"""Bodies of PATCH requests: reads them, applies them to an object, and answers as Kubernetes does.

Every function here takes the object as stored (without apiVersion and kind) and gives back a new one
in canonical form. Defaults, hooks and checks come afterwards and are not its business, nor are names,
namespaces and versions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from typing import Any, Final

from longshore.api import apply, codec, errors, field, gotext, types
from longshore.api.apply import shape_check
from longshore.api.codec import DecodeError
from longshore.api.errors import StatusError
from longshore.api.patch import json_patch, merge_patch, strategic, unstructured
from longshore.api.patch.strategic_lists import PatchError, PatchFormat
from longshore.api.resources import Resource
from longshore.api.shape import MapShape, Shape
from longshore.api.types import Obj
from longshore.apiserver.request import kind_names
from longshore.apiserver.request.kind_names import Kind

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

_MAX_OPERATIONS: Final = 10_000
_MAP: Final = "map[string]interface {}"


def patched(
    resource: Resource,
    current: Obj,
    media_type: str,
    body: bytes,
    *,
    field_validation: str,
    warnings: list[str],
) -> Obj:
    """The object after a JSON patch, merge patch or strategic merge patch."""
    media_type = media_type.partition(";")[0].strip()
    whole = {"kind": resource.kind, "apiVersion": resource.group_version, **current}
    if media_type == STRATEGIC_MERGE_PATCH and resource.style == "builtin":
        return _strategically(resource, whole, body, field_validation, warnings)
    if media_type == JSON_PATCH:
        result, problems = _by_operations(whole, body, field_validation)
    elif media_type == MERGE_PATCH:
        result, problems = _by_merging(whole, body, field_validation)
    else:
        raise unsupported(resource)
    return _read_back(resource, current, result, problems, field_validation, warnings)


def unsupported(resource: Resource) -> StatusError:
    """The 415 for a patch format that this resource does not take."""
    if resource.style == "builtin":
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    accepted = ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", text)


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
        raise errors.bad_request(f"error decoding YAML: {_mismatch(config, _MAP)}")
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


def _yaml(body: bytes) -> codec.Plain:
    """An apply's text. Most clients send JSON, which is YAML too but far quicker to read as what it is."""
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


def _by_operations(whole: Obj, body: bytes, field_validation: str) -> tuple[Any, list[str]]:
    try:
        document = codec.plain_json(body)
        operations, problems = _operations(document.value, field_validation != "Ignore")
    except DecodeError as error:
        prefix = "" if field_validation == "Ignore" else "error decoding patch: "
        raise errors.bad_request(prefix + str(error)) from None
    problems = [f"json patch {p}" for p in [*document.problems, *problems]]
    if len(operations) > _MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    try:
        return json_patch.patched(whole, operations), problems
    except json_patch.DoesNotApply:
        text = "the server rejected our request due to an error in our request"
        raise StatusError(422, "Invalid", text, details={}) from None


def _operations(value: Any, typed_ones: bool) -> tuple[list[Obj | None], list[str]]:
    """The operations, and their unknown fields. The struct they are read into knows four."""
    if value is None:
        return [], []
    if type(value) is not list:
        raise DecodeError(_mismatch(value, "[]handlers.jsonPatchOp" if typed_ones else "jsonpatch.Patch"))
    problems: list[str] = []
    for index, operation in enumerate(value):
        if operation is None:
            continue
        if type(operation) is not dict:
            target = "handlers.jsonPatchOp" if typed_ones else "jsonpatch.Operation"
            raise DecodeError(_mismatch(operation, target))
        for key, inner in operation.items() if typed_ones else ():
            if key not in ("op", "path", "from", "value"):
                problems.append(f"unknown field {field.quoted(f'[{index}].{key}')}")
            elif key != "value" and inner is not None and type(inner) is not str:
                what = f"Go struct field jsonPatchOp.{key} of type string"
                raise DecodeError(f"json: cannot unmarshal {_word(inner)} into {what}")
    return value, problems


def _by_merging(whole: Obj, body: bytes, field_validation: str) -> tuple[Any, list[str]]:
    lenient = field_validation == "Ignore"
    try:
        document = codec.plain_json(body)
        if type(document.value) not in (dict, type(None)) and not lenient:
            raise DecodeError(_mismatch(document.value, _MAP))
    except DecodeError as error:
        text = "Invalid JSON Patch" if lenient else f"error decoding patch: {error}"
        raise errors.bad_request(text) from None
    patch = document.value
    if type(patch) is list:
        return patch, []
    if type(patch) is not dict:
        raise errors.bad_request("Invalid JSON Patch")
    return merge_patch.merged(whole, patch), document.problems


def _strategically(
    resource: Resource, whole: Obj, body: bytes, field_validation: str, warnings: list[str]
) -> Obj:
    try:
        document = codec.plain_json(body)
        patch = document.value if document.value is not None else {}
        if type(patch) is not dict:
            raise DecodeError(_mismatch(patch, _MAP))
    except DecodeError as error:
        raise errors.bad_request(str(error)) from None
    try:
        result = strategic.merged(whole, patch, resource.message)
    except PatchFormat as error:
        if error.code == 400:
            raise errors.bad_request(str(error)) from None
        text = "the server rejected our request due to an error in our request"
        raise StatusError(error.code, "Invalid", text, details={}) from None
    except PatchError as error:
        raise StatusError(500, "", str(error)) from None
    try:
        decoded = codec.from_value(result, resource.message)
    except DecodeError as error:
        problem = unstructured.problem_of(result, resource.message) or str(error)
        raise _invalid(gotext.plain(patch), problem) from None
    _judge([*document.problems, *decoded.problems], field_validation, warnings, lambda: gotext.plain(patch))
    return _with_wish(decoded.obj, result)


def _read_back(
    resource: Resource,
    current: Obj,
    result: Any,
    problems: list[str],
    field_validation: str,
    warnings: list[str],
) -> Obj:
    """The patched document as an object again: still of its kind, and of the right types."""

    def text() -> str:
        return types.encode(result).decode()

    if resource.style == "custom":
        obj = _custom(resource, current, result)
        try:
            unknown = resource.strategy.coerce(obj)
        except DecodeError as error:
            raise _invalid(text(), str(error)) from None
        _judge([*problems, *unknown], field_validation, warnings, text)
        return obj
    try:
        api_version, kind = codec.interpret(result)
    except DecodeError as error:
        raise _invalid(text(), f"couldn't get version/kind; json parse error: {error}") from None
    if wrong := _wrong_kind(resource, api_version, kind):
        raise _invalid(text(), wrong)
    try:
        decoded = codec.from_value(result, resource.message)
    except DecodeError as error:
        raise _invalid(text(), str(error)) from None
    _judge([*problems, *decoded.problems], field_validation, warnings, text)
    return _with_wish(decoded.obj, result)


def _wrong_kind(resource: Resource, api_version: str, kind: str) -> str:
    """Why the patched document is no object of this resource any more; empty when it is."""
    expected = Kind(resource.group, resource.version, resource.kind)
    found = kind_names.parse(api_version, kind)
    if found is None:
        return f"unexpected GroupVersion string: {api_version}"
    found = found.with_defaults(expected)
    message = kind_names.message_of(found, expected)
    if message is None:
        return kind_names.not_registered(found, kind_names.scheme_of(expected))
    return kind_names.wrong_kind(found, message, expected)


def _with_wish(obj: Obj, result: Obj) -> Obj:
    """Canonical objects have no empty lists, but an empty managedFields asks to forget all managers."""
    meta = result.get("metadata")
    if isinstance(meta, dict) and meta.get("managedFields") == []:
        obj["metadata"]["managedFields"] = []
    return obj


def _judge(problems: list[str], field_validation: str, warnings: list[str], shown: Callable[[], str]) -> None:
    """What strict decoding found is an error, a warning or nothing, as the client wishes."""
    if not problems or field_validation == "Ignore":
        return
    if field_validation == "Strict":
        raise _invalid(shown(), "strict decoding error: " + ", ".join(problems))
    warnings.extend(problems)


def _custom(resource: Resource, current: Obj, result: Any) -> Obj:
    if type(result) is not dict:
        raise _invalid(types.encode(result).decode(), _mismatch(result, _MAP))
    kind, api_version = result.get("kind", ""), result.get("apiVersion", "")
    _check_custom_kind(resource, current, api_version, kind)
    obj: Obj = types.copy_of({k: v for k, v in result.items() if k not in ("apiVersion", "kind")})
    return obj


def _check_custom_kind(resource: Resource, current: Obj, api_version: Any, kind: Any) -> None:
    wrong = None
    if kind != resource.kind:
        wrong = field.invalid("kind", kind, f"must be {resource.kind}")
    elif api_version != resource.group_version:
        wrong = field.invalid("apiVersion", api_version, f"must be {resource.group_version}")
    if wrong:
        name = current.get("metadata", {}).get("name", "")
        raise errors.invalid(resource.group, resource.kind, name, [wrong])


def _invalid(value: str, detail: str) -> StatusError:
    return errors.invalid("", "", "", [field.invalid("patch", value, detail)])


def _mismatch(value: Any, target: str) -> str:
    return f"json: cannot unmarshal {_word(value)} into Go value of type {target}"


def _word(value: Any) -> str:
    """The JSON type, as Go calls it."""
    if type(value) is bool:
        return "bool"
    if type(value) is str:
        return "string"
    if type(value) is dict:
        return "object"
    return "array" if type(value) is list else "number"
