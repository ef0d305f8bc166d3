"""All commands reach a server as the kubeconfig says: through its proxy, by the name of its certificate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubectl.recording_proxy import recording
from support.connect_proxy import ConnectProxy, connect_proxy
from support.longshore_command import Command
from support.longshore_process import RunningLongshore, longshore_up

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
