"""Field selectors: `status.phase=Running,spec.nodeName!=n1`.

A table here has the fields that each kind offers, with a getter that returns the field as a string, so a
compiled selector is a few dictionary look-ups per object. Other fields are refused with Kubernetes' own 400
texts, which differ by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from longshore.api import errors, field, names
from longshore.api.resources import Resource
from longshore.api.types import Obj

Getter = Callable[[Obj, str, str], str]
"""Takes an object as it is served, its namespace and its name; an unset field is the empty string."""


class FieldSelector(msgspec.Struct, frozen=True):
    """All terms together. `matches(obj, namespace, name)` reads objects as they are served."""

    matches: Callable[[Obj, str, str], bool]
    empty: bool
    name: str | None = None
    """The only metadata.name that can match; None when the selector does not pin it."""
    namespace: str | None = None
    """The only metadata.namespace that can match; None when the selector does not pin it."""


EVERYTHING: Final = FieldSelector(lambda obj, namespace, name: True, empty=True)


def parse(text: str, resource: Resource, selectable: Iterable[str] = ()) -> FieldSelector:
    """Parses a `fieldSelector` parameter. Raises a 400 if it is no selector.

    `selectable` are the paths that a custom resource's definition opens, as `spec.color`.
    """
    if not text:
        return EVERYTHING
    offered = _offered(resource, selectable)
    tests: list[tuple[Getter, bool, str]] = []
    pinned: dict[str, str] = {}
    for label, equal, value in _terms(text):
        getter = offered.get(label)
        if getter is None:
            raise errors.bad_request(_refusal(resource, label))
        tests.append((getter, equal, value))
        if equal:
            pinned.setdefault(label, value)
    if not tests:
        return EVERYTHING
    return FieldSelector(
        _compile(tests), False, pinned.get("metadata.name"), pinned.get("metadata.namespace")
    )


def exact_name(text: str) -> str:
    """The only metadata.name that a selector can match; empty if there is none, or if the text is no
    selector. For requests whose kind is not known yet."""
    try:
        pinned = [value for label, equal, value in _terms(text) if equal and label == "metadata.name"]
    except errors.StatusError:
        return ""
    return pinned[0] if pinned and not names.path_segment(pinned[0]) else ""


def _compile(tests: list[tuple[Getter, bool, str]]) -> Callable[[Obj, str, str], bool]:
    if len(tests) == 1:
        get, equal, value = tests[0]
        if equal:
            return lambda obj, namespace, name: get(obj, namespace, name) == value
        return lambda obj, namespace, name: get(obj, namespace, name) != value

    def matches(obj: Obj, namespace: str, name: str) -> bool:
        for get, equal, value in tests:  # noqa: SIM110 - a generator costs as much again as the loop
            if (get(obj, namespace, name) == value) is not equal:
                return False
        return True

    return matches


def _terms(text: str) -> list[tuple[str, bool, str]]:
    """(field, whether it must equal, value) in the order in which Kubernetes checks them: sorted."""
    out = []
    for part in sorted(_split(text)):
        if not part:
            continue
        label, equal, raw = _operation(text, part)
        value = _unescaped(raw)
        # A bare operator is a term that says nothing, and Kubernetes lets it pass.
        if label or value:
            out.append((label, equal, value))
    return out


def _split(text: str) -> list[str]:
    """The parts between commas that are not escaped by a backslash."""
    parts, start, escaped = [], 0, False
    for at, ch in enumerate(text):
        if escaped:
            escaped = False
        elif ch == "\\":
            escaped = True
        elif ch == ",":
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return parts


def _operation(text: str, part: str) -> tuple[str, bool, str]:
    """Splits a term at its leftmost operator."""
    for at in range(len(part)):
        for operator in ("!=", "==", "="):
            if part.startswith(operator, at):
                return part[:at], operator != "!=", part[at + len(operator) :]
    raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{part}'")


def _unescaped(raw: str) -> str:
    r"""The value without escapes: a backslash must stand before each `\`, `,` and `=`."""
    out, escaped = [], False
    for ch in raw:
        if escaped:
            if ch not in "\\,=":
                raise errors.bad_request(f"invalid field selector: invalid escape sequence: \\{ch}")
            out.append(ch)
            escaped = False
        elif ch == "\\":
            escaped = True
        elif ch in ",=":
            # Kubernetes prints the character's number.
            raise errors.bad_request(f"invalid field selector: unescaped character in value: {ord(ch)}")
        else:
            out.append(ch)
    if escaped:
        raise errors.bad_request("invalid field selector: invalid escape sequence: \\")
    return "".join(out)


def _name(obj: Obj, namespace: str, name: str) -> str:
    return name


def _namespace(obj: Obj, namespace: str, name: str) -> str:
    return namespace


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _at(path: str, unset: str = "") -> Getter:
    """A getter of one scalar; `unset` is the text of a zero number or boolean."""
    *outer, last = path.split(".")
    if not outer:
        return lambda obj, namespace, name: _text(obj.get(last)) or unset
    if len(outer) == 1:
        (first,) = outer

        def inner(obj: Obj, namespace: str, name: str) -> str:
            value = (obj.get(first) or _NONE).get(last)
            return value if type(value) is str else _text(value) or unset

        return inner

    def deep(obj: Obj, namespace: str, name: str) -> str:
        value: Any = obj
        for key in outer:
            value = value.get(key) if isinstance(value, dict) else None
        return (_text(value.get(last)) if isinstance(value, dict) else "") or unset

    return deep


_NONE: Final[Obj] = {}


def _pod_ip(obj: Obj, namespace: str, name: str) -> str:
    status = obj.get("status") or _NONE
    ips = status.get("podIPs")
    return (ips[0].get("ip") if ips else status.get("podIP")) or ""


def _event_source(obj: Obj, namespace: str, name: str) -> str:
    return (obj.get("source") or _NONE).get("component") or obj.get("reportingComponent") or ""


def _nothing(obj: Obj, namespace: str, name: str) -> str:
    return ""


_EVENT_OBJECT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_POD: Final = (
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
    "status.phase", "status.nominatedNodeName",
)  # fmt: skip

_FIELDS: Final[Mapping[tuple[str, str], Mapping[str, Getter]]] = {
    ("", "pods"): {
        **{path: _at(path) for path in _POD},
        "spec.host": _at("spec.nodeName"),
        "spec.hostNetwork": _at("spec.hostNetwork", "false"),
        "status.podIP": _pod_ip,
        # Kubernetes takes this one and never fills it in, so only the empty value matches.
        "status.podIPs": _nothing,
    },
    ("", "nodes"): {"spec.unschedulable": _at("spec.unschedulable", "false")},
    ("", "namespaces"): {"status.phase": _at("status.phase")},
    ("", "secrets"): {"type": _at("type")},
    ("", "services"): {"spec.clusterIP": _at("spec.clusterIP"), "spec.type": _at("spec.type")},
    ("", "replicationcontrollers"): {"status.replicas": _at("status.replicas", "0")},
    ("", "events"): {
        **{f"involvedObject.{key}": _at(f"involvedObject.{key}") for key in _EVENT_OBJECT},
        "reason": _at("reason"),
        "reportingComponent": _at("reportingComponent"),
        "source": _event_source,
        "type": _at("type"),
    },
    ("events.k8s.io", "events"): {
        **{f"regarding.{key}": _at(f"regarding.{key}") for key in _EVENT_OBJECT},
        "reason": _at("reason"),
        "reportingController": _at("reportingController"),
        "type": _at("type"),
    },
    ("batch", "jobs"): {"status.successful": _at("status.succeeded", "0")},
}
"""Fields beyond metadata.name and metadata.namespace, read from the object as its group serves it."""


def _offered(resource: Resource, selectable: Iterable[str]) -> Mapping[str, Getter]:
    own = _FIELDS.get((resource.group, resource.plural))
    out: dict[str, Getter] = {"metadata.name": _name}
    # Cluster-scoped kinds without fields of their own take metadata.namespace too; it is always empty.
    if resource.namespaced or (own is None and resource.style == "builtin"):
        out["metadata.namespace"] = _namespace
    out.update(own or {})
    out.update((path, _at(path)) for path in selectable)
    return out


def _refusal(resource: Resource, label: str) -> str:
    if (resource.group, resource.plural) == ("batch", "jobs"):
        return f"field label {field.quoted(label)} not supported for Job"
    if resource.style == "custom" or (resource.group, resource.plural) in _FIELDS:
        return f"field label not supported: {label}"
    return f'{field.quoted(label)} is not a known field selector: only "metadata.name", "metadata.namespace"'
