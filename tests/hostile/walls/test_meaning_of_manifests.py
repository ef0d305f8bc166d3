"""What a manifest says of walls is what its processes find: levels, host namespaces, rights, the network.

One longshore as it starts by itself runs all the pods; each tells what it sees.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longshore.node.keeper import linux
from longshore.node.keeper.frames import USUAL_CAPABILITIES
from support.longshore_command import Command

TELL = """
me=$$
for kind in pid ipc uts mnt net; do echo $kind=$(readlink /proc/self/ns/$kind); done
sed -n 's/^\\(CapBnd\\|NoNewPrivs\\|Seccomp\\):\\t/\\1=/p' /proc/$me/status
echo session=$(cut -d' ' -f6 /proc/$me/stat) self=$me | tr ' ' '\\n'
echo interfaces=$(sed -n 's/^ *\\([^ :]*\\):.*/\\1/p' /proc/net/dev | tr '\\n' ' ')
echo loopback=$(bash -c 'echo > /dev/udp/127.0.0.1/9' 2>/dev/null && echo up)
"""
NET_RAW, SYS_ADMIN = 1 << 13, 1 << 21
Facts = dict[str, str]


def _pod(
    name: str, annotations: dict[str, str] | None = None, context: Any = None, **spec: Any
) -> dict[str, Any]:
    names = spec.pop("containers", ["main"])
    wait = "sleep 1000" if spec.pop("waits", False) else ""
    containers = [
        {"name": each, "image": "none", "command": ["sh", "-c", TELL.replace("$$", "$$$$") + wait]}
        for each in names
    ]
    if context is not None:
        containers[0]["securityContext"] = context
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": containers, **spec},
    }


PODS = [
    _pod("plain"),
    _pod("process", {"longshore.dev/isolation": "process"}),
    _pod("none", {"longshore.dev/isolation": "none"}),
    _pod("host-pid", hostPID=True),
    _pod("host-ipc", hostIPC=True),
    _pod("two", containers=["one", "two"]),
    _pod("sharing", containers=["one", "two"], shareProcessNamespace=True),
    _pod("silent", {"longshore.dev/network": "none"}),
    _pod("silent-two", {"longshore.dev/network": "none"}, containers=["one", "two"]),
    _pod("privileged", context={"privileged": True}),
    _pod("more", context={"capabilities": {"add": ["NET_RAW", "SYS_ADMIN"]}}),
    _pod("fewer", context={"capabilities": {"drop": ["ALL"]}}),
    _pod("unfiltered", context={"seccompProfile": {"type": "Unconfined"}}),
    _pod("waiting", waits=True),
]


@pytest.fixture(scope="module")
def longshore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    command = Command(tmp_path_factory.mktemp("manifests"))
    with command.start("up", "--port", "0", "--on-stop", "kill", stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            assert "is ready" in server.stdout.readline()
            if "isolation full" not in command.ok("status"):
                pytest.skip("this system allows no walls of level full")
            manifest = {"apiVersion": "v1", "kind": "List", "items": PODS}
            command.ok("apply", "-f", "-", stdin=json.dumps(manifest))
            yield command
        finally:
            server.terminate()


def _parsed(text: str) -> Facts:
    return dict(line.split("=", 1) for line in text.splitlines())


def seen(longshore: Command, pod: str, container: str = "main") -> Facts:
    """What a pod told when it had ended."""
    longshore.ok("wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=50s", f"pod/{pod}")
    return _parsed(longshore.ok("logs", pod, "-c", container))


def here(kind: str) -> str:
    return os.readlink(f"/proc/self/ns/{kind}")


def test_a_pod_that_says_nothing_has_the_strongest_walls(longshore: Command) -> None:
    found = seen(longshore, "plain")
    assert [kind for kind in ("pid", "ipc", "uts", "mnt") if found[kind] == here(kind)] == []
    assert found["net"] == here("net")
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
    assert found["session"] == found["self"]
    assert int(found["CapBnd"], 16) == USUAL_CAPABILITIES & linux.bounding_set()
    assert not int(found["CapBnd"], 16) & SYS_ADMIN


def test_the_annotation_chooses_the_level_of_one_pod(longshore: Command) -> None:
    found = seen(longshore, "process")
    assert found["pid"] != here("pid")
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "0")
    found = seen(longshore, "none")
    assert found["pid"] == here("pid")
    assert found["NoNewPrivs"] == "0"


def test_host_pid_and_host_ipc_open_that_wall_and_no_other(longshore: Command) -> None:
    found = seen(longshore, "host-pid")
    assert found["pid"] == here("pid")
    assert found["ipc"] != here("ipc")
    found = seen(longshore, "host-ipc")
    assert found["pid"] != here("pid")
    assert found["ipc"] == here("ipc")


def test_containers_of_a_pod_share_processes_only_when_asked_to(longshore: Command) -> None:
    one, two = (seen(longshore, "two", name) for name in ("one", "two"))
    assert one["pid"] != two["pid"]
    assert one["ipc"] == two["ipc"] != here("ipc")
    one, two = (seen(longshore, "sharing", name) for name in ("one", "two"))
    assert one["pid"] == two["pid"] != here("pid")


def test_without_a_network_there_is_loopback_alone_and_the_pod_has_it_together(longshore: Command) -> None:
    found = seen(longshore, "silent")
    assert found["net"] != here("net")
    assert found["interfaces"].split() == ["lo"]
    assert found["loopback"] == "up"
    one, two = (seen(longshore, "silent-two", name) for name in ("one", "two"))
    assert one["net"] == two["net"] != here("net")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no capabilities to give")
def test_rights_are_those_that_the_security_context_says(longshore: Command) -> None:
    every = linux.bounding_set()
    usual = USUAL_CAPABILITIES & every
    assert int(seen(longshore, "privileged")["CapBnd"], 16) == every
    assert seen(longshore, "privileged")["Seccomp"] == "0"
    assert int(seen(longshore, "more")["CapBnd"], 16) == (usual | NET_RAW | SYS_ADMIN) & every
    assert int(seen(longshore, "fewer")["CapBnd"], 16) == 0
    assert seen(longshore, "unfiltered")["Seccomp"] == "0"


def test_exec_is_behind_the_same_walls(longshore: Command) -> None:
    longshore.ok("wait", "--for=condition=Ready", "--timeout=50s", "pod/waiting")
    inside = _parsed(longshore.ok("exec", "waiting", "--", "sh", "-c", TELL))
    own = _parsed(longshore.ok("logs", "waiting"))
    for name in ("pid", "ipc", "uts", "mnt", "net", "CapBnd", "NoNewPrivs", "Seccomp"):
        assert inside[name] == own[name], name
    assert inside["pid"] != here("pid")


def test_a_command_of_run_has_processes_of_its_own_and_the_users_files(
    longshore: Command, tmp_path: Path
) -> None:
    file = tmp_path / "mine"
    file.write_text("of the user\n")
    said = longshore.ok("run", "--throw-away", "--", "sh", "-c", f"readlink /proc/self/ns/pid; cat {file}")
    namespace, text = said.splitlines()[:2]
    assert namespace != here("pid")
    assert text == "of the user"


def test_the_node_tells_its_level(longshore: Command) -> None:
    assert "isolation" in longshore.ok("describe", "node")
    assert "process.engines.longshore.dev/isolation: full" in longshore.ok("describe", "node")
