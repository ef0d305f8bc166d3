"""Bodies of POST and PUT requests: from bytes to an object, or to the 400 that says why not.

A body may be JSON, YAML or protobuf, may leave apiVersion and kind to the path, and may claim to be
something else. Valid JSON of the right kind takes the codec's fast path at once; everything else is
read step by step, so that the first step to fail gives Kubernetes' own words for it. http/parser.py
limits the size of a body.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

from longshore.api import codec, errors, field, schema
from longshore.api.codec import DecodeError, Document
from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj, encode
from longshore.apiserver.request import kind_names
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.kind_names import Kind

# ---- The format of a request's body: JSON, YAML or protobuf, as its Content-Type says.

Format = Literal["json", "yaml", "protobuf"]
_FORMS: Final[dict[str, Format]] = {
    "application/json": "json",
    "application/yaml": "yaml",
    "application/vnd.kubernetes.protobuf": "protobuf",
}
READ: Final[dict[Format, Callable[[bytes], Document]]] = {
    "json": codec.read_json,
    "yaml": codec.read_yaml,
    "protobuf": codec.read_protobuf,
}
# Possessive throughout: a head may bring 128 KiB, and no part is worth reading twice.
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_MEDIA_TYPE: Final = re.compile(
    rf"\s*+({_TOKEN}/{_TOKEN})\s*+"
    rf"(?:;\s*+{_TOKEN}\s*+=\s*+(?:{_TOKEN}|\"(?:[^\"\\]|\\.)*+\")\s*+)*+;?\s*+"
)
NO_KIND: Final = "couldn't get version/kind; json parse error: "
"""The beginning of refusals of JSON whose kind cannot be read."""


@lru_cache(maxsize=64)
def format_of(content_type: str | None) -> Format:
    """The format a Content-Type names; a missing one means JSON."""
    if not content_type:
        return "json"
    match = _MEDIA_TYPE.fullmatch(content_type)
    form = _FORMS.get(match[1].lower()) if match else None
    if form is None:
        raise StatusError(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            + ", ".join(_FORMS),
        )
    return form


_SUMMARY_BYTES: Final = 30
_NOT_PROTOBUF: Final = (
    "object *unstructured.Unstructured does not implement the protobuf marshalling interface "
    "and cannot be encoded to a protobuf message"
)


def object_of(call: Call, field_validation: str, *, kind: str = "", group_version: str = "") -> Obj:
    """The object of a write: from its body, or a value from a caller in this process. `kind` and
    `group_version` as for `object_from`."""
    resource = call.resource
    if call.value is None:
        return object_from(
            call.body,
            call.content_type,
            resource,
            field_validation=field_validation,
            warnings=call.warnings,
            kind=kind,
            group_version=group_version,
        )
    if resource.style == "custom":
        encoded = encode(call.value)
        return _custom(encoded, "json", resource, field_validation, call.warnings)
    message = schema.message_for(group_version, kind) if kind else resource.message
    assert message is not None, "only kinds of the schema come as values"
    decoded = codec.from_value(call.value, message)
    if decoded.problems:
        group, _, version = (group_version or resource.group_version).rpartition("/")
        expected = Kind(group, version, kind or resource.kind)
        _judge(
            decoded.problems,
            field_validation,
            call.warnings,
            lambda why: _cannot_be_handled(expected, expected.kind, why),
        )
    return with_wish(decoded.obj, call.value)


def object_from(
    body: bytes,
    content_type: str | None,
    resource: Resource,
    *,
    field_validation: str,
    warnings: list[str],
    kind: str = "",
    group_version: str = "",
) -> Obj:
    """The object in a body, canonical and without apiVersion and kind.

    `kind` and `group_version` are given where a subresource takes another kind than its resource
    (Binding, Eviction, TokenRequest, Scale). What strict decoding finds is an error, a warning or
    nothing, as `field_validation` says. Custom kinds are read by their own schema.
    """
    form = format_of(content_type)
    if resource.style == "custom" and not kind:
        return _custom(body, form, resource, field_validation, warnings)
    return _builtin(body, form, resource, field_validation, warnings, kind=kind, group_version=group_version)


def _builtin(
    body: bytes,
    form: Format,
    resource: Resource,
    field_validation: str,
    warnings: list[str],
    *,
    kind: str,
    group_version: str,
) -> Obj:
    kind, group_version = kind or resource.kind, group_version or resource.group_version
    message = schema.message_for(group_version, kind) or resource.message
    if form == "json":
        quick = codec.quick_json(body, message)
        if quick is not None and quick.kind in ("", kind) and quick.api_version in ("", group_version):
            return _with_reset(quick.obj, body, form)
    group, _, version = group_version.rpartition("/")
    obj = _exactly(body, form, Kind(group, version, kind), field_validation, warnings)
    return _with_reset(obj, body, form)


def with_wish(obj: Obj, value: Obj) -> Obj:
    """Keeps the managedFields of `value` if they are empty, which asks to forget all managers."""
    meta = value.get("metadata")
    if isinstance(meta, dict) and meta.get("managedFields") == []:
        obj["metadata"]["managedFields"] = []
    return obj


def _with_reset(obj: Obj, body: bytes, form: Format) -> Obj:
    """Puts an empty managedFields back: canonical objects have none, but it asks to forget all managers."""
    meta = obj.get("metadata")
    if form != "protobuf" and meta is not None and "managedFields" not in meta and b"managedFields" in body:
        plain = codec.plain_json(body) if form == "json" else codec.plain_yaml(body)
        sent = plain.value.get("metadata") if isinstance(plain.value, dict) else None
        if isinstance(sent, dict) and sent.get("managedFields") == []:
            meta["managedFields"] = []
    return obj


def _exactly(body: bytes, form: Format, expected: Kind, field_validation: str, warnings: list[str]) -> Obj:
    """Reads a body in the order in which Kubernetes does: syntax, claimed kind, types, conversion."""
    document = _read(body, form, expected.kind)
    found = _kind_of(document, body, expected.kind).with_defaults(expected)

    def refused(why: str) -> StatusError:
        return _cannot_be_handled(found, expected.kind, why)

    message = kind_names.message_of(found, expected)
    if message is None:
        raise refused(kind_names.not_registered(found, kind_names.scheme_of(expected)))
    try:
        decoded = document.decode(message)
    except DecodeError as error:
        raise refused(str(error)) from None
    if wrong := kind_names.wrong_kind(found, message, expected):
        raise refused(wrong)
    _judge(decoded.problems, field_validation, warnings, refused)
    if not expected.accepts(found):
        raise _wrong_version(found.group_version, expected.group_version)
    return decoded.obj


def _custom(body: bytes, form: Format, resource: Resource, field_validation: str, warnings: list[str]) -> Obj:
    """Reads a custom resource. Its body must name the apiVersion and kind of the resource."""
    expected = Kind(resource.group, resource.version, resource.kind)

    def refused(why: str) -> StatusError:
        return _cannot_be_handled(expected, resource.kind, why)

    if form == "protobuf":
        raise refused(_NOT_PROTOBUF)
    try:
        plain = codec.plain_json(body) if form == "json" else codec.plain_yaml(body)
    except DecodeError as error:
        raise _unrecognized(
            NO_KIND + str(error) if form == "json" else str(error), body, resource.kind
        ) from None
    try:
        api_version, kind = codec.named_kind(plain.value)
    except DecodeError as error:
        raise _unrecognized(NO_KIND + str(error), body, resource.kind) from None
    if not kind:
        text = body.decode("utf-8", "replace")
        raise _unrecognized(f"Object 'Kind' is missing in '{text}'", body, resource.kind)
    if api_version != resource.group_version:
        raise _wrong_version(api_version, resource.group_version)
    obj: Obj = {k: v for k, v in plain.value.items() if k not in ("apiVersion", "kind")}
    if kind != resource.kind:
        metadata = obj.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        problem = field.invalid("kind", kind, f"must be {resource.kind}")
        raise errors.invalid(resource.group, resource.kind, name if isinstance(name, str) else "", [problem])
    try:
        problems = plain.problems + resource.strategy.coerce(obj)
    except DecodeError as error:
        raise refused(str(error)) from None
    _judge(problems, field_validation, warnings, refused)
    return obj


def _read(body: bytes, form: Format, expected: str) -> Document:
    try:
        return READ[form](body)
    except DecodeError as error:
        raise _unrecognized(NO_KIND + str(error) if form == "json" else str(error), body, expected) from None


def _kind_of(document: Document, body: bytes, expected: str) -> Kind:
    try:
        api_version, kind = document.interpret()
    except DecodeError as error:
        raise _unrecognized(NO_KIND + str(error), body, expected) from None
    found = kind_names.parse(api_version, kind)
    if found is None:
        raise _unrecognized(f"unexpected GroupVersion string: {api_version}", body, expected)
    return found


def _judge(
    problems: list[str], field_validation: str, warnings: list[str], refused: Callable[[str], StatusError]
) -> None:
    if not problems or field_validation == "Ignore":
        return
    if field_validation == "Strict":
        raise refused("strict decoding error: " + ", ".join(problems))
    known = set(warnings)
    for problem in problems:
        # A YAML parser reports its findings as one text under a heading.
        for line in map(str.strip, problem.removeprefix("yaml: unmarshal errors:\n").split("\n")):
            if line not in known:
                known.add(line)
                warnings.append(line)


def _cannot_be_handled(found: Kind, expected: str, why: str) -> StatusError:
    version = field.quoted(found.version)
    return errors.bad_request(f"{found.kind} in version {version} cannot be handled as a {expected}: {why}")


def _wrong_version(found: str, expected: str) -> StatusError:
    return errors.bad_request(
        f"the API version in the data ({found}) does not match the expected API version ({expected})"
    )


def _unrecognized(why: str, body: bytes, expected: str) -> StatusError:
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {expected}): {why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The start of a body: as text if it looks like JSON, in hexadecimal otherwise."""
    if not body:
        return "<empty>"
    head = body[:_SUMMARY_BYTES]
    text = head.decode("utf-8", "replace") if body[:1] == b"{" else head.hex()
    return text + " ..." if len(body) > _SUMMARY_BYTES else text
