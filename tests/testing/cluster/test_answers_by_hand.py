"""Answers that the test says in place of the server: any path, any status, any bytes, cut where it likes."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from kubernetes import client as k8s
from kubernetes import watch as k8s_watch

from longshore.testing import Cluster
from testing.cluster.cluster_manifests import a_pod

PODS = "/api/v1/namespaces/default/pods"


def asked(c: Cluster, path: str, method: str = "GET", token: str = "") -> tuple[int, str, bytes]:
    tls = ssl.create_default_context(cadata=c.kubeconfig_ca)
    with closing(
        http.client.HTTPSConnection(c.url.removeprefix("https://"), context=tls, timeout=30)
    ) as client:
        client.request(method, path, headers={"Authorization": f"Bearer {token or c.token}"})
        answer = client.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()


def core(c: Cluster) -> Any:
    connection = c.client("kubernetes")
    connection.rest_client.pool_manager.connection_pool_kw["retries"] = False
    return k8s.CoreV1Api(connection)


@pytest.mark.parametrize("pattern", ["GET /apis/metrics.example.org/*", "* /apis/metrics.example.org/…"])
def test_a_group_that_is_not_served_is_a_line(c: Cluster, pattern: str) -> None:
    answer = c.answers.on(pattern, {"items": [{"metadata": {"name": "node"}}]})
    api = k8s.CustomObjectsApi(c.client("kubernetes"))
    found = api.list_cluster_custom_object("metrics.example.org", "v1beta1", "nodes")
    assert found["items"][0]["metadata"]["name"] == "node"
    assert answer.happened == 1
    assert c.requests.of("GET", "*metrics*")[0].code == 200
    c.answers.clear()
    with pytest.raises(k8s.ApiException, match="404"):
        api.list_cluster_custom_object("metrics.example.org", "v1beta1", "nodes")
    api.api_client.close()


def test_any_status_for_one_path_as_often_as_told(c: Cluster) -> None:
    c.answers.on(f"GET {PODS}", "short and stout", status=418, headers={"X-Kettle": "on"}, times=1)
    assert asked(c, PODS) == (418, "text/plain", b"short and stout")
    assert asked(c, PODS)[0] == 200
    assert asked(c, PODS, "DELETE")[0] == 200
    c.answers.on(f"* {PODS}/x", status=204)
    assert asked(c, f"{PODS}/x", "DELETE", token="nobody's") == (204, "application/json", b"")


def test_a_function_answers_by_the_request_and_the_latest_answer_counts(c: Cluster) -> None:
    c.answers.on("GET /version", {"old": True})
    c.answers.on("GET /version", lambda seen: {"asked": seen.query})
    c.answers.on("GET /version", {"special": True}, query={"a": "2"})
    assert json.loads(asked(c, "/version?a=1")[2]) == {"asked": {"a": "1"}}
    assert json.loads(asked(c, "/version?a=2&b=3")[2]) == {"special": True}


def test_bytes_that_are_no_json_reach_the_client_as_they_are(c: Cluster) -> None:
    c.answers.on(f"GET {PODS}", b'{"items": [')
    assert asked(c, PODS) == (200, "application/json", b'{"items": [')


def test_a_body_is_cut_in_the_middle(c: Cluster) -> None:
    c.answers.on(f"GET {PODS}", {"kind": "PodList"}, cut=5)
    with pytest.raises(http.client.IncompleteRead) as cut:
        asked(c, PODS)
    assert cut.value.partial == b'{"kin'


def test_a_stream_ends_well_or_is_cut_in_the_middle_of_an_event(c: Cluster) -> None:
    event = {"type": "ADDED", "object": a_pod() | {"metadata": {"name": "p", "resourceVersion": "7"}}}
    api = core(c)

    def watched() -> list[str]:
        seen = []
        for each in k8s_watch.Watch().stream(api.list_namespaced_pod, "default", timeout_seconds=1):
            seen.append(each["object"].metadata.name)
        return seen

    c.answers.on(f"GET {PODS}", stream=[event, event], query={"watch": "True"}, times=1)
    assert watched() == ["p", "p"]
    c.answers.on(f"GET {PODS}", stream=[event, event], query={"watch": "True"}, cut=30)
    with pytest.raises(Exception, match="Response ended prematurely"):
        watched()
    assert api.list_namespaced_pod("default").items == []  # a list is the server's own
    api.api_client.close()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda c: c.answers.on("/version"), "write a method"),
        (
            lambda c: c.answers.on("FETCH /version"),
            "'FETCH /version': write a method (*, HEAD, OPTIONS, POST",
        ),
        (lambda c: c.answers.on("GET version"), "and a path, as in 'GET /api/v1/pods'"),
        (lambda c: c.answers.on("GET /x?watch=1"), "name parameters as query={'watch': 'true'}"),
        (lambda c: c.answers.on("GET /x", status=999), "status 999 is no status of an answer"),
        (lambda c: c.answers.on("GET /x", "y", stream=[]), "an answer with stream= has no other body"),
    ],
)
def test_a_wrong_answer_is_refused(c: Cluster, wrong: Callable[[Cluster], object], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        wrong(c)


def test_an_answer_that_was_never_given_is_named(c: Cluster) -> None:
    c.answers.on("GET /apis/metrics.example.org/*", {})
    assert c.unused() == ['the answer by hand to "GET /apis/metrics.example.org/*"']


def test_a_restored_cluster_answers_for_itself(c: Cluster) -> None:
    state = c.snapshot()
    c.answers.on("GET /version", {})
    c.restore(state)
    assert b"major" in asked(c, "/version")[2]
