"""Odd requests get upstream's answers, not a 500, a wrong form or silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from longshore.api.types import Obj
from longshore.apiserver.http.log_stream import Log
from longshore.apiserver.http.open_streams import PodStreams
from support.api_in_memory import Server, api_in_memory

pytestmark = pytest.mark.anyio

CORE = "/api/v1/namespaces/default"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
TEMPLATE = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[Server]:
    async with api_in_memory() as server:
        yield server


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        (f"{CORE}/services", {"spec": {"ports": [{"port": 80}]}}, "Service"),
        (f"{CORE}/serviceaccounts", {}, "ServiceAccount"),
        ("/api/v1/persistentvolumes", {"spec": VOLUME}, "PersistentVolume"),
        (f"{CORE}/persistentvolumeclaims", {"spec": CLAIM}, "PersistentVolumeClaim"),
        (f"{CORE}/resourcequotas", {"spec": {"hard": {"pods": "1"}}}, "ResourceQuota"),
        (f"{CORE}/podtemplates", TEMPLATE, "PodTemplate"),
        ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "a.b/c"}, "StorageClass"),
        (f"{CORE}/configmaps", {}, "Status"),
        (f"{CORE}/secrets", {}, "Status"),
        ("/apis/batch/v1/namespaces/default/cronjobs",
         {"spec": {"schedule": "@daily", "jobTemplate": {"spec": TEMPLATE}}}, "Status"),
    ],
)  # fmt: skip
async def test_a_delete_answers_the_object_where_upstreams_does(
    server: Server, path: str, body: Obj, kind: str
) -> None:
    if kind == "Status":
        body.get("spec", {}).get("jobTemplate", {}).get("spec", {}).get("template", {}).get(
            "spec", {}
        ).update(restartPolicy="Never")
    made = await server.send("POST", path, {"metadata": {"name": "x", "finalizers": []}, **body})
    assert made.code == 201, made.body
    tried = await server.send("DELETE", f"{path}/x", dryRun="All")
    gone = await server.send("DELETE", f"{path}/x")
    assert (tried.code, gone.code) == (200, 200)
    assert (tried.body["kind"], gone.body["kind"]) == (kind, kind)
    if kind != "Status":
        assert gone.body["metadata"]["uid"] == made.body["metadata"]["uid"]
        assert "deletionTimestamp" not in gone.body["metadata"]
    assert (await server.send("GET", f"{path}/x")).code == 404


@pytest.mark.parametrize(("version", "code"), [("abc", 201), ("-1", 201), ("", 201), ("0", 201), ("7", 500)])
async def test_a_version_of_a_new_object_counts_if_it_is_one(server: Server, version: str, code: int) -> None:
    made = await server.send(
        "POST", f"{CORE}/configmaps", {"metadata": {"name": "x", "resourceVersion": version}}
    )
    assert made.code == code
    if code == 500:
        assert made.message == "resourceVersion should not be set on objects to be created"
    else:
        assert made.body["metadata"]["resourceVersion"].isdigit()


@pytest.mark.parametrize(
    "path", ["/apis/batch/v2", "/apis/batch/v2/", "/api/v2", "/apis/batch.volcano.sh/v9"]
)
async def test_an_unknown_version_of_a_known_group_is_a_status(server: Server, path: str) -> None:
    answer = await server.send("GET", path)
    assert answer.code == 404
    assert answer.body["kind"] == "Status"
    assert answer.message == "the server could not find the requested resource"


@pytest.mark.parametrize("path", ["/apis/nope.example.com/v1", "/nope", "/apis/nope.example.com"])
async def test_a_path_of_no_group_stays_plain(server: Server, path: str) -> None:
    answer = await server.send("GET", path)
    assert (answer.code, answer.body) == (404, b"404 page not found\n")


async def test_no_404_tells_the_version_of_the_server(server: Server) -> None:
    for path in ("/nope", "/apis/batch/v2", f"{CORE}/pods/x", "/openapi/v3/nope", "/healthz/nope"):
        response = await server.client.request("GET", path)
        assert response.code == 404
        assert "server" not in {name.lower() for name in response.headers}
        assert b"longshore" not in response.body


@pytest.mark.parametrize(
    ("group", "kind", "body"),
    [
        ("authorization", "SelfSubjectAccessReview",
         {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}),
        ("authorization", "SelfSubjectRulesReview", {"spec": {"namespace": "default"}}),
        ("authentication", "SelfSubjectReview", {}),
        ("authentication", "TokenReview", {"spec": {"token": "x"}}),
    ],
)  # fmt: skip
async def test_a_review_is_no_table(server: Server, group: str, kind: str, body: Obj) -> None:
    path = f"/apis/{group}.k8s.io/v1/{kind.lower()}s"
    assert (await server.send("POST", path, body, accept=TABLE)).code == 406
    answer = await server.send("POST", path, body, accept=f"{TABLE},application/json")
    assert (answer.code, answer.body["kind"]) == (201, kind)


async def test_a_privileged_container_that_may_not_escalate_is_told_all_that_is_wrong(server: Server) -> None:
    context = {
        "privileged": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["CAP_SYS_ADMIN"]},
    }
    spec = {"containers": [{"name": "c", "image": "i", "securityContext": context}]}
    answer = await server.send("POST", f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": spec})
    assert answer.code == 422
    cannot = "cannot set `allowPrivilegeEscalation` to false and"
    endings = [cause["message"].rpartition(": ")[2] for cause in answer.body["details"]["causes"]]
    assert endings == [f"{cannot} `privileged` to true", f"{cannot} `capabilities.Add` CAP_SYS_ADMIN"]


async def test_an_object_without_a_name_is_refused_in_upstreams_words(server: Server) -> None:
    await server.send("POST", f"{CORE}/configmaps", {"metadata": {"name": "x"}})
    words = "the name of the object (x based on URL) was undeterminable: name must be provided"
    put = await server.send("PUT", f"{CORE}/configmaps/x", {"data": {}})
    assert (put.code, put.message) == (400, words)
    change = {"metadata": {"name": None}}
    patch = await server.send("PATCH", f"{CORE}/configmaps/x", change, type="application/merge-patch+json")
    assert (patch.code, patch.message) == (400, words)


@pytest.mark.parametrize(
    ("sort", "words"),
    [
        ("merge-patch+json", "error decoding patch: unexpected end of JSON input"),
        ("json-patch+json", "error decoding patch: unexpected end of JSON input"),
        ("strategic-merge-patch+json", "unexpected end of JSON input"),
    ],
)
async def test_an_empty_patch_is_none(server: Server, sort: str, words: str) -> None:
    await server.send("POST", f"{CORE}/configmaps", {"metadata": {"name": "x"}})
    answer = await server.send("PATCH", f"{CORE}/configmaps/x", b"", type=f"application/{sort}")
    assert (answer.code, answer.message) == (400, words)


LOCAL = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
EVERYWHERE = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ASKED = {"verb": "get", "resource": "pods", "namespace": "default"}


@pytest.mark.parametrize(
    ("path", "review", "fields"),
    [
        (LOCAL, {"spec": {"user": "a", "resourceAttributes": ASKED}}, []),
        (LOCAL, {"spec": {"user": "a", "resourceAttributes": {**ASKED, "namespace": "x"}}},
         ["spec.resourceAttributes.namespace"]),
        (LOCAL, {"spec": {"user": "a", "nonResourceAttributes": {"path": "/", "verb": "get"}}},
         ["spec.nonResourceAttributes"]),
        (LOCAL, {"metadata": {"name": "x"}, "spec": {"resourceAttributes": ASKED}},
         ["spec.user", "metadata"]),
        (EVERYWHERE, {"spec": {"groups": ["g"], "resourceAttributes": ASKED}}, []),
        (EVERYWHERE, {"metadata": {"name": "x"}, "spec": {"user": "a", "resourceAttributes": ASKED}},
         ["metadata"]),
    ],
)  # fmt: skip
async def test_questions_about_others_are_checked_first(
    server: Server, path: str, review: Obj, fields: list[str]
) -> None:
    answer = await server.send("POST", path, review)
    if not fields:
        assert (answer.code, answer.body["status"]) == (201, {"allowed": False})
    else:
        assert answer.code == 422
        assert [cause["field"] for cause in answer.body["details"]["causes"]] == fields


async def test_a_log_is_never_taken_for_a_page() -> None:
    async def text() -> AsyncGenerator[bytes, None]:
        yield b"<script>"

    log = Log(text(), PodStreams(asyncio.Event()), "client", (("Warning", "w"),))
    reply = await log.begin(follow=False)
    assert reply is not None
    assert reply.headers == (("Warning", "w"), ("X-Content-Type-Options", "nosniff"))
