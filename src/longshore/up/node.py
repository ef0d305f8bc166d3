"""Wires the node of one longshore: its engines, what pods are prepared with, and the agent that runs them."""

from __future__ import annotations

import asyncio
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from longshore.plane.supervising import cancelled
from longshore.up import failed_pods, image_page, machine

if TYPE_CHECKING:
    from longshore.node.images.images_file import ImagesFile
    from longshore.node.preparing.types import Server
    from longshore.node.runtime import Runtime
    from longshore.plane.plane import Plane
    from longshore.up.options import Options


class Place(msgspec.Struct, frozen=True):
    """The node's place: its directory, the server its pods may ask, and the meaning of images here."""

    directory: Path
    server: Server
    images: ImagesFile


async def run(options: Options, place: Place, plane: Plane, ready: asyncio.Event) -> None:
    """Runs the node until cancelled, and opens the API's door to its pods."""
    from longshore.node.agent import Agent
    from longshore.node.archive import Archive
    from longshore.node.disk_pressure import free_on
    from longshore.node.engine_by_image import EngineByImage
    from longshore.node.preparing.preparer import Preparer
    from longshore.node.preparing.types import NodeFacts
    from longshore.node.runtime_classes import RuntimeClasses
    from longshore.node.serving.followed_engine import Watched
    from longshore.node.serving.node_access import Door

    client, wiring, api = plane.client, plane.wiring, plane.api
    root = place.directory
    root.mkdir(mode=0o700, exist_ok=True)
    amounts = machine.capacity(root, declared=options.node_capacity)
    engines = {name: Watched(engine) for name, engine in _engines(options, root).items()}
    name = machine.name()
    archive = Archive(root / "archive", options.retention)
    api.door = Door(name, tuple(engines.values()), root, wiring.clock, archive)
    api.pages[failed_pods.PREFIX] = failed_pods.page(archive)
    classes = RuntimeClasses()
    by_image = EngineByImage(place.images) if options.runtime == "auto" else None
    api.pages[image_page.PREFIX] = image_page.page(place.images, _default(options), by_image)
    facts = NodeFacts(
        name,
        allocatable=amounts.amounts,
        engine=_default(options),
        by_image=by_image,
        classes=classes,
        isolation=options.isolation,
    )

    async def can_mount() -> bool:
        return (await engines["process"].features()).mounts

    async def strongest_walls() -> str:
        return (await engines["process"].features()).strongest

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
        runtimes=engines,
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


def _engines(options: Options, root: Path) -> dict[str, Runtime]:
    """The default one first."""
    default = _default(options)
    from longshore.node.runtimes.process import ProcessRuntime

    process = ProcessRuntime(
        root / "keeper", owned=options.in_memory, hidden=(root.parent,), isolation=options.isolation
    )
    made: dict[str, Runtime] = {"process": process}
    if default == "podman" or shutil.which("podman"):
        from longshore.node.runtimes.podman import PodmanRuntime

        made["podman"] = PodmanRuntime(root / "podman")
    return {default: made[default], **made}


def _default(options: Options) -> str:
    """The engine that the node cannot do without."""
    return "process" if options.runtime == "auto" else options.runtime
