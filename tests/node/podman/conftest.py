"""A podman that works, an image made of busybox, and an engine on them. Skips where there is none."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from longshore.node.runtime import CannotStart, Container, ContainerState, Key
from longshore.node.runtimes.podman import PodmanRuntime

BUSYBOX = "/bin/busybox"
_COMMANDS = ("sh", "cat", "echo", "sleep", "true", "id", "pwd", "tail", "printf", "stty", "grep")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The loop that longshore runs on: its pipes and sockets are not those of asyncio's own."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def image() -> Iterator[str]:
    if shutil.which("podman") is None:
        pytest.skip("there is no podman here; install it with: tools/install-podman")
    if not os.path.exists(BUSYBOX):
        pytest.skip(
            f"there is no static {BUSYBOX} to make an image of; install it with: tools/install-podman"
        )
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(BUSYBOX, "bin/busybox")
        for command in _COMMANDS:
            link = tarfile.TarInfo(f"bin/{command}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
        for directory in ("tmp", "data", "etc"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            archive.addfile(entry)
    name = f"localhost/longshore-test-{os.getpid()}:1"
    made = subprocess.run(
        [
            "podman",
            "import",
            "-q",
            "-c",
            'CMD ["echo", "the image says so"]',
            "-c",
            "ENV PATH=/bin",
            "-",
            name,
        ],
        input=content.getvalue(),
        capture_output=True,
    )
    if made.returncode:
        pytest.skip(f"podman does not work here: {made.stderr.decode().strip()}")
    yield name
    subprocess.run(["podman", "rmi", "--force", name], capture_output=True)


class Yard:
    def __init__(self, root: Path, image: str) -> None:
        self.root, self.image = root, image
        self.told: dict[Key, ContainerState] = {}
        self.runtime = PodmanRuntime(root / "podman")
        self.uid = str(uuid.uuid4())
        self.known: set[Key] = set()
        self._numbers = iter(range(1000))

    def container(self, *command: str, **more: Any) -> Container:
        name = more.pop("name", f"c{next(self._numbers)}")
        log = self.root / "logs" / name / "0.log"
        made = Container(Key(self.uid, name, 0), "ns", "p", self.image, command=command, log=log)
        self.known.add(made.key)
        return msgspec.structs.replace(made, **more)

    async def ended(self, key: Key) -> ContainerState:
        async with asyncio.timeout(20):
            while key not in self.told:  # noqa: ASYNC110 - the engine tells by a callback
                await asyncio.sleep(0.02)
        return self.told[key]

    async def run(self, *command: str, **more: Any) -> tuple[ContainerState, str]:
        """A container from its start to its end, and what it wrote."""
        container = self.container(*command, **more)
        await self.runtime.start(container)
        state = await self.ended(container.key)
        return state, self.text(container)

    def text(self, container: Container) -> str:
        lines = container.log.read_text().splitlines()
        return "".join(line.split(" ", 3)[3] + "\n" * (line.split(" ", 3)[2] == "F") for line in lines)

    def tell(self, state: ContainerState) -> None:
        assert state.key not in self.told, "told twice"
        self.told[state.key] = state

    async def again(self) -> list[ContainerState]:
        await self.runtime.close(kill=False)
        self.told.clear()
        self.runtime = PodmanRuntime(self.root / "podman")
        return await self.runtime.open(self.tell)


@pytest.fixture(scope="session")
def working(image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image, if a container of it can be started."""

    async def probe() -> None:
        yard = Yard(tmp_path_factory.mktemp("probe"), image)
        await yard.runtime.open(yard.tell)
        state, _ = await yard.run("true")
        assert state.exit_code == 0, state
        await yard.runtime.remove([state.key])
        await yard.runtime.close(kill=False)

    try:
        asyncio.run(probe())
    except CannotStart as problem:
        pytest.skip(f"podman cannot start containers here: {problem}")
    return image


@pytest.fixture
async def yard(anyio_backend: object, tmp_path: Path, working: str) -> AsyncIterator[Yard]:
    made = Yard(tmp_path, working)
    await made.runtime.open(made.tell)
    yield made
    await made.runtime.close(kill=True)
    await made.runtime.remove(made.known)
