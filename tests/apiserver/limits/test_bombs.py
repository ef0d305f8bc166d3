"""Small requests made to cost a lot: each is refused, or done, in a moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from apiserver.limits.wire import MAPS, Wire, serving

pytestmark = pytest.mark.anyio
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
_SECONDS = 60.0  # a bomb that goes off takes minutes or all memory; a refusal takes milliseconds
_MIB = 1 << 20
DEEP_FIELDS = (
    b'{"metadata":{"managedFields":[{"fieldsV1":' + b'{"f:a":' * 9000 + b"{}" + b"}" * 9000 + b"}]}}"
)


@pytest.fixture
async def wire(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with serving(monkeypatch) as wire:
        yield wire


async def quickly(
    wire: Wire, method: str, target: str, body: bytes, media: str
) -> tuple[int, dict[str, object]]:
    """The answer, which must not take long, and must be an API object."""
    began = asyncio.get_running_loop().time()
    code, document = await wire.ask(method, target, body, Content_Type=media)
    assert asyncio.get_running_loop().time() - began < _SECONDS
    assert document["kind"]
    return code, document


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 100_000, id="arrays"),
        pytest.param(b'{"a":' * 100_000, id="objects"),
        pytest.param(b'{"metadata":' + b"[" * 5000 + b"]" * 5000 + b"}", id="closed arrays"),
        pytest.param(DEEP_FIELDS, id="fields"),
        pytest.param(b'{"data":' + b"1" * 2_900_000 + b"}", id="digits"),
        pytest.param(b'{"data":1e' + b"9" * 2_900_000 + b"}", id="exponent"),
        pytest.param(b'{"data":"' + b"\\u0000" * 450_000 + b'"}', id="escapes"),
        pytest.param(b'{"a":1,' * 400_000, id="keys"),
        pytest.param(b'{"data":{' + b'"a":"b",' * 300_000 + b'"a":"b"}}', id="the same key"),
        pytest.param(b"[" + b"{}," * 900_000 + b"{}]", id="items"),
        pytest.param(b" " * (3 * _MIB - 2) + b"{}", id="spaces"),
    ],
)
async def test_json(wire: Wire, body: bytes) -> None:
    code, _ = await quickly(wire, "POST", MAPS, body, "application/json")
    assert code in (400, 422)


def laughs(depth: int, width: int) -> bytes:
    lines = ["a0: &a0 x"]
    for level in range(1, depth):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(laughs(12, 10), id="a billion laughs"),
        pytest.param(laughs(400, 2), id="many laughs"),
        pytest.param(b"a: &a [*a]", id="itself"),
        pytest.param(b"[" * 20_000, id="arrays"),
        pytest.param(b"{a: " * 20_000, id="objects"),
        pytest.param(b"- " * 20_000, id="dashes"),
        pytest.param(b"? " * 20_000, id="questions"),
        pytest.param(b"a: " + b"1" * 200_000, id="digits"),
        pytest.param(b"a: 1e" + b"9" * 1000, id="exponent"),
        pytest.param(b"&a " * 20_000 + b"x", id="anchors"),
        pytest.param(b"!!x " * 20_000 + b"x", id="tags"),
        pytest.param(b"<<: {a: b}\n" * 10_000, id="merges"),
        pytest.param(b"a: b\n" * 20_000, id="the same key"),
        pytest.param(b"#" * 2_000_000, id="comment"),
    ],
)
async def test_yaml(wire: Wire, body: bytes) -> None:
    code, _ = await quickly(wire, "POST", MAPS, body, "application/yaml")
    assert code in (400, 422)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\x0a\xff\xff\xff\xff\x0f", id="length"),
        pytest.param(b"\x12" + b"\xff" * 5000, id="endless number"),
        pytest.param(b"\x0b" * 100_000, id="groups"),
        pytest.param(b"\x12\x05\x12\x03\x12\x01\x12" * 50_000, id="messages"),
    ],
)
async def test_protobuf(wire: Wire, raw: bytes) -> None:
    code, _ = await quickly(wire, "POST", MAPS, b"k8s\x00" + raw, "application/vnd.kubernetes.protobuf")
    assert code in (400, 422)


def job(**spec: object) -> bytes:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
    return json.dumps({"metadata": {"name": "j"}, "spec": {"template": template, **spec}}).encode()


def pod(memory: str) -> bytes:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"memory": memory}}}
    return json.dumps({"metadata": {"name": "p"}, "spec": {"containers": [container]}}).encode()


@pytest.mark.parametrize(
    "amount", ["1e999999999", "1e-999999999", "9" * 100_000, "0." + "0" * 100_000 + "1", "1" * 50 + "E"]
)
async def test_quantities(wire: Wire, amount: str) -> None:
    code, _ = await quickly(wire, "POST", PODS, pod(amount), "application/json")
    assert code in (201, 400, 422)
    code, _ = await quickly(wire, "GET", PODS, b"", "application/json")
    assert code == 200


@pytest.mark.parametrize("name", ["a" * 1_000_000, "a-" * 500_000, "a." * 500_000 + "!", "-" * 1_000_000])
async def test_names(wire: Wire, name: str) -> None:
    body = json.dumps(
        {"metadata": {"name": name, "labels": {name: name}, "annotations": {name: "x"}}}
    ).encode()
    code, _ = await quickly(wire, "POST", MAPS, body[: 3 * _MIB], "application/json")
    assert code in (400, 413, 422)


@pytest.mark.parametrize(
    "schedule",
    [
        "0 0 31 2 *",
        "* " * 100_000,
        "1-" * 100_000,
        "," * 100_000 + " * * * *",
        "*/0 * * * *",
        "0-59/1 0 30 2 1",
    ],
)
async def test_schedules(wire: Wire, schedule: str) -> None:
    spec = {"schedule": schedule, "jobTemplate": {"spec": json.loads(job())["spec"]}}
    body = json.dumps({"metadata": {"name": "c"}, "spec": spec}).encode()
    code, _ = await quickly(
        wire, "POST", "/apis/batch/v1/namespaces/default/cronjobs", body, "application/json"
    )
    assert code in (201, 422)


async def test_index_lists(wire: Wire) -> None:
    rules = {"rules": [{"succeededIndexes": ",".join(str(n) for n in range(0, 130_000, 2))}]}
    body = job(completions=200_000, parallelism=1, completionMode="Indexed", successPolicy=rules)
    code, _ = await quickly(wire, "POST", JOBS, body, "application/json")
    assert code == 422


async def test_a_patch_that_copies_itself(wire: Wire) -> None:
    data = json.dumps({"metadata": {"name": "m"}, "data": {"k": "x" * 100_000}}).encode()
    assert (await wire.ask("POST", MAPS, data))[0] == 201
    copies = [{"op": "copy", "from": "/data", "path": f"/metadata/{n}"} for n in range(9000)]
    code, _ = await quickly(
        wire, "PATCH", f"{MAPS}/m", json.dumps(copies).encode(), "application/json-patch+json"
    )
    assert code in (400, 413, 422)
    doubling = [{"op": "copy", "from": "/data", "path": "/data/k"}] * 60
    code, _ = await quickly(
        wire, "PATCH", f"{MAPS}/m", json.dumps(doubling).encode(), "application/json-patch+json"
    )
    assert code in (400, 413, 422)


async def test_patches_with_many_parts(wire: Wire) -> None:
    assert (await wire.ask("POST", JOBS, job()))[0] == 201
    items = [{"name": f"c{n}", "image": "x"} for n in range(20_000)]
    order = [{"name": item["name"]} for item in reversed(items)]
    spec = {"template": {"spec": {"containers": items, "$setElementOrder/containers": order}}}
    body = json.dumps({"spec": spec}).encode()
    code, _ = await quickly(wire, "PATCH", f"{JOBS}/j", body, "application/strategic-merge-patch+json")
    assert code in (413, 422, 500)
    tests = json.dumps([{"op": "test", "path": "/spec/parallelism", "value": 1}] * 9999).encode()
    code, _ = await quickly(wire, "PATCH", f"{JOBS}/j", tests, "application/json-patch+json")
    assert code == 200


@pytest.mark.parametrize(
    "selector", ["a," * 30_000 + "a", "a in (" + "b," * 30_000 + "b)", "(" * 60_000, "!" * 60_000]
)
async def test_selectors(wire: Wire, selector: str) -> None:
    for which in ("labelSelector", "fieldSelector"):
        target = f"{MAPS}?{which}={selector.replace(' ', '%20')}"[:65_000]
        code, _ = await quickly(wire, "GET", target, b"", "application/json")
        assert code in (200, 400)
