"""The options of a DELETE come from its body, or from the query when it has none."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from api.codec.codec_vectors import body_of, content_type_of, exchanges
from longshore.api import codec
from longshore.api.errors import StatusError
from longshore.apiserver.request import delete_options

JSON = "application/json"


def _deletes() -> list[Any]:
    return [
        pytest.param(e, id=e["id"])
        for e in exchanges("delete", "deletecollection")
        if e["request"]["method"] == "DELETE" and body_of(e["request"])
    ]


@pytest.mark.parametrize("exchange", _deletes())
def test_recorded_options_are_taken_or_refused_as_recorded(exchange: dict[str, Any]) -> None:
    request, answer = exchange["request"], exchange["response"]
    raw = body_of(request)
    query = {k: [v] for k, v in (request.get("query") or {}).items()}
    if answer["status"] == 400 and "selector" not in exchange["id"]:
        with pytest.raises(StatusError) as caught:
            delete_options.options_from(raw, content_type_of(request), query)
        status = caught.value.status()
        shown = re.sub(r'in scheme "[^"]*"', 'in scheme "<scheme>"', status["message"])
        assert {**status, "message": shown} == answer["body"]
        return
    found = delete_options.options_from(raw, content_type_of(request), query)
    sent = {k: v for k, v in json.loads(raw).items() if k not in ("apiVersion", "kind", "frob")}
    assert found == sent


def test_without_a_body_the_query_decides() -> None:
    query = {
        "gracePeriodSeconds": ["5"],
        "orphanDependents": ["0"],
        "propagationPolicy": ["Orphan"],
        "dryRun": ["All"],
        "uid": ["u"],
    }
    assert delete_options.options_from(b"", None, query) == {
        "gracePeriodSeconds": 5,
        "orphanDependents": False,
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
        "preconditions": {"uid": "u"},
    }


def test_with_a_body_the_query_is_ignored() -> None:
    assert delete_options.options_from(b"{}", JSON, {"propagationPolicy": ["Orphan"]}) == {}


def test_options_may_come_as_yaml_or_protobuf() -> None:
    assert delete_options.options_from(b"gracePeriodSeconds: 3", "application/yaml", {}) == {
        "gracePeriodSeconds": 3
    }
    raw = codec.encode_protobuf({"gracePeriodSeconds": 0}, "v1", "DeleteOptions", "meta/v1.DeleteOptions")
    assert delete_options.options_from(raw, "application/vnd.kubernetes.protobuf", {}) == {
        "gracePeriodSeconds": 0
    }


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"apiVersion":"a/b/c"}', "unexpected GroupVersion string: a/b/c"),
        (b'{"kind":"CreateOptions"}', r"converting \(v1.CreateOptions\) to \(v1.DeleteOptions\): unknown"),
        (b"[]", "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value"),
    ],
)
def test_what_cannot_be_options_is_a_bad_request(raw: bytes, message: str) -> None:
    with pytest.raises(StatusError, match=message) as caught:
        delete_options.options_from(raw, JSON, {})
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")


def test_a_number_in_the_query_must_be_one() -> None:
    with pytest.raises(StatusError, match=r'strconv.ParseInt: parsing "soon": invalid syntax'):
        delete_options.options_from(b"", None, {"gracePeriodSeconds": ["soon"]})


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(StatusError, match="in an unknown format") as caught:
        delete_options.options_from(b"<x/>", "text/xml", {})
    assert caught.value.code == 415
