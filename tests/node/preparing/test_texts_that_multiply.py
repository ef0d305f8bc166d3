"""Small manifests that would make huge texts, files or paths: refused in words, before they are made."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.node.preparing.environment.expansion import expand, from_maps
from longshore.node.preparing.types import CannotPrepare, NotReady
from longshore.node.runtime import Container
from support.preparing_world import World

pytestmark = [pytest.mark.anyio, pytest.mark.long]

TEXT_LIMIT = "is longer than the 128 KiB that Linux allows one text"
TOTAL_LIMIT = "is beyond the 2 MiB that Linux allows arguments and variables together"


def doubling(levels: int) -> list[dict[str, str]]:
    """Variables of which each has the one before it twice."""
    first = {"name": "A0", "value": "x"}
    return [first, *({"name": f"A{n}", "value": f"$(A{n - 1})$(A{n - 1})"} for n in range(1, levels + 1))]


async def prepared(world: World, **container: Any) -> Container:
    return await world.container(await world.pod(container=container))


async def refusal(world: World, **container: Any) -> str:
    with pytest.raises(CannotPrepare) as caught:
        await prepared(world, **container)
    assert caught.value.reason == "CreateContainerConfigError"
    return caught.value.message


async def test_variables_that_double_are_refused_where_linux_could_not_take_them(world: World) -> None:
    assert await refusal(world, env=doubling(27)) == f'variable "A17" {TEXT_LIMIT}'


async def test_the_longest_text_that_linux_takes_is_not_refused(world: World) -> None:
    room = 128 * 1024 - len("A=") - 1
    value = (await prepared(world, env=[{"name": "A", "value": "x" * room}])).env
    assert len(dict(value)["A"]) == room
    longer = await world.pod(name="longer", container={"env": [{"name": "A", "value": "x" * (room + 1)}]})
    with pytest.raises(CannotPrepare, match=TEXT_LIMIT):
        await world.container(longer)


async def test_bytes_count_and_not_characters(world: World) -> None:
    assert await refusal(world, env=[{"name": "A", "value": "é" * 70_000}]) == f'variable "A" {TEXT_LIMIT}'


@pytest.mark.parametrize("field", ["command", "args"])
async def test_arguments_that_repeat_a_variable_are_refused(world: World, field: str) -> None:
    env = doubling(16)
    assert await refusal(world, env=env, **{field: ["$(A16)$(A16)"]}) == f"an entry of {field} {TEXT_LIMIT}"
    many = await world.pod(name="many", container={"env": env, field: ["$(A16)"] * 10_000})
    with pytest.raises(CannotPrepare) as caught:
        await world.container(many)
    assert caught.value.message == f"an entry of {field} {TOTAL_LIMIT}"


async def test_many_large_variables_are_refused_together(world: World) -> None:
    copies = [{"name": f"B{n}", "value": "$(A16)"} for n in range(10_000)]
    assert await refusal(world, env=doubling(16) + copies) == f'variable "B29" {TOTAL_LIMIT}'


async def test_one_secret_behind_many_variables_is_decoded_once(world: World) -> None:
    await world.create(
        "Secret", {"metadata": {"name": "s"}, "stringData": {"k": "v", "big": "x" * 1_000_000}}
    )
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    made = await prepared(world, env=[{"name": f"V{n}", "valueFrom": source} for n in range(5_000)])
    assert dict(made.env)["V4999"] == "v"


def test_references_that_are_never_closed_are_read_once() -> None:
    text = "$(A" * 300_000
    assert expand(f"$(A){text}"[:60_000], from_maps({"A": "1"})) == f"1{text}"[: 60_000 - 3]
    assert expand(f"$$$(B){text[:30_000]}", from_maps({"B": "2"})) == f"$2{text[:30_000]}"


@pytest.mark.parametrize("field", ["subPath", "mountPath", "subPathExpr"])
async def test_a_path_that_no_file_system_has_is_refused(world: World, field: str) -> None:
    path = "$(A11)" * 2 if field == "subPathExpr" else "/a" * 500_000
    mount = {"name": "v", "mountPath": "/data", field: path.lstrip("/") if field == "subPath" else path}
    container = {"volumeMounts": [mount], "env": doubling(11)}
    pod = await world.pod(container=container, volumes=[{"name": "v", "emptyDir": {}}])
    with pytest.raises(CannotPrepare) as caught:
        await world.container(pod)
    assert caught.value.message == (
        f'volumeMount "v" of container "main": {"subPath" if field == "subPathExpr" else field} '
        "is longer than a path can be (4095 bytes)"
    )


def repeated(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**item, "path": f"f{n}"} for n in range(2_000)]


@pytest.mark.parametrize("kind", ["configMap", "projected", "downwardAPI"])
async def test_files_that_repeat_one_text_without_end_are_refused(world: World, kind: str) -> None:
    big = "x" * 200_000
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"k": big}})
    fields = repeated({"fieldRef": {"fieldPath": "metadata.annotations"}})
    volume = {
        "configMap": {"configMap": {"name": "c", "items": repeated({"key": "k"})}},
        "projected": {
            "projected": {"sources": [{"configMap": {"name": "c", "items": repeated({"key": "k"})}}]}
        },
        "downwardAPI": {"downwardAPI": {"items": fields}},
    }[kind]
    pod = await world.pod(metadata={"annotations": {"a": big}}, volumes=[{"name": "v", **volume}])
    with pytest.raises(NotReady, match="volumes exceed 64 MiB"):
        await world.preparer.pod(pod)
    assert not list(world.root.rglob("f1"))
