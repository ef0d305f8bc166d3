"""What a container gets from its image, by a preparer that has a table of images."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.node.images.images_file import ImagesFile
from longshore.node.preparing.types import CannotPrepare, NodeFacts
from longshore.node.runtime import Container
from longshore.node.runtime_choice import RuntimeByImage
from support.preparing_world import World, preparing

HOME = os.path.expanduser("~")
TABLE = """
"tool:*": [~/tool, --fast]
"both:*": {command: [entry], args: [default]}
"python:*": {path: [~/py/bin, /opt/py]}
"""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with preparing(tmp_path / "pods") as made:
        (tmp_path / "images.yaml").write_text(TABLE)
        made.preparer = made.another(images=ImagesFile(tmp_path / "images.yaml"))
        yield made


async def made(world: World, image: str, **container: Any) -> Container:
    return await world.container(await world.pod(container={"image": image, "command": [], **container}))


def words(container: Container) -> tuple[str, ...]:
    return (*container.command, *container.args)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("image", "container", "runs"),
    [
        ("busybox", {}, ("sh",)),
        ("registry.example/e2e/busybox:1.29-4", {}, ("sh",)),
        ("debian:12", {"args": ["echo", "hi"]}, ("echo", "hi")),
        ("both:1", {}, ("entry", "default")),
        ("both:1", {"args": ["own"]}, ("entry", "own")),
        ("both:1", {"command": ["mine"]}, ("mine",)),
        ("both:1", {"command": ["mine"], "args": ["own"]}, ("mine", "own")),
        ("tool", {}, (f"{HOME}/tool", "--fast")),
        ("nobody/knows", {"args": ["echo", "hi"]}, ("echo", "hi")),
    ],
)
async def test_command_and_args_are_combined_as_with_a_real_image(
    world: World, image: str, container: Obj, runs: tuple[str, ...]
) -> None:
    assert words(await made(world, image, **container)) == runs


@pytest.mark.anyio
async def test_directories_of_an_entry_come_first_in_path(world: World) -> None:
    assert (await made(world, "python:3.12", command=["python"])).path == (f"{HOME}/py/bin", "/opt/py")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("image", "known"),
    [("nobody/knows:3", "longshore does not know what"), ("python", 'the entry "python:*"')],
)
async def test_a_container_with_nothing_to_run_is_told_the_way_out(
    world: World, image: str, known: str
) -> None:
    with pytest.raises(CannotPrepare, match="no command specified") as refused:
        await made(world, image)
    assert refused.value.reason == "CreateContainerError"
    repository = image.partition(":")[0]
    assert known in refused.value.message
    assert f"longshore images add '{repository}:*' -- COMMAND" in refused.value.message


@pytest.mark.anyio
async def test_a_container_of_podman_takes_nothing_from_the_table(world: World) -> None:
    world.preparer = world.another(node=NodeFacts("node-1", runtime="podman"))
    found = await made(world, "busybox")
    assert (words(found), found.path) == ((), ())


@pytest.mark.parametrize(
    ("engines", "images", "engine"),
    [
        ({"process", "podman"}, ["busybox", "tool:2"], "process"),
        ({"process", "podman"}, ["busybox", "nobody/knows"], "podman"),
        ({"process", "podman"}, ["host"], "process"),
        ({"process"}, ["nobody/knows"], "process"),
    ],
)
def test_auto_gives_pods_of_unknown_images_to_podman(
    tmp_path: Path, engines: set[str], images: list[str], engine: str
) -> None:
    (tmp_path / "images.yaml").write_text(TABLE)
    by_image = RuntimeByImage(ImagesFile(tmp_path / "images.yaml"))
    by_image.runtimes = frozenset(engines)
    pod = {"metadata": {"uid": "u"}, "spec": {"containers": [{"image": image} for image in images]}}
    assert by_image.of(pod) == engine


def test_a_pod_keeps_its_engine_when_the_table_changes(tmp_path: Path) -> None:
    file = tmp_path / "images.yaml"
    images = ImagesFile(file)
    by_image = RuntimeByImage(images)
    by_image.runtimes = frozenset({"process", "podman"})
    pod = {"metadata": {"uid": "u"}, "spec": {"containers": [{"image": "tool"}]}}
    assert by_image.of(pod) == "podman"
    file.write_text(TABLE)
    images.look()
    assert by_image.of(pod) == "podman"
    by_image.forget("u")
    assert by_image.of(pod) == "process"
    by_image.settle("u", "podman")  # as it ran before longshore was started again
    assert by_image.of(pod) == "podman"
