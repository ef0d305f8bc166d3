"""Streams through Python's client libraries, each with its own idea of the protocol."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from typing import Any

import kr8s
import kubernetes
import kubernetes.stream
import pytest
from kr8s.asyncio.objects import Pod

from apiserver.streams.conftest import Stage
from apiserver.streams.test_kubectl_over_streams import echo_port, unused_port  # noqa: F401 - fixtures

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings(
        "ignore:Kubernetes version .* is not supported. Supported versions:UserWarning",
    ),
    # `kubernetes` leaves sockets to the collector, which is made to find them before the test is over.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def core(stage: Stage) -> Any:
    client = kubernetes.config.new_client_from_config(str(stage.longshore.kubeconfig))
    yield kubernetes.client.CoreV1Api(client)
    client.rest_client.pool_manager.clear()


def _exec(core: Any, *command: str, **more: Any) -> Any:
    options = {"stdin": False, "stdout": True, "stderr": True, "tty": False, **more}
    return kubernetes.stream.stream(
        core.connect_get_namespaced_pod_exec, "p", "default", command=list(command), **options
    )


async def test_kubernetes_learns_output_and_exit_code(stage: Stage, core: Any) -> None:
    await stage.pod()

    def run() -> tuple[str, str, int]:
        script = "read x; echo $x; echo oh >&2; exit 5"
        client = _exec(core, "sh", "-c", script, stdin=True, _preload_content=False)
        client.write_stdin("text as text\n")
        client.run_forever(timeout=60)
        found = client.read_stdout(), client.read_stderr(), client.returncode
        client.close()
        return found

    assert await asyncio.to_thread(run) == ("text as text\n", "oh\n", 5)


def _let_go(forward: Any) -> None:
    """The library leaves its sockets to the collector, and that warns."""
    for port in forward.local_ports.values():
        port.socket.close()
    for _ in range(200):
        if not forward.connected:
            break
        time.sleep(0.01)
    forward.websocket.close()
    for port in forward.local_ports.values():
        port.python.close()


async def test_kubernetes_forwards_ports(stage: Stage, core: Any, echo_port: int) -> None:  # noqa: F811
    await stage.pod()

    def run() -> bytes:
        forward = kubernetes.stream.portforward(
            core.connect_get_namespaced_pod_portforward, "p", "default", ports=str(echo_port)
        )
        joined = forward.socket(echo_port)
        joined.settimeout(5)
        joined.sendall(b"hello")
        answer = joined.recv(100)
        _let_go(forward)
        return bytes(answer)

    assert await asyncio.to_thread(run) == b"HELLO"


async def test_kubernetes_is_told_of_a_closed_port(stage: Stage, core: Any, unused_port: int) -> None:  # noqa: F811
    await stage.pod()

    def run() -> str:
        forward = kubernetes.stream.portforward(
            core.connect_get_namespaced_pod_portforward, "p", "default", ports=str(unused_port)
        )
        joined = forward.socket(unused_port)
        joined.settimeout(5)
        assert joined.recv(100) == b""
        _let_go(forward)
        return str(forward.error(unused_port))

    assert f"error forwarding port {unused_port} to pod p" in await asyncio.to_thread(run)


async def test_kubernetes_follows_logs(stage: Stage, core: Any) -> None:
    await stage.pod()
    stage.door.lines += [b"one\n", b"two\n"]
    assert await asyncio.to_thread(core.read_namespaced_pod_log, "p", "default") == "one\ntwo\n"
    stage.door.ended.set()

    def follow() -> list[str]:
        return list(kubernetes.watch.Watch().stream(core.read_namespaced_pod_log, "p", "default"))

    assert await asyncio.to_thread(follow) == ["one", "two"]


@pytest.fixture
async def pod(stage: Stage) -> Any:
    await stage.pod()
    api: Any = await kr8s.asyncio.api(kubeconfig=str(stage.longshore.kubeconfig))
    yield await Pod.get("p", namespace="default", api=api)
    await api._session.aclose()  # kr8s keeps it for the life of the process and has no word to close it


async def test_kr8s_executes(pod: Any) -> None:
    done = await pod.exec(["sh", "-c", "echo hello; exit 4"], check=False)
    assert (done.stdout, done.returncode) == (b"hello\n", 4)


async def test_kr8s_forwards_ports(pod: Any, echo_port: int, unused_port: int) -> None:  # noqa: F811
    # Not `local_port="auto"`: that draws among the ports which the system gives to outgoing connections.
    async with pod.portforward(remote_port=echo_port, local_port=unused_port) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello")
        assert await asyncio.wait_for(reader.read(100), 5) == b"HELLO"
        writer.close()


async def test_kr8s_reads_logs(stage: Stage, pod: Any) -> None:
    stage.door.lines += [b"one\n", b"two\n"]
    assert [line async for line in pod.logs()] == ["one", "two"]
