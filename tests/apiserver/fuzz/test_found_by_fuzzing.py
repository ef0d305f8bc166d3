"""Faults that random requests once found, each with the rule that it broke."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator

import pytest

from longshore.api import codec
from longshore.client.local import LocalClient
from longshore.client.protocol import Response
from longshore.up.options import Options
from longshore.up.running import running

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def client(anyio_backend: str) -> AsyncIterator[LocalClient]:
    async with running(
        Options(in_memory=True, port=0, controllers=(), scheduler=False, node=False)
    ) as longshore:
        yield LocalClient(longshore.api)


async def create(client: LocalClient, name: str, accept: str = "application/json") -> Response:
    body = json.dumps({"metadata": {"name": name}}).encode()
    return await client.request("POST", MAPS, body=body, headers={"Accept": accept})


@pytest.mark.parametrize(
    "text", ["y", "No", "1e3", "0x1F", "1_000", "08", "~", "a: b", "two\nlines\n", " x", "\x7f", "é"]
)
def test_text_in_a_yaml_answer_reads_back_as_the_same_text(text: str) -> None:
    assert codec.plain_yaml(codec.encode_yaml({"a": text, text: "b"})).value == {"a": text, text: "b"}


async def test_a_form_that_cannot_be_answered_is_refused_before_the_write(client: LocalClient) -> None:
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    assert (await create(client, "a", accept)).code == 406
    assert (await client.request("GET", f"{MAPS}/a")).code == 404


def token(**fields: object) -> str:
    raw = json.dumps({"v": "meta.k8s.io/v1", "rv": 1, "start": "a", **fields}).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            token(start={}),
            "json: cannot unmarshal object into Go struct field continueToken.start of type string",
        ),
        (token(rv="1"), "json: cannot unmarshal string into Go struct field continueToken.rv of type int64"),
        (
            token(rv=1.5),
            "json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
        ),
        (token(start="a//b"), "a//b"),
        ("W10", "json: cannot unmarshal array into Go value of type storage.continueToken"),
        ("bnVsbA", "server does not recognize this encoded version "),
        ("ab!c", "illegal base64 data at input byte 2"),
        ("abcde", "illegal base64 data at input byte 4"),
    ],
)
async def test_a_continue_token_of_the_wrong_shape_is_a_bad_request(
    client: LocalClient, text: str, why: str
) -> None:
    answer = await client.request("GET", MAPS, query={"continue": text, "limit": "1"})
    assert answer.code == 400
    assert json.loads(answer.body)["message"] == f"invalid continue token: continue key is not valid: {why}"


async def test_a_continue_token_from_the_future_is_too_large(client: LocalClient) -> None:
    answer = await client.request("GET", MAPS, query={"continue": token(rv=10**17), "limit": "1"})
    assert answer.code == 504
    assert "Too large resource version: 100000000000000000" in json.loads(answer.body)["message"]


async def test_a_custom_object_of_the_wrong_shape_is_refused_not_compared(client: LocalClient) -> None:
    path = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
    body = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    for spec in ("x", {"tasks": "x"}, {"tasks": ["x"]}, {"tasks": {"a": "b"}}):
        answer = await client.request("POST", path, body=json.dumps({**body, "spec": spec}).encode())
        assert answer.code in (400, 422), answer.body


async def test_a_pod_asks_for_what_a_limit_range_gives_its_containers(client: LocalClient) -> None:
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    await client.create(("v1", "LimitRange"), {"metadata": {"name": "l"}, "spec": limits}, "default")
    spec = {
        "containers": [{"name": "main", "image": "busybox"}],
        "resources": {"limits": {"memory": "128Mi"}},
    }
    pod = await client.create(("v1", "Pod"), {"metadata": {"name": "p"}, "spec": spec}, "default")
    assert pod["spec"]["resources"]["requests"] == {"cpu": "1", "memory": "128Mi"}
    again = await client.update(("v1", "Pod"), pod)
    assert again["metadata"]["resourceVersion"] == pod["metadata"]["resourceVersion"]


@pytest.mark.parametrize("digits", ["9" * 5000, "-" + "9" * 5000])
async def test_a_number_of_any_length_is_out_of_range(client: LocalClient, digits: str) -> None:
    answer = await client.request("GET", MAPS, query={"limit": digits})
    assert answer.code == 400
    assert json.loads(answer.body)["message"].endswith("value out of range")


async def test_a_version_of_any_length_is_out_of_range(client: LocalClient) -> None:
    answer = await client.request("GET", MAPS, query={"resourceVersion": "9" * 5000})
    assert answer.code == 400
    assert json.loads(answer.body)["message"].endswith("value out of range")
    assert (await client.request("GET", MAPS, query={"resourceVersion": "0" * 5000})).code == 200
