"""The world and the HTTP server of a cluster for tests. Runs on the cluster's event loop.

Parts of it can die and start again over the same objects: the controllers, the whole server (on its old
port), and, with the objects of a snapshot, everything. The scripted machine survives all of that, as
containers survive `kill -9` of longshore.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from longshore.api.resources import Resource
from longshore.api.retention import Retention
from longshore.api.types import Obj
from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.http.listener import Listener
from longshore.apiserver.http.timeouts import Timeouts
from longshore.client import ask
from longshore.client.local import LocalClient
from longshore.node.capacity import Capacity
from longshore.plane import bootstrap
from longshore.plane.plane import NodeFactory
from longshore.scripts.pod_rules import Scripts
from longshore.scripts.runs import Run
from longshore.scripts.spreads import seconds
from longshore.store import Key
from longshore.testing import silent_node
from longshore.testing.cluster_snapshots import CutStore
from longshore.testing.held_loop import ClientClock, HeldLoop
from longshore.testing.identity import Identity
from longshore.testing.injected_faults import Faults, StruckClient
from longshore.testing.observed_front import ObservedFront
from longshore.testing.scripted_answers import HandAnswer
from longshore.testing.scripted_node import ScriptedNode
from longshore.testing.seen_requests import SeenRequests
from longshore.testing.settings import ClusterSettings
from longshore.testing.still_time import StillTime
from longshore.testing.world import MemoryDirectories, SeededKeys, World
from longshore.up import listening
from longshore.up.keys import RsaKeys
from longshore.up.node import LocalDirectories

if TYPE_CHECKING:
    from longshore.machinery.time.clock import Clock
    from longshore.testing.language_door import LanguageDoor

CAPACITY: Final = Capacity({"cpu": "1000", "memory": "4Ti", "ephemeral-storage": "64Ti", "pods": "10000"})
"""The node's capacity, larger than most tests need."""
_NEVER_SECONDS: Final = 1e9
_PATIENT: Final = Timeouts(**dict.fromkeys(Timeouts._fields, _NEVER_SECONDS))._replace(stop=0.0)
"""Timeouts that never end a request: on the virtual clock a month may pass before a client's next byte."""
_BRISK: Final = Timeouts(stop=0.0)


class Installation:
    """The running parts of a cluster: call `start`, and `stop` at the end."""

    def __init__(self, settings: ClusterSettings, clock: Clock, directory: Path, identity: Identity) -> None:
        self.settings, self.clock, self.directory = settings, clock, directory
        self.rng = random.Random(settings.seed)
        self.token = secrets.token_hex(16)
        self.port = 0
        self.door: LanguageDoor | None = None
        self.scripts: Scripts = Scripts(random.Random(settings.seed), default=Run())
        self.node = ScriptedNode(clock, self.scripts, capacity=CAPACITY, root=directory / "node")
        self.requests, self.faults = SeenRequests(), Faults(clock)
        self._identity = identity
        self._key = secrets.token_bytes(32)
        is_real = settings.node == "process"
        self._volumes = LocalDirectories(directory / "volumes") if is_real else MemoryDirectories()
        self._keys = RsaKeys() if is_real else SeededKeys(self.rng)
        self._serving, self._running = AsyncExitStack(), AsyncExitStack()
        self.store = CutStore.of()
        self.answers: list[HandAnswer] = []
        """Answers by hand."""
        self._silence: asyncio.Task[None] | None = None
        """The task that simulates a machine that is down."""
        self.still = StillTime(clock, seconds(settings.patience))
        self.mistake: Exception | None = None
        """The first error of the test's own code, such as a script function, that is not raised yet."""

    @property
    def url(self) -> str:
        return f"https://{listening.LOOPBACK}:{self.port}"

    # ---- beginning and end

    async def start(self) -> None:
        """Starts all parts and returns when they are ready."""
        self._serve()
        await self.plane.prepare()
        await self._listen()
        await bootstrap.service(self.plane.client, listening.LOOPBACK, self.port)
        await self._run()

    async def stop(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        await self.pause()
        await self.store.close()

    # ---- parts that die and come back

    async def crash_controllers(self) -> None:
        """Controllers, schedulers and the node's agent die at any point of their work, and start again from
        stored objects only. Clients notice nothing."""
        await self._running.aclose()
        self._new_plane()
        await self._run()

    async def restart(self) -> None:
        """The whole server ends, with all connections, and starts again on its port."""
        await self.pause()
        self._serve()
        await self._listen()
        await self._run()

    async def pause(self) -> None:
        """Ends all parts except the store and the machine, until `resume`."""
        await self._serving.aclose()
        await self._running.aclose()

    async def resume(self, store: CutStore) -> None:
        """Starts everything again over the objects of `store`."""
        await self.store.close()
        self.store = store
        self._serve()
        await self._listen()
        await self._run()

    async def crash_node(self) -> None:
        """Crashes the node's machine: its agent starts again, and the exit codes of its containers are
        lost."""
        await self._running.aclose()
        self.node.machine.lose()
        self._new_plane()
        await self._run()

    def lose_node(self, noticed: float) -> None:
        """Takes the node's machine down. The cluster notices after `noticed` seconds; the machine is up again
        once its pods are evicted."""
        self.node.machine.lose()
        self._silence = asyncio.ensure_future(self._silent(noticed))

    async def _silent(self, noticed: float) -> None:
        down = noticed + silent_node.EVICTING_SECONDS
        await silent_node.play(self.own_client, self.clock, self.node.name, noticed, down)
        await self.crash_node()

    # ---- looking and waiting

    def blame(self, err: Exception) -> None:
        """Notes an error of the test's own code. The next call that lets time pass raises it."""
        self.mistake = self.mistake or err

    def unused(self) -> list[str]:
        """The scripts, answers and faults of the test that matched nothing."""
        scripts = self.scripts
        rules = [rule for rule in (*scripts.rules, *scripts.commands) if rule not in scripts.met]
        answers = [str(each) for each in self.answers if not each.happened]
        return [*map(str, rules), *answers, *(str(each) for each in self.faults.ordered if not each.happened)]

    def stored(self, kind: tuple[str, str], name: str, namespace: str) -> Obj | None:
        """The stored object as it is now; None if there is none."""
        row = ask.built_in(*kind)
        assert row is not None, "a kind of our own table"
        return self.stored_row(row, name, namespace)

    def stored_row(self, row: Resource, name: str, namespace: str) -> Obj | None:
        """The stored object of a served resource; None if there is none."""
        entry = self.store.get(Key(row.storage, namespace, name))
        return entry.obj if entry is not None else None

    async def until(self, is_there: Callable[[], bool], seconds: float) -> bool:
        """Waits until `is_there()` is true, for at most `seconds`, and checks it at every change. Returns
        whether it was true."""
        loop = asyncio.get_running_loop()
        if isinstance(loop, HeldLoop):
            return await loop.advance(seconds, is_there)
        end = self.clock.monotonic() + seconds
        while not is_there():
            left = end - self.clock.monotonic()
            if left <= 0:
                return False
            try:
                async with self.clock.timeout(left):
                    await self.store.reached(self.store.revision + 1)
            except TimeoutError:
                return is_there()
        return True

    # ---- steps

    def _serve(self) -> None:
        """Makes a new API, a plane and a front over the store, and starts none of them."""
        tokens = Tokens(self.store, admin_token=self.token, key=self._key, clock=self.clock.timestamp)
        quiet = self.settings.clock == "virtual"
        loop = asyncio.get_running_loop()
        parts = ApiParts(
            self.store,
            self.clock,
            self.rng,
            tokens=tokens,
            quiet_watches=quiet,
            volcano=self.settings.volcano,
            client_clock=ClientClock(loop) if isinstance(loop, HeldLoop) else None,
        )
        self.api = Api(parts)
        self.own_client = LocalClient(self.api, manager="longshore-testing")
        self._new_plane()
        self.front = ObservedFront(
            self.api, self.clock, self.requests, self.faults, self.still, self.answers, self.door
        )

    def _new_plane(self) -> None:
        self.world = World(
            self.clock,
            rng=self.rng,
            store=self.store,
            nodes=[self.node] if self.settings.node == "scripted" else [],
            api=self.api,
            client=StruckClient(LocalClient(self.api), self.clock, self.faults),
            controllers=self.settings.running_controllers,
            keys=self._keys,
            volumes=self._volumes,
            ca=self._identity.ca.decode(),
            retention=Retention(event_age=_NEVER_SECONDS),
        )
        self.plane = self.world.plane

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        is_held = isinstance(loop, HeldLoop)
        listener = Listener(
            lambda: self.front, tls=self._identity.tls, timeouts=_PATIENT if is_held else _BRISK
        )
        self.port = await listening.start(listener, (), self.port)
        self._serving = AsyncExitStack()
        if not isinstance(loop, HeldLoop):
            self._serving.push_async_callback(listener.close)
        else:
            # Closing gives clients a moment to hang up, so time has to pass meanwhile.
            self._serving.push_async_callback(lambda: loop.let_pass(listener.close()))
            self.front.outside.listener = listener
            loop.outside = self.front.outside

    async def _run(self) -> None:
        self._running = AsyncExitStack()
        node = self._process_node() if self.settings.node == "process" else None
        await self._running.enter_async_context(self.world.running(node, is_new=False))

    def _process_node(self) -> NodeFactory:
        from longshore.node.images import images_file
        from longshore.node.preparing.types import Server
        from longshore.up import files, machine, node
        from longshore.up.options import Options

        if sys.platform != "linux":
            raise RuntimeError('node="process" needs Linux, whose processes it runs; take node="scripted"')
        server = Server(listening.LOOPBACK, self.port, self.plane.parts.ca)
        images = images_file.ImagesFile(files.default_data_dir() / images_file.NAME)
        place = node.NodePlace(machine.name(), self.directory / "node", server, images)
        return partial(node.run, Options(in_memory=True, on_stop="kill", isolation="process"), place)
