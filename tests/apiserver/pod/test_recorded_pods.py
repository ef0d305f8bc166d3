"""Every recorded exchange about pods, replayed on the pod rules alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver.pod.pod_scene import Pods, headers, normal, recorded
from longshore.api.errors import StatusError
from longshore.api.types import Obj, copy_of

THEMES = (
    "defaults",
    "validation-pod",
    "validation-update",
    "status",
    "generation",
    "unknown-fields",
    "binding-eviction",
)
POD = "/api/v1/namespaces/<ns>/pods"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def handled(request: Obj) -> bool:
    """Whether this is a request these rules answer alone: no decoding errors, no deletes, no streams."""
    path, kind = request["path"], (request.get("headers") or {}).get("Content-Type", "")
    if not path.startswith(POD) or request.get("query") or "bodyText" in request:
        return False
    if request["method"] == "PATCH":
        return bool(kind in (MERGE, STRATEGIC))
    if request["method"] == "POST":
        return str(path).endswith(("/pods", "/binding"))
    return bool(request["method"] == "PUT")


def send(pods: Pods, request: Obj) -> Obj:
    method, body = request["method"], copy_of(request["body"])
    rest = request["path"][len(POD) :].strip("/").split("/")
    if method == "POST":
        return pods.create(body) if rest == [""] else pods.bind(rest[0], body)
    subresource = rest[1] if len(rest) > 1 else ""
    if method == "PUT":
        return pods.replace(body, subresource)
    strategic = request["headers"]["Content-Type"] == STRATEGIC
    return pods.patch(rest[0], body, subresource, strategic=strategic)


def replayed(theme: str) -> Iterator[tuple[str, Any, Any]]:
    """(name, recorded answer, ours) for each exchange that can be replayed."""
    pods = Pods()
    for exchange in recorded(theme):
        for step in exchange.get("setup") or ():
            if step["method"] == "DELETE":
                pods.delete(step["path"].rpartition("/")[2])
            elif handled(step):
                send(pods, step)
        request, response = exchange["request"], exchange["response"]
        if not handled(request) or "<uid:" in str(request["body"]):
            continue
        pods.warnings = []
        name = exchange["name"]
        try:
            body = send(pods, request)
        except StatusError as error:
            body, status = error.status(), error.code
        else:
            status = 201 if request["method"] == "POST" else 200
            if request["path"].endswith("/binding"):
                body = {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Success",
                    "code": 201,
                }
            else:
                body = {"kind": "Pod", "apiVersion": "v1", **body}
        want = response["headers"].get("Warning", [])
        yield (
            name,
            (response["status"], normal(response["body"]), want),
            (status, normal(body), headers(pods.warnings)),
        )


@pytest.mark.parametrize("theme", THEMES)
def test_pods_are_answered_as_recorded(theme: str) -> None:
    answers = list(replayed(theme))
    assert len(answers) > 3, f"only {len(answers)} exchanges of {theme} were replayed"
    for name, want, got in answers:
        assert got == want, f"{theme}/{name}"
