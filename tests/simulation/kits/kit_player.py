"""Plays the scenarios that were recorded from real clusters in the simulator, and says what differs.

The runners are those of `tools/run-kits`, untouched. Here their threads are strands, their time is virtual
and their connections lead to an API in the same process.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from longshore.api import cron
from longshore.client.local import LocalClient
from longshore.machinery.background import cancelled
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.plane import controllers, scheduling
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import Parts, Plane
from longshore.plane.wiring import FOLLOWED_WHOLE
from longshore.store import Store
from longshore.testing import SeededKeys
from simulation.kits import strands, virtual_modules
from simulation.kits.in_process_connection import Connection
from simulation.kits.kit_faults import KitFaults
from support.places import RECORDED

JOBS: Final = RECORDED / "conformance"
VOLCANO: Final = RECORDED / "conformance-volcano"
_START_SECONDS: Final = 5.0
"""Until all parts have begun."""
_AWAY_SECONDS: Final = 1.0
"""No process is started at the moment at which another ends."""
_TROUBLED_TIMES: Final = 8.0
"""So much longer than the recording a scenario may take while things go wrong."""
_VOLCANO_AT_ONCE: Final = 14
"""As many as `tools/run-kits` plays: the scheduler tells of so many pods a second and no more."""

Problems = dict[str, list[str]]
"""By scenario: what differs from the recording."""


class Trouble(NamedTuple):
    """How bad the days of all controllers and schedulers are; see `KitFaults`."""

    seed: int
    rate: float
    happened: Counter[str]
    """What went wrong."""


class SimulatedServer:
    """A plane on the virtual clock that may be restarted."""

    def __init__(
        self, clock: VirtualClock, *, scheduler: bool, shortcuts: bool, trouble: Trouble | None
    ) -> None:
        self.clock = clock
        self._scheduler, self._shortcuts, self._trouble = scheduler, shortcuts, trouble
        self._store = Store.open(None)
        self._running = AsyncExitStack()
        self.plane = self._made()

    @property
    def client(self) -> LocalClient:
        return self.plane.client

    def _made(self) -> Plane:
        clock, rng = self.clock, self.clock.rng
        parts = Parts(
            self._store,
            clock,
            rng,
            cron.load("Etc/UTC"),
            SeededKeys(rng),
            tuple(name for name in CONTROLLERS if name != "volume"),  # which comes with a node
            scheduler=self._scheduler,
            shortcuts=self._shortcuts,
        )
        return Plane(parts)

    async def start(self) -> None:
        await self.plane.prepare()
        running = self.plane.running() if self._trouble is None else self._troubled(self._trouble)
        await self._running.enter_async_context(running)
        await self.clock.sleep(_START_SECONDS)

    @asynccontextmanager
    async def _troubled(self, trouble: Trouble) -> AsyncIterator[None]:
        """All parts of the plane, on a client that has bad days."""
        plane, parts = self.plane, self.plane.parts
        faulty = KitFaults(plane.client, self.clock, trouble.seed, rate=trouble.rate)
        faulty.happened = trouble.happened
        informers = Informers(faulty, clock=self.clock, rng=self.clock.rng, reads=FOLLOWED_WHOLE)
        wiring = replace(plane.wiring, informers=informers)
        tasks = controllers.start(parts.controllers, faulty, wiring)
        if parts.scheduler:
            tasks += scheduling.start(faulty, wiring)
        try:
            yield
        finally:
            await cancelled(tasks)

    async def restart(self) -> None:
        """Everything begins anew, with what is stored."""
        await self._running.aclose()
        await self.clock.sleep(_AWAY_SECONDS)
        self.plane = self._made()
        await self.start()

    async def close(self) -> None:
        await self._running.aclose()
        await self._store.close()


def play_jobs(
    chosen: Callable[[str], bool], *, shortcuts: bool = True, trouble: Trouble | None = None
) -> Problems:
    """The scenarios of Jobs, CronJobs and TTL, all at the same time; those that restart controllers after the
    others, one by one.
    """

    async def main(server: SimulatedServer) -> Problems:
        kit = _loaded("batch_conformance", JOBS / "run.py", server.clock)
        kit.Runner.do_restart_controller = lambda runner, _: _restarted(server, runner)
        options = argparse.Namespace(
            check=str(JOBS / "expected"),
            record="",
            keep=False,
            timeout_scale=1.0 if trouble is None else _TROUBLED_TIMES,
        )
        options.verbose = False
        suite = kit.Suite(_api(kit.Client, server)(), options)
        suite.run_id = "virtual"
        await strands.run(suite.prepare)
        scenarios = [doc for doc in kit.load_scenarios(JOBS / "scenarios") if chosen(doc["name"])]
        together = [doc for doc in scenarios if not kit.needs_restart(doc) and not doc.get("alone")]
        problems: Problems = {}

        def play(doc: Any) -> None:
            problems[doc["name"]] = kit.execute(suite, doc, options)[0]

        await asyncio.gather(*(strands.run(partial(play, doc)) for doc in together))
        for doc in scenarios:
            if doc not in together:
                await strands.run(partial(play, doc))
        return problems

    return _played(main, scheduler=False, shortcuts=shortcuts, trouble=trouble)


def play_volcano(
    chosen: Callable[[str], bool], *, shortcuts: bool = True, trouble: Trouble | None = None
) -> Problems:
    """The scenarios of Volcano, some at a time; then those with nodes of their own, one by one."""

    async def main(server: SimulatedServer) -> Problems:
        kit = _loaded("volcano_conformance", VOLCANO / "run.py", server.clock)
        options = kit.options(["--kubeconfig", "none"])
        session = kit.Session(_api(kit.Api, server)(), options)
        session.run_id = "virt"
        await strands.run(session.prepare)
        scenarios = [doc for doc in kit.load(VOLCANO / "scenarios") if chosen(doc["name"])]
        problems: Problems = {}

        def play(doc: Any) -> None:
            for _ in range(doc.get("attempts", 1)):  # where the reference itself races
                problems[doc["name"]] = kit.execute(session, doc, options)[0]
                if not problems[doc["name"]]:
                    return

        def alone(doc: Any) -> None:
            session.drained()
            session.set_nodes(doc["nodes"])
            strands.wait_for(server.clock.sleep(0.5))
            play(doc)

        await strands.run(lambda: session.set_nodes({session.node: kit.ROOMY}))
        at_once = asyncio.Semaphore(_VOLCANO_AT_ONCE)

        async def beside_others(doc: Any) -> None:
            async with at_once:
                await strands.run(partial(play, doc))

        await asyncio.gather(*(beside_others(doc) for doc in scenarios if not doc.get("nodes")))
        for doc in scenarios:
            if doc.get("nodes"):
                await strands.run(partial(alone, doc))
        return problems

    return _played(main, scheduler=True, shortcuts=shortcuts, trouble=trouble)


def _played(
    main: Callable[[SimulatedServer], Any], *, scheduler: bool, shortcuts: bool, trouble: Trouble | None
) -> Problems:
    async def whole(clock: VirtualClock) -> Problems:
        server = SimulatedServer(clock, scheduler=scheduler, shortcuts=shortcuts, trouble=trouble)
        await server.start()
        try:
            found: Problems = await main(server)
            return found
        finally:
            await cancelled([*virtual_modules.BESIDE])
            await server.close()

    return virtual.run(whole)


def _restarted(server: SimulatedServer, runner: Any) -> None:
    strands.wait_for(server.restart())
    runner.acted()


def _api(base: Any, server: SimulatedServer) -> Any:
    """The runner's client, with connections to the simulated server."""

    class Api(base):  # type: ignore[misc] # a class of a script that was loaded as it is
        def __init__(self) -> None:
            self.local = threading.local()
            self.headers = {"Accept": "application/json"}
            self.prefix = ""
            self._resources: dict[tuple[str, str], tuple[str, bool]] = {}
            self._discovering = virtual_modules.Lock()

        def connect(self, timeout: float) -> Connection:
            return Connection(server.client)

    return Api


def _loaded(name: str, file: Path, clock: VirtualClock) -> ModuleType:
    """A runner, in virtual time."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = {*sys.modules}
    with virtual_modules.instead(clock):
        spec.loader.exec_module(module)
    for other in {*sys.modules} - before:  # its own modules keep this clock: the next play loads them anew
        if Path(getattr(sys.modules[other], "__file__", None) or "/").is_relative_to(file.parent):
            del sys.modules[other]
    return module


def main() -> int:
    """`python -m simulation.kits.kit_player jobs|volcano [WORD…]`: scenarios with a word in their names."""
    play = {"jobs": play_jobs, "volcano": play_volcano}[sys.argv[1]]
    words = sys.argv[2:]
    problems = play(lambda name: not words or any(word in name for word in words))
    wrong = {name: said for name, said in sorted(problems.items()) if said}
    print(json.dumps(wrong, indent=1))
    print(f"{len(problems) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
