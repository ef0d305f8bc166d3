"""Wires the node of one longshore: its engines, what pods are prepared with, and the agent that runs them."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longshore.up.supervising import supervised

if TYPE_CHECKING:
    from longshore.client import Client
    from longshore.node.preparing.types import Server
    from longshore.node.runtime import Runtime
    from longshore.node.serving.node_access import Door
    from longshore.up.controllers import Wiring
    from longshore.up.options import Options

_READY_SECONDS: Final = 10.0
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the node is: its directory, the server its pods may ask, and who shows its door to clients."""

    directory: Path
    server: Server
    show: Callable[[Door], None]


async def start(client: Client, wiring: Wiring, options: Options, place: Place) -> asyncio.Task[None]:
    """Starts the node and returns when it takes pods, or after some seconds; cancel the task to stop it."""
    ready = asyncio.Event()
    run = partial(_run, client, wiring, options, place, ready)  # its containers go on if it fails
    task = asyncio.create_task(supervised("the node", run, wiring.clock), name="node")
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await ready.wait()
    except TimeoutError:
        log.warning("the node is not ready yet; pods wait until it is")
    return task


async def _run(client: Client, wiring: Wiring, options: Options, place: Place, ready: asyncio.Event) -> None:
    from longshore.machinery.explanations import Explanations
    from longshore.node import agent, capacity
    from longshore.node.archive import Archive
    from longshore.node.preparing.preparer import Preparer
    from longshore.node.preparing.types import NodeFacts
    from longshore.node.serving.followed_engine import Watched
    from longshore.node.serving.node_access import Door

    root = place.directory
    root.mkdir(mode=0o700, exist_ok=True)
    amounts = capacity.of_machine(root, declared=options.node_capacity)
    engines = {name: Watched(engine) for name, engine in _engines(options, root).items()}
    name = node_name()
    archive = Archive(root / "archive")
    place.show(Door(name, tuple(engines.values()), root, wiring.clock, archive))
    facts = NodeFacts(name, allocatable=amounts.amounts, engine=options.runtime)

    async def can_mount() -> bool:
        return (await engines["process"].features()).mounts

    preparer = Preparer(
        client,
        clock=wiring.clock,
        root=root / "pods",
        server=place.server,
        node=facts,
        can_mount=can_mount,
    )
    explanations = Explanations()
    wiring.explain.tell("pods", "node", explanations.of)
    await agent.run(
        client,
        clock=wiring.clock,
        rng=wiring.rng,
        name=name,
        runtimes=engines,
        preparer=preparer,
        root=root,
        capacity=amounts,
        registry=wiring.registry,
        explanations=explanations,
        on_stop="kill" if options.in_memory else options.on_stop,
        ready=ready,
        archive=archive,
    )


def node_name() -> str:
    """This machine's name, as an object of the API can be called."""
    return re.sub("[^a-z0-9.-]+", "-", socket.gethostname().lower()).strip("-.") or "localhost"


def _engines(options: Options, root: Path) -> dict[str, Runtime]:
    """The default one first."""
    default = options.runtime
    from longshore.node.runtimes.process import ProcessRuntime

    made: dict[str, Runtime] = {"process": ProcessRuntime(root / "keeper", owned=options.in_memory)}
    if default == "podman" or shutil.which("podman"):
        from longshore.node.runtimes.podman import PodmanRuntime

        made["podman"] = PodmanRuntime(root / "podman")
    return {default: made[default], **made}
