"""The compiled reading may only ever say what the exact reading says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.codec.codec_vectors import body_of, exchanges, protobuf_samples, resource_of
from longshore.api import codec, schema
from longshore.api.codec import compiled
from longshore.api.types import copy_of, encode

_ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2.0, 1.5, 2**31, -(2**31), 2**63, 10**20, "", "0", "1", "0.5",
    "1024Mi", "1e3", " 1", "+5", "1.500", "x", "é\N{GRINNING FACE}", "a:b", "0001-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z",
    "YQ==", "YR==", "YQ", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00.5+02:00",
    "2026-01-01T00:00:00.000001Z",
    [], {}, [None], [""], [{}], [[]], {"": ""}, {"name": "x"}, {"a": None}, {"cpu": 1}, {"kind": "x"},
]  # fmt: skip


def _documents() -> list[tuple[str, Any]]:
    found = [
        (schema.message_for(s["json"]["apiVersion"], s["json"]["kind"]), s["json"])
        for s in protobuf_samples()
    ]
    for e in exchanges("defaults", "status", "events"):
        place = resource_of(e["request"]["path"])
        if e["request"]["method"] == "POST" and place and not place[1] and place[0].style == "builtin":
            try:
                found.append((place[0].message, json.loads(body_of(e["request"]))))
            except ValueError:
                continue
    return [(message, document) for message, document in found if message]


_DOCUMENTS = _documents()


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [path] + [place for key, child in children for place in _places(child, (*path, key))]


@st.composite
def _mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A good document with up to three values replaced, keys added, or pairs doubled."""
    message, document = draw(st.sampled_from(_DOCUMENTS))
    document = json.loads(json.dumps(document))
    doubled = False
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.sampled_from(_places(document)))
        parent = document
        for key in place[:-1]:
            parent = parent[key]
        action = draw(st.sampled_from(("replace", "add", "remove", "double", "rename")))
        if not place:
            continue
        key = place[-1]
        if action == "replace":
            parent[key] = copy_of(draw(st.sampled_from(_ODD)))
        elif action == "add" and isinstance(parent[key], dict):
            parent[key][draw(st.sampled_from(("bogus", "name", "kind", "data", "status")))] = copy_of(
                draw(st.sampled_from(_ODD))
            )
        elif action == "remove":
            del parent[key]
        elif action == "rename" and isinstance(parent, dict):
            parent[str(key).upper()] = parent.pop(key)
        elif action == "double":
            doubled = True
    text = encode(document)
    if doubled and text.startswith(b"{") and len(text) > 2:
        cut = draw(st.sampled_from([i for i, c in enumerate(text) if c == ord("{")]))
        pair = draw(
            st.sampled_from((b'"metadata":{"name":"twice"},', b'"name":"a:b","name":"c",', b'"n\\u003a":1,'))
        )
        if text[cut + 1 : cut + 2] != b"}":
            text = text[: cut + 1] + pair + text[cut + 1 :]
    return message, text


def _exact(raw: bytes, message: str) -> Any:
    return codec.read_json(raw).decode(message)


@given(_mutated())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_compiled_reading_accepts_is_what_the_exact_reading_gives(sample: tuple[str, bytes]) -> None:
    message, raw = sample
    quick = codec.quick_json(raw, message)
    if quick is None:
        return
    exact = _exact(raw, message)
    assert exact.problems == []
    assert (quick.api_version, quick.kind) == (exact.api_version, exact.kind)
    assert encode(quick.obj) == encode(exact.obj)


@given(_mutated())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_parsed_document_is_read_as_its_text_is(sample: tuple[str, bytes]) -> None:
    message, raw = sample
    value = json.loads(raw)

    def outcome(read: Any) -> Any:
        try:
            decoded = read()
        except codec.DecodeError:
            return "refused"
        return decoded.obj

    again = encode(value)
    assert outcome(lambda: codec.from_value(value, message)) == outcome(lambda: _exact(again, message))


def test_plain_valid_bodies_take_the_compiled_path() -> None:
    refused = [
        message for message, document in _DOCUMENTS if compiled.from_json(encode(document), message) is None
    ]
    # The others carry nulls, unknown fields or lists that are empty but may not be.
    assert len(refused) < len(_DOCUMENTS) / 10
