"""Requests that once held the server for seconds or for ever. Each costs time linear in its length."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.http import respond
from longshore.apiserver.request import body, negotiate
from support import growth
from support.api_in_memory import Server

pytestmark = [pytest.mark.anyio, pytest.mark.long]
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
_MIB = 1 << 20
_OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p"}


def _map(**metadata: Any) -> bytes:
    return json.dumps({"metadata": {"generateName": "m-", **metadata}}).encode()


def _pod(**spec: Any) -> bytes:
    return json.dumps(
        {"metadata": {"generateName": "p-"}, "spec": {"containers": [{"name": "c"}], **spec}}
    ).encode()


async def _growth(
    server: Server, path: str, body: Callable[[int], bytes], size: int, media: str = "json"
) -> float:
    def work(n: int) -> Callable[[], Awaitable[object]]:
        raw = body(n)
        return lambda: server.send("POST", path, raw, type=f"application/{media}")

    return await growth.ratio(work, size)


@pytest.mark.parametrize(
    "content_type",
    ["a/b" + " " * 60_000 + "(", "a/b" + ";a=b " * 12_000 + "(", 'a/b;a="' + "\\" * 60_000],
    ids=["spaces", "parameters", "backslashes"],
)
async def test_a_content_type_is_read_once(content_type: str) -> None:
    with pytest.raises(StatusError) as refusal:
        body.format_of(content_type)
    assert refusal.value.code == 415


async def test_of_an_accept_header_the_first_clauses_count() -> None:
    many = ",".join(f"a/b;q=0.{i}" for i in range(10_000))
    assert not negotiate.prefers_yaml(f"{many},application/yaml")
    assert negotiate.prefers_yaml(f"a/b,application/yaml,{many}")


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(lambda i: {**_OWNER, "uid": f"u{i}"}, id="owners"),
        pytest.param(lambda i: {**_OWNER, "uid": f"u{i}", "controller": True}, id="controllers"),
        pytest.param(lambda i: {**_OWNER, "uid": "u"}, id="the same owner"),
    ],
)
async def test_owner_references(server: Server, entry: Callable[[int], Any]) -> None:
    ratio = await _growth(server, MAPS, lambda n: _map(ownerReferences=[entry(i) for i in range(n)]), 16_000)
    assert ratio < growth.MAX_RATIO


async def test_many_invalid_labels_get_an_answer_of_bounded_size(server: Server) -> None:
    labels = {f"-{i}": "-" for i in range(200_000)}
    answer = await server.send("POST", MAPS, _map(labels=labels))
    assert answer.code == 422
    assert len(answer.body["details"]["causes"]) == 100
    assert answer.message.endswith(", and more]")
    assert len(json.dumps(answer.body)) < _MIB / 8


async def test_a_long_value_is_shown_in_part(server: Server) -> None:
    answer = await server.send("POST", MAPS, _map(labels={"a": "-" * 2 * _MIB, "b": '"' * 10}))
    assert answer.code == 422
    assert len(json.dumps(answer.body)) < _MIB / 8
    assert f"{'-' * 100}... ({2 * _MIB + 2} characters): must be no more than 63 bytes" in answer.message
    assert r'"\"\"\"' in answer.message, "a short value is shown as it is"


async def test_warnings_together_have_at_most_4_kib(server: Server) -> None:
    body = json.dumps(
        {"metadata": {"generateName": "m-"}, **{f"unknown{i}": 1 for i in range(50_000)}}
    ).encode()
    answer = await server.send("POST", MAPS, body)
    assert answer.code == 201
    assert 0 < len(answer.warning) < 8192


async def test_long_warnings_are_cut_at_256_characters() -> None:
    assert respond.warning_headers(["x" * 5000, "short", "short"]) == (
        ("Warning", f'299 - "{"x" * 256}"'),
        ("Warning", '299 - "short"'),
    )


async def test_there_are_at_most_32_warnings_and_the_last_counts_the_rest() -> None:
    told = respond.warning_headers([f"w{i}" for i in range(200)])
    assert [value for _, value in told] == [
        *(f'299 - "w{i}"' for i in range(31)),
        '299 - "and 169 more warnings"',
    ]
    assert len(respond.warning_headers([f"w{i}" for i in range(32)])) == 32
    assert respond.warning_headers([f"w{i}" for i in range(32)])[-1] == ("Warning", '299 - "w31"')


async def test_warnings_are_whole_as_long_as_they_fit() -> None:
    assert respond.warning_headers(["x" * 4000]) == (("Warning", f'299 - "{"x" * 4000}"'),)


async def test_a_service_with_more_node_ports_than_there_are_is_refused(server: Server) -> None:
    ports = [{"name": f"p{i}", "port": 1 + i} for i in range(3000)]
    body = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}}
    answer = await server.send("POST", "/api/v1/namespaces/default/services", body)
    assert (answer.code, answer.message) == (
        500,
        "Internal error occurred: failed to allocate a nodePort: range is full",
    )


async def test_text_that_yaml_repeats_by_aliases_is_counted(server: Server) -> None:
    lines = "".join(f"  k{i}: *a\n" for i in range(2000))
    body = f"metadata: {{name: m}}\ndata:\n  k: &a {'x' * 100_000}\n{lines}".encode()
    answer = await server.send("POST", MAPS, body, type="application/yaml")
    assert answer.code == 400
    assert "excessive aliasing" in answer.message


async def test_a_long_key_is_not_written_down_for_each_value_in_it(server: Server) -> None:
    def body(n: int) -> bytes:
        return b'{"metadata":{"generateName":"m-"},"%b":[%b0],"a":1,"a":1}' % (b"k" * 8 * n, b"0," * n)

    assert await _growth(server, MAPS, body, 64_000) < growth.MAX_RATIO


async def test_numbers_that_python_refuses_to_read_are_no_fault_of_the_server(server: Server) -> None:
    digits = "1" * 5000
    answer = await server.send("GET", MAPS, labelSelector=f"a>{digits}")
    assert answer.code == 400
    await server.send("POST", MAPS, {"metadata": {"name": "m"}})
    patch = [{"op": "remove", "path": f"/metadata/finalizers/{digits}"}]
    answer = await server.send("PATCH", f"{MAPS}/m", patch, type="application/json-patch+json")
    assert answer.code == 422


async def test_a_strategic_merge_patch_of_a_long_list(server: Server) -> None:
    async def patched(n: int) -> None:
        env = [{"name": f"V{i}", "value": "1"} for i in range(n)]
        made = await server.send("POST", PODS, _pod(containers=[{"name": "c", "image": "i", "env": env}]))
        name = made.body["metadata"]["name"]
        change = [{"name": f"V{n - i}", "$patch": "delete"} for i in range(n)]
        patch = {"spec": {"containers": [{"name": "c", "env": change}]}}
        kind = "application/strategic-merge-patch+json"
        await server.send("PATCH", f"{PODS}/{name}", patch, type=kind)

    assert await growth.ratio(lambda n: lambda: patched(n), 8000) < growth.MAX_RATIO
