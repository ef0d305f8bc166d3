"""Wires the node of one longshore: its runtimes, the preparation of pods, and the agent that runs them."""

from __future__ import annotations

import asyncio
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from longshore.machinery import file_trees
from longshore.machinery.background import cancelled
from longshore.up import machine, own_pages
from longshore.up.secrets import SecretPlaces

if TYPE_CHECKING:
    from longshore.node.images.images_file import ImagesFile
    from longshore.node.preparing.types import Server
    from longshore.node.runtime import Runtime
    from longshore.plane.plane import Plane
    from longshore.up.options import Options


class NodePlace(msgspec.Struct, frozen=True):
    """The node's name and directory, the server that its pods may call, and the image table."""

    name: str
    directory: Path
    server: Server
    images: ImagesFile


async def run(options: Options, place: NodePlace, plane: Plane, ready: asyncio.Event) -> None:
    """Runs the node until cancelled, and connects the API to its pods."""
    from longshore.apiserver.api import NodeParts
    from longshore.node.agent import Agent
    from longshore.node.archive import Archive
    from longshore.node.disk_pressure import free_on
    from longshore.node.preparing.preparer import Preparer
    from longshore.node.preparing.types import NodeFacts
    from longshore.node.runtime_choice import RuntimeByImage, RuntimeClasses
    from longshore.node.serving.followed_runtime import FollowedRuntime
    from longshore.node.serving.node_access import NodeAccess

    client, wiring = plane.client, plane.wiring
    root = place.directory
    root.mkdir(mode=0o700, exist_ok=True)
    amounts = machine.capacity(root, declared=options.node_capacity)
    runtimes = {name: FollowedRuntime(runtime) for name, runtime in _runtimes(options, root).items()}
    name = place.name
    wiring.local_nodes.add(name)
    archive = Archive(root / "archive", options.retention)
    door = NodeAccess(name, tuple(runtimes.values()), root, wiring.clock, archive)
    classes = RuntimeClasses()
    by_image = RuntimeByImage(place.images) if options.runtime == "auto" else None
    image_pages = own_pages.images_page(place.images, _default(options), by_image)
    pages = {own_pages.FAILED: own_pages.failed_page(archive), own_pages.IMAGES: image_pages}
    plane.api.use_node(NodeParts(door, pages))
    facts = NodeFacts(
        name,
        allocatable=amounts.amounts,
        runtime=_default(options),
        by_image=by_image,
        classes=classes,
        isolation=options.isolation,
        data_directory=root.parent,
    )

    async def can_mount() -> bool:
        return (await runtimes["process"].features()).mounts

    async def strongest_walls() -> str:
        return (await runtimes["process"].features()).strongest

    preparer = Preparer(
        client,
        clock=wiring.clock,
        root=root / "pods",
        server=place.server,
        node=facts,
        in_thread=asyncio.to_thread,
        can_mount=can_mount,
        strongest_walls=strongest_walls,
        images=place.images,
    )
    agent = Agent(
        wiring.context(client, wiring.reasons.teller("pod", "node")),
        name=name,
        runtimes=runtimes,
        preparer=preparer,
        root=root,
        capacity=amounts,
        in_thread=asyncio.to_thread,
        machine=machine.described(),
        archive=archive,
        free=partial(free_on, root),
        classes=classes,
        by_image=by_image,
    )
    following = asyncio.create_task(place.images.follow(wiring.clock), name="images")
    try:
        await agent.run(on_stop="kill" if options.in_memory else options.on_stop, ready=ready)
    finally:
        await cancelled([following])


def _runtimes(options: Options, root: Path) -> dict[str, Runtime]:
    """The runtimes by name, the default one first."""
    default = _default(options)
    from longshore.node.runtimes.process import ProcessRuntime

    hidden = SecretPlaces(root.parent, options.certificates)
    process = ProcessRuntime(
        root / "keeper",
        owned=options.in_memory,
        hidden=hidden,
        isolation=options.isolation,
    )
    made: dict[str, Runtime] = {"process": process}
    if default == "podman" or shutil.which("podman"):
        from longshore.node.runtimes.podman import PodmanRuntime

        made["podman"] = PodmanRuntime(root / "podman", hidden=hidden)
    return {default: made[default], **made}


def _default(options: Options) -> str:
    """The name of the default runtime, which the node needs."""
    return "process" if options.runtime == "auto" else options.runtime


class LocalDirectories:
    """The directories under `root`, which only longshore's user can read."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def path(self, name: str) -> str:
        return str(self._root / name)

    def make(self, name: str) -> str:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._root / name
        path.mkdir(exist_ok=True)
        path.chmod(0o777)
        return str(path)

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(file_trees.remove_tree, self._root / name)
