"""All commands reach a server as the kubeconfig says: through its proxy, by the name of its certificate."""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from kubectl.recording_proxy import recording
from support.longshore_command import Command
from support.longshore_process import RunningLongshore, longshore_up

USER = "clerk:secret word"
_GRANTED = "Proxy-Authorization: Basic " + base64.b64encode(USER.encode()).decode()


class ConnectProxy(socketserver.ThreadingTCPServer):
    """An HTTP proxy with a password. Every name leads to this machine. CONNECT opens a tunnel; a plain
    request must name the whole URL."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[str] = []
        """The first line of each request that was passed on."""

    @property
    def url(self) -> str:
        return f"http://clerk:secret%20word@127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        lines = [line.decode("latin-1").strip() for line in iter(self.rfile.readline, b"\r\n")]
        if not lines:
            return
        method, target, version = lines[0].split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        if _GRANTED not in lines or not parts.port:
            code = "400 Bad Request" if _GRANTED in lines else "407 Proxy Authentication Required"
            self.wfile.write(f"HTTP/1.1 {code}\r\nContent-Length: 0\r\n\r\n".encode())
            return
        assert isinstance(self.server, ConnectProxy)
        self.server.seen.append(lines[0])
        with socket.create_connection(("127.0.0.1", parts.port)) as far:
            if method == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = parts.path + (f"?{parts.query}" if parts.query else "")
                kept = [line for line in lines[1:] if line != _GRANTED] + ["Connection: close"]
                far.sendall("\r\n".join([f"{method} {path} {version}", *kept, "", ""]).encode("latin-1"))
            back = threading.Thread(target=_copy, args=(far, self.connection), daemon=True)
            back.start()
            _copy(self.connection, far)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copies until one of the two ends, and then says so: a side that hears nothing would wait for ever."""
    with contextlib.suppress(OSError):
        while data := source.recv(2**16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def connect_proxy() -> Iterator[ConnectProxy]:
    with ConnectProxy() as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


# ---- tests

POD = """
apiVersion: v1
kind: Pod
metadata: {name: box}
spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sleep, "600"]}]}
"""


@pytest.fixture(scope="module")
def served() -> Iterator[RunningLongshore]:
    with longshore_up("--on-stop", "kill") as longshore:
        yield longshore


@pytest.fixture(scope="module")
def proxy() -> Iterator[ConnectProxy]:
    with connect_proxy() as proxy:
        yield proxy


@pytest.fixture(scope="module")
def command(
    served: RunningLongshore, proxy: ConnectProxy, tmp_path_factory: pytest.TempPathFactory
) -> Command:
    cluster = {**served.config["clusters"][0]["cluster"], "proxy-url": proxy.url}
    port = served.server.rpartition(":")[2]
    cluster |= {"server": f"https://far.invalid:{port}", "tls-server-name": "localhost"}
    made = _command(tmp_path_factory.mktemp("home"), {**served.config, "clusters": _named(cluster, served)})
    made.ok("apply", "-f", "-", stdin=POD)
    made.ok("wait", "--for=condition=Ready", "pod/box")
    return made


def _named(cluster: object, served: RunningLongshore) -> list[dict[str, object]]:
    return [{"name": served.config["clusters"][0]["name"], "cluster": cluster}]


def _command(home: Path, config: object) -> Command:
    (home / "kubeconfig").write_text(yaml.safe_dump(config))
    return Command(home, {"KUBECONFIG": str(home / "kubeconfig")})


def test_plain_requests_go_through_the_proxy(command: Command, proxy: ConnectProxy) -> None:
    assert command.ok("get", "pod", "-o", "name") == "pod/box\n"
    assert proxy.seen[-1].startswith("CONNECT far.invalid:")


def test_exec_goes_through_the_proxy(command: Command) -> None:
    assert command.ok("exec", "box", "--", "echo", "hello") == "hello\n"


def test_cp_goes_through_the_proxy(command: Command) -> None:
    (command.home / "there").write_text("content")
    command.ok("cp", "there", f"box:{command.home}/copied")
    command.ok("cp", f"box:{command.home}/copied", "back")
    assert (command.home / "back").read_text() == "content"


def test_the_refusal_of_exec_comes_through_the_proxy(command: Command) -> None:
    done = command("exec", "box", "-c", "main", "--", "no-such-program")
    assert done.exit != 0
    assert "cannot reach" not in done.stderr


def test_a_server_without_tls_is_reached_through_the_proxy(
    served: RunningLongshore, proxy: ConnectProxy, tmp_path: Path
) -> None:
    with recording(served) as plain:
        port = plain.url.rpartition(":")[2]
        cluster = {"server": f"http://far.invalid:{port}", "proxy-url": proxy.url}
        config = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "x", "context": {"cluster": "c"}}],
            "current-context": "x",
        }
        assert _command(tmp_path, config).ok("get", "ns", "default", "-o", "name") == "namespace/default\n"
    assert proxy.seen[-1].startswith("GET http://far.invalid:")
