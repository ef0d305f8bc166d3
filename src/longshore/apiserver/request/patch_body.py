"""Bodies of PATCH requests except applies: reads them and patches an object, with Kubernetes' error messages.

Every function here takes the object as stored (without apiVersion and kind) and gives back a new one in
canonical form. Defaults, hooks and checks come afterwards, also those of names, namespaces and versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from longshore.api import codec, errors, field, gotext, types
from longshore.api.codec import DecodeError
from longshore.api.errors import StatusError
from longshore.api.patch import json_patch, merge_patch, strategic, unstructured
from longshore.api.patch.strategic_lists import PatchError, PatchFormat
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.request import kind_names
from longshore.apiserver.request.body import with_wish
from longshore.apiserver.request.kind_names import Kind

# ---- The formats of PATCH bodies, and the refusal of all others.

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
FORMATS: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


def unsupported_format(resource: Resource) -> StatusError:
    """The 415 for a patch format that this resource does not take."""
    if resource.style == "builtin":
        return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    accepted = ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
    text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", text)


_MAX_OPERATIONS: Final = 10_000


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
        raise unsupported_format(resource)
    return _read_back(resource, current, result, problems, field_validation, warnings)


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
    """The operations, and problems with unknown fields: upstream's struct has only four."""
    if value is None:
        return [], []
    if type(value) is not list:
        raise DecodeError(mismatch(value, "[]handlers.jsonPatchOp" if typed_ones else "jsonpatch.Patch"))
    problems: list[str] = []
    for index, operation in enumerate(value):
        if operation is None:
            continue
        if type(operation) is not dict:
            target = "handlers.jsonPatchOp" if typed_ones else "jsonpatch.Operation"
            raise DecodeError(mismatch(operation, target))
        for key, inner in operation.items() if typed_ones else ():
            if key not in ("op", "path", "from", "value"):
                if len(problems) < codec.MAX_PROBLEMS:
                    problems.append(f"unknown field {field.quoted(field.cut(f'[{index}].{key}'))}")
            elif key != "value" and inner is not None and type(inner) is not str:
                what = f"Go struct field jsonPatchOp.{key} of type string"
                raise DecodeError(f"json: cannot unmarshal {word(inner)} into {what}")
    return value, problems


def _by_merging(whole: Obj, body: bytes, field_validation: str) -> tuple[Any, list[str]]:
    lenient = field_validation == "Ignore"
    try:
        document = codec.plain_json(body)
        if type(document.value) not in (dict, type(None)) and not lenient:
            raise DecodeError(mismatch(document.value, MAP))
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
            raise DecodeError(mismatch(patch, MAP))
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
    return with_wish(decoded.obj, result)


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
        api_version, kind = codec.named_kind(result)
    except DecodeError as error:
        raise _invalid(text(), f"couldn't get version/kind; json parse error: {error}") from None
    if wrong := _wrong_kind(resource, api_version, kind):
        raise _invalid(text(), wrong)
    try:
        decoded = codec.from_value(result, resource.message)
    except DecodeError as error:
        raise _invalid(text(), str(error)) from None
    _judge([*problems, *decoded.problems], field_validation, warnings, text)
    return with_wish(decoded.obj, result)


def _wrong_kind(resource: Resource, api_version: str, kind: str) -> str:
    """Why the patched document is not an object of this resource; empty if it is."""
    expected = Kind(resource.group, resource.version, resource.kind)
    found = kind_names.parse(api_version, kind)
    if found is None:
        return f"unexpected GroupVersion string: {api_version}"
    found = found.with_defaults(expected)
    message = kind_names.message_of(found, expected)
    if message is None:
        return kind_names.not_registered(found, kind_names.scheme_of(expected))
    return kind_names.wrong_kind(found, message, expected)


def _judge(problems: list[str], field_validation: str, warnings: list[str], shown: Callable[[], str]) -> None:
    """Turns the findings of strict decoding into an error, warnings or nothing, as the client wishes."""
    if not problems or field_validation == "Ignore":
        return
    if field_validation == "Strict":
        raise _invalid(shown(), "strict decoding error: " + ", ".join(problems))
    warnings.extend(problems)


def _custom(resource: Resource, current: Obj, result: Any) -> Obj:
    if type(result) is not dict:
        raise _invalid(types.encode(result).decode(), mismatch(result, MAP))
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


# ---- Go's words for JSON that is of another type than the value it is read into.

MAP: Final = "map[string]interface {}"
"""Go's name for an object of unknown fields."""


def mismatch(value: Any, target: str) -> str:
    """The error message for a value that is no `target`."""
    return f"json: cannot unmarshal {word(value)} into Go value of type {target}"


def word(value: Any) -> str:
    """The JSON type of a value, as Go calls it."""
    if type(value) is bool:
        return "bool"
    if type(value) is str:
        return "string"
    if type(value) is dict:
        return "object"
    return "array" if type(value) is list else "number"
