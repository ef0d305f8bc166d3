"""Content negotiation: from an Accept header to the one form an answer takes.

A clause may ask for a transform with its parameters (`as`, `g`, `v`); a clause that cannot be met is skipped
and the next is tried, so that clients can offer a fallback. Two refusals exist, as in Kubernetes: built-in
paths know beforehand which types they produce at all ("Available representations"), everything else is
refused after no clause fitted ("only the following media types").
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from longshore.api.errors import StatusError

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_TYPES: Final = (JSON, YAML, PROTOBUF)
_STREAM_TYPES: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_META: Final = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
_Transforms = frozenset[tuple[str, str]]
_NONE: Final[_Transforms] = frozenset()
_TRANSFORMS: Final[_Transforms] = frozenset(
    (kind, version)
    for kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
    for version in _META
)
_DISCOVERY: Final[_Transforms] = frozenset({("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")})
_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_TERMINALS: Final = ("curl", "Wget", "Mozilla/5.0")
_MAX_CLAUSES: Final = 64
"""Clauses of a header that are read. Browsers send ten, and sorting takes the square of their number."""


class Output(msgspec.Struct, frozen=True):
    """The form of an answer. Without a transform, `group_version` is empty."""

    media_type: str
    """The answer's Content-Type."""
    transform: str = ""
    group_version: str = ""
    pretty: bool = False
    """Whether the clause itself asked for indented output (`;pretty=1`)."""


class _Clause(msgspec.Struct):
    type: str
    subtype: str
    q: float = 1.0
    parameters: dict[str, str] = msgspec.field(default_factory=dict)

    def admits(self, media_type: str) -> bool:
        type_, _, subtype = media_type.partition("/")
        if self.type == "*" and self.subtype == "*":
            return True
        return self.type == type_ and self.subtype in (subtype, "*")

    def before(self, other: _Clause) -> bool:
        """Whether this clause is tried before `other`: it weighs more, or is explicit and no wildcard."""
        return (
            self.q > other.q
            or (self.type != "*" and other.type == "*")
            or (self.subtype != "*" and other.subtype == "*")
        )


@lru_cache(maxsize=512)
def choose(
    accept: str | None,
    *,
    streaming: bool = False,
    custom: bool = False,
    transforms: bool = True,
    collection: bool = False,
) -> Output:
    """The form of the answer to one request; raises 406 when no clause can be met.

    `streaming` is for watches, `custom` for custom resources (no protobuf), `transforms` says whether tables
    and partial metadata are offered, `collection` whether the path is that of a list.
    """
    available = (*_TYPES, *_STREAM_TYPES) if collection or streaming else _TYPES
    if not custom:
        check_route(accept, available)
    found = _first(accept, _TRANSFORMS if transforms else _NONE, custom)
    if found is None:
        raise _refused(_TYPES)
    if streaming:
        if found.media_type == YAML:
            raise _refused(_STREAM_TYPES)
        if found.media_type == PROTOBUF:
            return Output(_STREAM_TYPES[1], found.transform, found.group_version)
    return found


@lru_cache(maxsize=64)
def discovery(accept: str | None, *, aggregated: bool) -> Output:
    """The form of a discovery document. `aggregated` paths can also give everything at once."""
    check_route(accept, _TYPES)
    found = _first(accept, _DISCOVERY, True) if aggregated else None
    if found is not None and found.transform:
        return found
    found = _first(accept, _NONE, True)
    if found is None:
        raise _refused(_TYPES)
    return found


@lru_cache(maxsize=512)
def prefers_yaml(accept: str | None) -> bool:
    """Whether an error is sent as YAML. Otherwise it is sent as JSON, in spite of the Accept header."""
    found = _first(accept, _NONE, True)
    return found is not None and found.media_type == YAML


def is_pretty(parameter: str | None, agent: str) -> bool:
    """Whether JSON is indented: on request, or for a person at a terminal or browser."""
    if parameter:
        return parameter in _TRUE
    return agent.startswith(_TERMINALS)


def check_route(accept: str | None, available: tuple[str, ...]) -> None:
    """Refuses (406) a header that names none of the types a built-in path produces.

    Only `*/*` counts as a wildcard here: Kubernetes refuses `application/*` on these paths.
    """
    if not accept:
        return
    for clause in accept.split(","):
        wanted = clause.partition(";")[0].strip(" ")
        if wanted == "*/*" or wanted in available:
            return
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}"
    raise StatusError(406, "NotAcceptable", text, details={})


def _refused(available: tuple[str, ...]) -> StatusError:
    text = f"only the following media types are accepted: {', '.join(available)}"
    return StatusError(406, "NotAcceptable", text)


def _first(accept: str | None, transforms: _Transforms, custom: bool) -> Output | None:
    """The first clause that can be met; None when none can."""
    if not accept:
        return Output(JSON)
    for clause in _clauses(accept):
        for media_type in _TYPES:
            if clause.admits(media_type):
                output = _meet(clause, media_type, transforms, custom)
                if output is not None:
                    return output
    return None


def _meet(clause: _Clause, media_type: str, transforms: _Transforms, custom: bool) -> Output | None:
    asked = clause.parameters
    if "sv" in asked:
        return None
    if (stream := asked.get("stream")) and (stream != "watch" or media_type == YAML):
        return None
    pretty = asked.get("pretty") == "1"
    if not asked.keys() & {"as", "g", "v"}:
        # Custom resources have no protobuf form, but their partial metadata does.
        return None if custom and media_type == PROTOBUF else Output(media_type, pretty=pretty)
    kind, version = asked.get("as", ""), f"{asked.get('g', '')}/{asked.get('v', '')}"
    if (kind, version) not in transforms or (media_type != JSON and kind == "APIGroupDiscoveryList"):
        return None
    if media_type == PROTOBUF and kind == "Table":
        return None
    if kind == "APIGroupDiscoveryList":
        # Clients tell the two forms of discovery apart by this header alone.
        media_type = f"{media_type};g={asked['g']};v={asked['v']};as={kind}"
    return Output(media_type, kind, version, pretty)


def _clauses(header: str) -> list[_Clause]:
    """The clauses in the order they are tried; what is no media type is left out."""
    ordered: list[_Clause] = []
    for part in header.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        clause = _parse(part.strip(" "))
        if clause is None:
            continue
        # The order is not transitive, so how it is sorted matters: one by one, from the back.
        at = len(ordered)
        while at and clause.before(ordered[at - 1]):
            at -= 1
        ordered.insert(at, clause)
    return ordered


def _parse(part: str) -> _Clause | None:
    head, *parameters = part.split(";")
    type_, slash, subtype = (s.strip(" ") for s in head.partition("/"))
    if not slash:
        if type_ != "*":
            return None
        subtype = "*"
    elif "/" in subtype or not subtype:
        return None
    clause = _Clause(type_, subtype)
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not equals or not value or "=" in value:
            continue
        name, value = name.strip(" "), value.strip(" ")
        if name == "q":
            clause.q = _weight(value)
        else:
            clause.parameters[name] = value
    return clause


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
