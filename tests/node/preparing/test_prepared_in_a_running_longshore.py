"""A Job with every kind of volume, run as a process by a whole longshore."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.client import Client, DeleteOptions
from longshore.node import eviction
from longshore.node.preparing.volumes import emptydir
from longshore.up.options import Options
from longshore.up.running import running
from support.places import PODS_PYTHON

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root, or user namespaces that may be off"),
]

PROGRAM = """
import json, os, socket, ssl, urllib.error, urllib.request
account = "/var/run/secrets/kubernetes.io/serviceaccount"
token = open(f"{account}/token").read()
trust = ssl.create_default_context(cafile=f"{account}/ca.crt")
server = "https://{KUBERNETES_SERVICE_HOST}:{KUBERNETES_SERVICE_PORT}".format(**os.environ)

def code(path):
    request = urllib.request.Request(server + path, headers={"Authorization": f"Bearer {token}"})
    try:
        return urllib.request.urlopen(request, context=trust).status
    except urllib.error.HTTPError as err:
        return err.code

def writable(path):
    try:
        open(f"{path}/try", "w").close()
        return True
    except OSError:
        return False

print(json.dumps({
    "files": [open(path).read() for path in ("/v/config/a", "/v/secret/s", "/v/down/name", "/v/one")],
    "writable": [writable(f"/v/{name}") for name in ("empty", "memory", "claim", "config")],
    "codes": [code(path) for path in (
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/secrets",
        "/apis/batch/v1/namespaces/kube-system/jobs",
    )],
    "address": socket.gethostbyname("boat.sea") == os.environ["POD_IP"],
    "name": socket.gethostname(),
}), file=open("/v/claim/result", "w"))
"""


def job() -> dict[str, Any]:
    volumes = {
        "config": {"configMap": {"name": "c"}},
        "secret": {"secret": {"secretName": "s"}},
        "down": {
            "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.namespace"}}]}
        },
        "empty": {"emptyDir": {}},
        "memory": {"emptyDir": {"medium": "Memory"}},
        "claim": {"persistentVolumeClaim": {"claimName": "data"}},
    }
    mounts = [{"name": name, "mountPath": f"/v/{name}"} for name in volumes]
    container = {
        "name": "main",
        "image": "none",
        "command": [PODS_PYTHON, "-c", PROGRAM.replace("$", "$$")],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "volumeMounts": [*mounts, {"name": "config", "mountPath": "/v/one", "subPath": "a"}],
    }
    pod = {
        "restartPolicy": "Never",
        "hostname": "boat",
        "subdomain": "sea",
        "volumes": [{"name": name, **source} for name, source in volumes.items()],
        "containers": [container],
    }
    return {"metadata": {"name": "all"}, "spec": {"backoffLimit": 0, "template": {"spec": pod}}}


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(20):
        while not (found := await condition()):  # noqa: ASYNC110 - seen from outside, there is no event
            await asyncio.sleep(0.05)
    return found


async def over(client: Client) -> dict[str, Any] | None:
    status: dict[str, Any] = (await client.get(("batch/v1", "Job"), "all", "default")).get("status") or {}
    return status if status.get("succeeded") or status.get("failed") else None


async def gone(client: Client, what: tuple[str, str], name: str, namespace: str = "") -> bool:
    try:
        await client.get(what, name, namespace)
    except StatusError as err:
        return err.code == 404
    return False


async def test_a_process_finds_its_volumes_its_name_and_the_api(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with running(Options(data_dir=data, port=0, on_stop="kill")) as longshore:
        client = longshore.client
        await client.create(("v1", "ConfigMap"), {"metadata": {"name": "c"}, "data": {"a": "1"}}, "default")
        secret = {"metadata": {"name": "s"}, "stringData": {"s": "2"}}
        await client.create(("v1", "Secret"), secret, "default")
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = ("v1", "PersistentVolumeClaim")
        await client.create(claim, {"metadata": {"name": "data"}, "spec": spec}, "default")
        await client.create(("batch/v1", "Job"), job(), "default")
        status = await until(lambda: over(client))
        logs = [path.read_text() for path in (data / "node" / "logs").rglob("*.log")]
        assert status.get("succeeded") == 1, logs
        volume = (await client.get(claim, "data", "default"))["spec"]["volumeName"]
        directory = data / "volumes" / volume
        assert json.loads((directory / "result").read_text()) == {
            "files": ["1", "2", "default", "1"],
            "writable": [True, True, True, False],
            "codes": [200, 403, 403],
            "address": True,
            "name": "boat",
        }
        everything = DeleteOptions(propagation="Background")
        await client.delete(("batch/v1", "Job"), "all", "default", everything)
        await client.delete(claim, "data", "default")
        await until(lambda: gone(client, ("v1", "PersistentVolume"), volume))
        assert not directory.exists()
        memory = emptydir.memory_root(Path("/dev/shm"), data / "node" / "pods")
        await until(lambda: asyncio.to_thread(lambda: not memory.exists()))


LOOKING = """
import os, socket
assert socket.gethostbyname(os.environ["HOSTNAME"]) == os.environ["POD_IP"], open("/etc/hosts").read()
assert socket.gethostbyname("db.local") == "10.1.2.3"
assert socket.gethostbyname("localhost") == "127.0.0.1"
"""


@pytest.mark.parametrize("level", ["none", "process", "full"])
async def test_a_pod_finds_itself_and_its_aliases_by_name_at_every_level(tmp_path: Path, level: str) -> None:
    container = {
        "name": "main",
        "image": "none",
        "command": [PODS_PYTHON, "-c", LOOKING],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    }
    aliases = [{"ip": "10.1.2.3", "hostnames": ["db.local"]}]
    pod = {"restartPolicy": "Never", "hostAliases": aliases, "containers": [container]}
    template = {"metadata": {"annotations": {"longshore.dev/isolation": level}}, "spec": pod}
    named = {**template, "spec": {**pod, "hostname": "driver"}}
    options = Options(data_dir=tmp_path / "data", port=0, on_stop="kill", isolation=level)
    async with running(options) as longshore:
        client = longshore.client
        for name, one in (("plain", template), ("named", named)):
            spec = {"backoffLimit": 0, "completions": 4, "parallelism": 2, "template": one}
            await client.create(("batch/v1", "Job"), {"metadata": {"name": name}, "spec": spec}, "default")

        async def all_over() -> list[int] | None:
            found = [(await client.get(("batch/v1", "Job"), name, "default")) for name in ("plain", "named")]
            ended = [(job.get("status") or {}) for job in found]
            over = [bool(status.get("succeeded") == 4 or status.get("failed")) for status in ended]
            return [status.get("failed", 0) for status in ended] if all(over) else None

        failed = await until(all_over)
        logs = [path.read_text() for path in (tmp_path / "data" / "node" / "logs").rglob("*.log")]
        assert failed == [0, 0], logs


def with_a_volume(at: str, level: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "none",
        "command": ["sh", "-c", f"echo hi >{at}/x && grep hi {at}/x"],
        "volumeMounts": [{"name": "v", "mountPath": at}],
    }
    pod = {"restartPolicy": "Never", "volumes": [{"name": "v", "emptyDir": {}}], "containers": [container]}
    template = {"metadata": {"annotations": {"longshore.dev/isolation": level}}, "spec": pod}
    return {"metadata": {"name": "all"}, "spec": {"backoffLimit": 0, "template": template}}


@pytest.mark.parametrize("level", ["none", "process", "full"])
@pytest.mark.parametrize("at", ["a new path", "over the data directory"])
async def test_a_volume_finds_its_place_where_the_data_directory_is_behind_a_link_or_says_why_not(
    tmp_path: Path, level: str, at: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    data = tmp_path / "link" / "data"
    async with running(Options(data_dir=data, port=0, on_stop="kill", isolation=level)) as longshore:
        client = longshore.client
        path = f"/new-{os.getpid()}" if at == "a new path" else str(tmp_path)
        await client.create(("batch/v1", "Job"), with_a_volume(path, level), "default")

        async def ended_or_waiting() -> Any:
            (pod,) = (await client.list(("v1", "Pod"), namespace="default")).items or [{}]
            states = (pod.get("status") or {}).get("containerStatuses") or [{}]
            return (states[0].get("state") or {}).get("waiting", {}).get("message") or await over(client)

        found = await until(ended_or_waiting)
        logs = [path.read_text() for path in (data / "node" / "logs").rglob("*.log")]
        if isinstance(found, str) and at == "over the data directory":
            assert found == (
                f"{tmp_path} is mounted over longshore's data directory, "
                "which is needed to make mount points; choose another mountPath, or another --data-dir"
            )
        else:
            assert isinstance(found, dict), found
            assert found.get("succeeded") == 1, logs


EXCEEDING: dict[str, Any] = {
    "on disk": ("/v", {"sizeLimit": "1Mi"}, {}, 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". '),
    "in memory": (
        "/v",
        {"medium": "Memory", "sizeLimit": "1Mi"},
        {},
        'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
    ),
    "in memory without a size": (
        "/v",
        {"medium": "Memory"},
        {"memory": "64Mi"},
        'Usage of EmptyDir volume "v" exceeds the limit "64Mi". ',
    ),
    "in a /tmp of its own": (
        "/tmp",
        {},
        {"ephemeral-storage": "1Mi"},
        'Container main exceeded its local ephemeral storage limit "1Mi". ',
    ),
    "in a /tmp of its own with a volume below it": (
        "/tmp",
        {},
        {"ephemeral-storage": "1Mi"},
        'Container main exceeded its local ephemeral storage limit "1Mi". ',
    ),
}


@pytest.mark.parametrize(("where", "source", "limits", "message"), EXCEEDING.values(), ids=EXCEEDING.keys())
async def test_a_pod_that_keeps_too_much_is_evicted(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    source: Any,
    limits: Any,
    message: str,
) -> None:
    monkeypatch.setattr(eviction, "CHECK_SECONDS", 0.5)
    job = with_a_volume("/tmp/below" if "below" in request.node.name else "/v", "full")
    pod = job["spec"]["template"]["spec"]
    pod["volumes"][0]["emptyDir"] = source
    pod["containers"][0]["resources"] = {"limits": limits}
    size = 80_000_000 if "memory" in limits else 3_000_000
    pod["containers"][0]["command"] = ["sh", "-c", f"head -c {size} /dev/zero >{where}/x; exec sleep 300"]
    async with running(Options(data_dir=tmp_path / "data", port=0, on_stop="kill")) as longshore:
        client = longshore.client
        await client.create(("batch/v1", "Job"), job, "default")

        async def evicted() -> str | None:
            found = (await client.list(("v1", "Pod"), namespace="default")).items
            ended = [each["status"] for each in found if each["status"].get("reason") == "Evicted"]
            return ended[0]["message"] if ended else None

        assert await until(evicted) == message
