"""Which form an answer takes for a given Accept header, and the two ways of refusing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.request import negotiate
from longshore.apiserver.request.negotiate import JSON, PROTOBUF, YAML, Output
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"
KUBECTL_TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
TABLE = Output(JSON, "Table", "meta.k8s.io/v1")


@pytest.mark.parametrize(
    ("accept", "want"),
    [
        (None, Output(JSON)),
        ("", Output(JSON)),
        ("*/*", Output(JSON)),
        ("application/json, */*", Output(JSON)),
        ("application/xml, application/json", Output(JSON)),
        ("application/yaml", Output(YAML)),
        ("application/vnd.kubernetes.protobuf,application/json", Output(PROTOBUF)),
        ("application/json;q=0.5, application/yaml", Output(YAML)),
        ("application/json;q=0.5, application/yaml;q=0.4", Output(JSON)),
        ("*/*;q=1, application/yaml;q=0.2", Output(YAML)),
        ("application/json;pretty=1", Output(JSON, pretty=True)),
        ("application/json;stream=watch", Output(JSON)),
        (KUBECTL_TABLE, TABLE),
        ("application/json;as=Table;g=meta.k8s.io;v=v9,application/json", Output(JSON)),
        ("application/json;as=Table;g=meta.k8s.io;v=v1beta1", Output(JSON, "Table", "meta.k8s.io/v1beta1")),
        (
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;q=0.5,"
            "application/json;as=Table;g=meta.k8s.io;v=v1",
            TABLE,
        ),
        ("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json", Output(JSON)),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Output(PROTOBUF, "PartialObjectMetadata", "meta.k8s.io/v1"),
        ),
        ("application/json;sv=x, application/yaml", Output(YAML)),
        ("nonsense, a/b/c, application/json", Output(JSON)),
    ],
)
def test_the_first_clause_that_can_be_met_decides(accept: str | None, want: Output) -> None:
    assert negotiate.choose(accept) == want


def test_custom_resources_answer_json_to_those_who_would_rather_have_protobuf() -> None:
    assert negotiate.choose(f"{PROTOBUF},application/json", custom=True) == Output(JSON)
    assert negotiate.choose("application/*", custom=True) == Output(JSON)
    partial = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert negotiate.choose(partial, custom=True).media_type == PROTOBUF


def test_a_watch_streams_protobuf_under_its_own_type() -> None:
    assert negotiate.choose(PROTOBUF, streaming=True).media_type == f"{PROTOBUF};stream=watch"
    assert negotiate.choose(KUBECTL_TABLE, streaming=True) == TABLE


def test_where_no_transform_can_be_had_its_clause_is_passed_over() -> None:
    assert negotiate.choose(KUBECTL_TABLE, transforms=False) == Output(JSON)


def refusal(accept: str, **how: bool) -> tuple[int, str, str, Any]:
    with pytest.raises(StatusError) as refused:
        negotiate.choose(accept, **how)
    error = refused.value
    return error.code, error.reason, error.message, error.details


LATE = "only the following media types are accepted: "
EARLY = "406: Not Acceptable\n\nAvailable representations: "
ALL = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
STREAMS = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


@pytest.mark.parametrize(
    ("accept", "how", "message", "details"),
    [
        ("application/xml", {}, EARLY + ALL, {}),
        ("application/*", {}, EARLY + ALL, {}),
        ("text/html", {"collection": True}, f"{EARLY}{ALL}, {STREAMS}", {}),
        ("text/html", {"custom": True}, LATE + ALL, None),
        ("application/json;as=Table;g=meta.k8s.io;v=v9", {}, LATE + ALL, None),
        ("application/json;as=Table;g=meta.k8s.io;v=v1", {"transforms": False}, LATE + ALL, None),
        ("application/yaml", {"streaming": True}, LATE + STREAMS, None),
        ("application/yaml, application/json", {"streaming": True}, LATE + STREAMS, None),
    ],
)
def test_a_header_that_cannot_be_met_is_refused(
    accept: str, how: dict[str, bool], message: str, details: Any
) -> None:
    assert refusal(accept, **how) == (406, "NotAcceptable", message, details)


@pytest.mark.parametrize(
    ("accept", "yaml"),
    [
        (None, False),
        ("application/yaml", True),
        ("application/xml", False),
        (KUBECTL_TABLE, False),
        (f"application/json;as=Table;g=meta.k8s.io;v=v1,{YAML}", True),
        (f"{YAML};as=Table;g=meta.k8s.io;v=v1", False),
    ],
)
def test_errors_are_yaml_only_for_those_who_asked_for_plain_yaml(accept: str | None, yaml: bool) -> None:
    assert negotiate.prefers_yaml(accept) is yaml


@pytest.mark.parametrize(
    ("parameter", "agent", "want"),
    [
        ("true", "kubectl/v1", True),
        ("1", "kubectl/v1", True),
        ("false", "curl/8", False),
        ("x", "curl/8", False),
        (None, "curl/8", True),
        ("", "Mozilla/5.0 (X11)", True),
        (None, "Wget/1.21", True),
        (None, "kubectl/v1", False),
    ],
)
def test_people_get_indented_json(parameter: str | None, agent: str, want: bool) -> None:
    assert negotiate.is_pretty(parameter, agent) is want


AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
AGGREGATED_BETA = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


def test_discovery_comes_aggregated_where_it_can() -> None:
    kubectl = f"{AGGREGATED},{AGGREGATED_BETA},application/json"
    assert negotiate.discovery(kubectl, aggregated=True).media_type == AGGREGATED
    assert negotiate.discovery(f"{AGGREGATED};profile=nopeer", aggregated=True).media_type == AGGREGATED
    assert negotiate.discovery(kubectl, aggregated=False) == Output(JSON)
    assert negotiate.discovery(f"{AGGREGATED_BETA},application/json", aggregated=True) == Output(JSON)


def answer_to(path: str, accept: str | None) -> Output:
    if path.count("/") < 5:
        return negotiate.discovery(accept, aggregated=path == "/apis")
    return negotiate.choose(accept)


def test_every_recorded_refusal_is_ours_word_for_word() -> None:
    seen = 0
    for theme in ("errors", "table", "watch", "discovery"):
        for exchange in json.loads((VECTORS / f"{theme}.json").read_text()):
            accept = (exchange["request"].get("headers") or {}).get("Accept")
            body = exchange["response"].get("body")
            if exchange["response"]["status"] != 406 or not isinstance(body, dict):
                continue
            if body["message"].startswith("you requested"):
                continue
            seen += 1
            with pytest.raises(StatusError) as refused:
                answer_to(exchange["request"]["path"], accept)
            assert refused.value.status() == body
    assert seen >= 6
