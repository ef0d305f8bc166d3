"""Startup, liveness and readiness probes, and the postStart hook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.machinery.time.clock import RealClock
from longshore.node.probes import hooks
from longshore.node.runtime import Key
from longshore.testing.scripted_runtime import Exec, Run, ScriptedMachine, ScriptedRuntime
from support.node_world import World, scripted, told

NEVER = scripted(main=Run(None, on_term=1.0))


def probed(**probes: Obj) -> list[Obj]:
    return [{"name": "main", **probes}]


def by(ok: Callable[[float], bool], world: World) -> None:
    """Commands succeed when `ok` of the time says so."""
    world.machine.execs = lambda key, command: Exec(0 if ok(world.clock.monotonic()) else 1, "sorry")


async def main(world: World) -> Obj:
    status = await world.status()
    found: Obj = (status.get("containerStatuses") or [{}])[0]
    return found


def ask(**more: Any) -> Obj:
    return {"exec": {"command": ["ask"]}, **more}


def test_a_container_is_ready_when_its_readiness_probe_says_so_and_not_before_or_after() -> None:
    async def story(world: World) -> None:
        by(lambda now: 12 < now < 40, world)
        await world.create(containers=probed(readinessProbe=ask(periodSeconds=5, failureThreshold=2)))
        await world.phase("Running")
        await world.clock.sleep(5)
        assert (await main(world))["ready"] is False
        status = await world.status()
        (ready,) = [c for c in status["conditions"] if c["type"] == "Ready"]
        assert ready["reason"] == "ContainersNotReady"
        assert ready["message"] == "containers with unready status: [main]"
        await world.clock.sleep(12)
        assert (await main(world))["ready"] is True
        await world.clock.sleep(25)
        assert (await main(world))["ready"] is True, "one failure is not enough"
        await world.clock.sleep(8)
        assert (await main(world))["ready"] is False
        assert (await main(world))["restartCount"] == 0
        assert ("Unhealthy", "Readiness probe failed: sorry") in await world.events()

    told(story, NEVER)


def test_a_container_whose_liveness_probe_fails_is_stopped_and_restarted() -> None:
    async def story(world: World) -> None:
        by(lambda now: now < 20, world)
        probe = ask(periodSeconds=5, failureThreshold=3)
        await world.create(restart="Always", containers=probed(livenessProbe=probe))

        async def again() -> bool:
            return (await main(world)).get("restartCount") == 1

        await world.until(again)
        assert 30 <= world.clock.monotonic() < 40
        assert [number for _, _, number in world.machine.signals] == [15]
        killing = ("Killing", "Container main failed liveness probe, will be restarted")
        assert killing in await world.events()

    told(story, NEVER)


def test_a_probe_can_have_a_grace_period_of_its_own() -> None:
    async def story(world: World) -> None:
        by(lambda now: False, world)
        probe = ask(periodSeconds=5, failureThreshold=1, terminationGracePeriodSeconds=4)
        await world.create(containers=probed(livenessProbe=probe), terminationGracePeriodSeconds=500)
        await world.phase("Failed")
        (asked, _, _), (killed, _, _) = world.machine.signals
        assert 3.9 < killed - asked < 4.5

    told(story, scripted(main=Run(None, on_term=None)))


def test_other_probes_wait_for_the_startup_probe() -> None:
    async def story(world: World) -> None:
        asked: list[str] = []

        def execs(key: Key, command: tuple[str, ...]) -> Exec:
            asked.append(command[0])
            return Exec(0 if command[0] != "startup" or world.clock.monotonic() > 10 else 1)

        world.machine.execs = execs
        probes = {
            "startupProbe": {"exec": {"command": ["startup"]}, "periodSeconds": 1, "failureThreshold": 30},
            "livenessProbe": {"exec": {"command": ["live"]}, "periodSeconds": 1},
            "readinessProbe": {"exec": {"command": ["ready"]}, "periodSeconds": 1},
        }
        await world.create(containers=probed(**probes))
        await world.clock.sleep(5)
        assert set(asked) == {"startup"}
        assert (await main(world))["started"] is False
        await world.clock.sleep(10)
        assert (await main(world))["started"] is (await main(world))["ready"] is True
        assert {"live", "ready"} <= set(asked)
        count = asked.count("startup")
        await world.clock.sleep(10)
        assert asked.count("startup") == count

    told(story, NEVER)


def test_a_startup_probe_that_never_succeeds_ends_the_container() -> None:
    async def story(world: World) -> None:
        by(lambda now: False, world)
        await world.create(containers=probed(startupProbe=ask(periodSeconds=2, failureThreshold=3)))
        await world.phase("Failed")
        killing = ("Killing", "Container main failed startup probe, will be restarted")
        assert killing in await world.events()

    told(story, NEVER)


def test_a_probe_that_takes_longer_than_its_time_limit_has_failed() -> None:
    async def story(world: World) -> None:
        world.machine.execs = lambda key, command: Exec(seconds=3.0)
        await world.create(containers=probed(readinessProbe=ask(timeoutSeconds=2)))
        await world.clock.sleep(8)
        assert (await main(world))["ready"] is False
        assert (
            "Unhealthy",
            'Readiness probe failed: command timed out: "ask" timed out after 2s',
        ) in await world.events()

    told(story, NEVER)


def test_a_container_is_started_once_its_post_start_hook_is_done() -> None:
    async def story(world: World) -> None:
        world.machine.execs = lambda key, command: Exec(seconds=5.0)
        hook = {"postStart": {"exec": {"command": ["hello"]}}}
        await world.create(containers=probed(lifecycle=hook))
        await world.clock.sleep(3)
        assert (await main(world))["started"] is False
        await world.clock.sleep(3)
        assert (await main(world))["started"] is (await main(world))["ready"] is True

    told(story, NEVER)


def test_a_container_whose_post_start_hook_fails_is_stopped() -> None:
    async def story(world: World) -> None:
        world.machine.execs = lambda key, command: Exec(1, "no")
        await world.create(containers=probed(lifecycle={"postStart": {"exec": {"command": ["hello"]}}}))
        await world.phase("Failed")
        assert ("FailedPostStartHook", "PostStartHook failed: no") in await world.events()

    told(story, NEVER)


def test_a_post_start_hook_that_fails_after_its_container_ended_does_not_stop_the_next_run() -> None:
    """As one does that is cut off by the end of its container, while the next run is awaited."""

    async def story(world: World) -> None:
        world.machine.execs = lambda key, command: Exec(1, seconds=4.0) if key.attempt < 2 else Exec(0)
        hook = {"postStart": {"exec": {"command": ["hello"]}}}
        await world.create(restart="Always", containers=probed(lifecycle=hook))
        await world.clock.sleep(60)
        assert (await main(world))["restartCount"] == 2
        assert (await main(world))["ready"] is True
        assert world.machine.signals == []

    told(story, lambda container: Run(1.0, code=1) if container.key.attempt < 2 else Run(None))


class Page(asyncio.Protocol):
    """Answers any request with one code."""

    def __init__(self, code: int, seen: list[bytes]) -> None:
        self.code, self.seen = code, seen

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.seen.append(data)
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.write(f"HTTP/1.1 {self.code} X\r\nContent-Length: 0\r\n\r\n".encode())
        self.transport.close()


@pytest.mark.parametrize(("code", "ok"), [(200, True), (302, True), (404, False), (500, False)])
def test_a_page_answers_well_from_200_to_399(code: int, ok: bool) -> None:
    async def main() -> None:
        seen: list[bytes] = []
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Page(code, seen), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        handler = {"httpGet": {"port": "web", "path": "/up", "httpHeaders": [{"name": "x-a", "value": "b"}]}}
        result = await hooks.run(handler, _target(port))
        assert result.ok is ok
        assert ok or result.message == f"HTTP probe failed with statuscode: {code}"
        assert seen[0].startswith(b"GET /up HTTP/1.1\r\n")
        assert b"x-a: b\r\n" in seen[0]
        server.close()
        await server.wait_closed()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("healthz", "/healthz"),
        ("/a b/é", "/a%20b/%C3%A9"),
        ("/x?y=1%20#z", "/x?y=1%20"),
        ("/\r\nX: y", "/%0D%0AX:%20y"),
    ],
)
def test_a_path_is_sent_as_clients_send_it(path: str, sent: str) -> None:
    async def main() -> None:
        seen: list[bytes] = []
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Page(200, seen), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert (await hooks.run({"httpGet": {"port": "web", "path": path}}, _target(port))).ok
        assert seen[0].startswith(f"GET {sent} HTTP/1.1\r\nHost: ".encode())
        server.close()
        await server.wait_closed()

    asyncio.run(main())


def test_a_port_that_is_open_answers_well_and_a_closed_one_does_not() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Page(200, []), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert (await hooks.run({"tcpSocket": {"port": port}}, _target(port))).ok
        server.close()
        await server.wait_closed()
        assert not (await hooks.run({"tcpSocket": {"port": port}}, _target(port))).ok
        assert not (await hooks.run({"tcpSocket": {"port": "other"}}, _target(port))).ok

    asyncio.run(main())


class Health(asyncio.Protocol):
    """As much of a gRPC server as answers one health check with a status."""

    def __init__(self, status: int) -> None:
        self.status = status

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert isinstance(self.transport, asyncio.Transport)
        if b"grpc.health.v1.Health/Check" not in data:
            return
        message = bytes([8, self.status])
        body = b"\0" + len(message).to_bytes(4, "big") + message
        settings = b"\0\0\0\x04\0\0\0\0\0"
        headers = b"\0\0\x01\x01\x04\0\0\0\x01\x88"
        answer = len(body).to_bytes(3, "big") + b"\0\0\0\0\0\x01" + body
        self.transport.write(settings + headers + answer)


@pytest.mark.parametrize(("status", "ok"), [(1, True), (2, False)])
def test_a_grpc_service_that_serves_answers_well(status: int, ok: bool) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: Health(status), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        result = await hooks.run({"grpc": {"port": port, "service": "x"}}, _target(port))
        assert result.ok is ok
        assert ok or result.message == 'service unhealthy (responded with "NOT_SERVING")'
        server.close()
        await server.wait_closed()

    asyncio.run(main())


def _target(port: int) -> hooks.Target:
    spec = {"name": "main", "ports": [{"name": "web", "containerPort": port}]}
    runtime = ScriptedRuntime(ScriptedMachine(clock=None))  # type: ignore[arg-type] # it is not asked anything
    return hooks.Target(runtime, Key("u", "main", 0), spec, "127.0.0.1", RealClock())
