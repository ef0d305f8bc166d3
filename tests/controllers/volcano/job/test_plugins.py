"""What the job plugins add to pods, and a plugin of somebody else's."""

from __future__ import annotations

import base64
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longshore.apiserver.admission.volcano import job as admitting
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job.pods import building, tasks
from longshore.controllers.volcano.plugins import PluginError
from longshore.controllers.volcano.plugins.ssh import config_of
from longshore.controllers.volcano.plugins.svc import hosts_of
from longshore.machinery.time import virtual
from longshore.scripts.pod_rules import Rule
from longshore.testing.stories import beside
from longshore.up.keys import new_key
from support.places import ROOT
from support.volcano_world import FOR_EVER, NS, a_world, controller

EXAMPLE = ROOT / "examples" / "volcano_plugin"


def a_task(name: str, replicas: int, **spec: Any) -> Any:
    containers = spec.pop("containers", [{"name": "main", "image": "i"}])
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": containers, **spec}}}


def a_job(*named: Any, **given: list[str]) -> Any:
    meta = {"name": "j", "namespace": "ns", "uid": "u"}
    return {"metadata": meta, "spec": {"tasks": [*named], "plugins": given}}


def a_pod(job: Any, task: str, index: int = 0) -> Any:
    found = tasks.find(job, task)
    assert found is not None
    pod = building.pod(job, found, index)
    for plugin in plugins.enabled(job):
        plugin.on_pod_create(pod, job)
    return pod


def env(pod: Any, part: str = "containers") -> dict[str, str]:
    return {e["name"]: e.get("value", "from a ConfigMap") for e in pod["spec"][part][0].get("env") or ()}


def test_env_tells_the_index_to_init_containers_too() -> None:
    job = a_job(a_task("w", 3, initContainers=[{"name": "first", "image": "i"}]), env=[])
    for part in ("containers", "initContainers"):
        assert env(a_pod(job, "w", 2), part) == {"VK_TASK_INDEX": "2", "VC_TASK_INDEX": "2"}


@pytest.mark.parametrize("plugin", ["svc", "ssh"])
def test_more_hosts_than_an_object_holds_are_refused(plugin: str) -> None:
    job = a_job(a_task("w", 2**31 - 1), **{plugin: []})
    (enabled,) = plugins.enabled(job)
    with pytest.raises(PluginError, match="the addresses of 2147483647 pods of task w take more than"):
        [wanted.make(None) for wanted in enabled.objects(job)]


@pytest.mark.parametrize(("plugin", "task"), [("mpi", "master"), ("tensorflow", "ps")])
def test_more_hosts_than_a_variable_holds_are_refused(plugin: str, task: str) -> None:
    job = a_job(a_task(task, 1), a_task("worker", 2**31 - 1), **{plugin: []})
    with pytest.raises(PluginError, match="the addresses of 2147483647 pods of task worker take more than"):
        a_pod(job, task)


def test_svc_lists_hosts_by_task() -> None:
    job = a_job(a_task("a-b", 2), a_task("c", 2, hostname="fixed", subdomain="mine"), svc=[])
    assert hosts_of(job) == {
        "a_b.host": "j-a-b-0.j\nj-a-b-1.j",
        "VC_A_B_HOSTS": "j-a-b-0.j,j-a-b-1.j",
        "VC_A_B_NUM": "2",
        "c.host": "fixed.mine",
        "VC_C_HOSTS": "fixed.mine",
        "VC_C_NUM": "1",
    }
    pod = a_pod(job, "a-b", 1)
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("j-a-b-1", "j")
    assert pod["spec"]["containers"][0]["volumeMounts"] == [{"name": "j-svc", "mountPath": "/etc/volcano"}]
    assert [*env(pod)] == ["VC_A_B_HOSTS", "VC_A_B_NUM", "VC_C_HOSTS", "VC_C_NUM"]


def test_svc_arguments_switch_things_off() -> None:
    job = a_job(a_task("w", 1), svc=["--disable-network-policy=true", "--inject-hosts-env=false"])
    (plugin,) = plugins.enabled(job)
    assert [wanted.what[1] for wanted in plugin.objects(job)] == ["ConfigMap", "Service"]
    assert env(a_pod(job, "w")) == {}


def test_ssh_makes_a_key_once_and_a_configuration_for_all_hosts() -> None:
    job = a_job(a_task("w", 2), ssh=["--ssh-port=-10", "--no-root"])
    (plugin,) = plugins.enabled(job)
    (wanted,) = plugin.objects(job)
    needed = wanted.make(None)
    assert isinstance(needed, plugins.NeedsKey)
    secret = needed.with_key(new_key(needed.bits))
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert data["id_rsa"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert data["id_rsa.pub"] == data["authorized_keys"]
    assert data["config"] == config_of(job, 22)
    assert "Host j-w-1\n  HostName j-w-1.j\n  Port 22\n" in data["config"]
    assert wanted.make(secret) is None


def test_ssh_elsewhere_is_readable_by_others() -> None:
    pod = a_pod(a_job(a_task("w", 1), ssh=["--ssh-key-file-path=/home/me/.ssh"]), "w")
    (volume,) = pod["spec"]["volumes"]
    assert volume["secret"]["defaultMode"] == 0o644
    assert pod["spec"]["containers"][0]["volumeMounts"] == [
        {"name": "j-ssh", "mountPath": "/home/me/.ssh", "subPath": ".ssh"}
    ]


def test_tensorflow_describes_the_cluster() -> None:
    job = a_job(a_task("ps", 1), a_task("worker", 2), a_task("boss", 1), tensorflow=["--chief=boss"])
    config = env(a_pod(job, "worker", 1))["TF_CONFIG"]
    assert config == json.dumps(
        {
            "cluster": {
                "ps": ["j-ps-0.j:2222"],
                "worker": ["j-worker-0.j:2222", "j-worker-1.j:2222"],
                "chief": ["j-boss-0.j:2222"],
            },
            "task": {"type": "worker", "index": 1},
        },
        separators=(",", ":"),
    )
    assert env(a_pod(a_job(a_task("worker", 1), tensorflow=[]), "worker")) == {}


def test_mpi_lists_workers_for_the_master() -> None:
    job = a_job(a_task("master", 1), a_task("worker", 2), mpi=["--port=5000"])
    master, worker = a_pod(job, "master"), a_pod(job, "worker")
    assert env(master) == {"MPI_HOST": "j-worker-0.j,j-worker-1.j"}
    assert env(worker) == {}
    for pod in (master, worker):
        assert pod["spec"]["containers"][0]["ports"] == [{"name": "mpijob-port", "containerPort": 5000}]


def test_mpi_without_workers_leaves_the_master_alone() -> None:
    pod = a_pod(a_job(a_task("master", 1), mpi=[]), "master")
    assert "ports" not in pod["spec"]["containers"][0]
    assert env(a_pod(a_job(a_task("master", 1), a_task("worker", 0), mpi=[]), "master")) == {"MPI_HOST": ""}


def test_pytorch_ranks_workers_after_the_master() -> None:
    job = a_job(a_task("master", 1), a_task("worker", 2), pytorch=[])
    assert env(a_pod(job, "master")) == {
        "MASTER_ADDR": "j-master-0.j",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "3",
        "RANK": "0",
    }
    assert env(a_pod(job, "worker", 1))["RANK"] == "2"
    assert env(a_pod(a_job(a_task("worker", 1), pytorch=[]), "worker")) == {}


def test_pytorch_workers_may_wait_for_their_master() -> None:
    job = a_job(a_task("master", 1), a_task("worker", 1), pytorch=["--wait-master-enabled=true"])
    (first,) = a_pod(job, "worker")["spec"]["initContainers"]
    assert (first["name"], first["image"]) == ("wait-for-master", "busybox:1.36.1")
    assert "initContainers" not in a_pod(job, "master")["spec"]


def test_ray_starts_a_head_and_workers_that_join_it() -> None:
    head = a_task("head", 1, containers=[{"name": "head", "image": "i"}, {"name": "side", "image": "i"}])
    worker = a_task("worker", 1, containers=[{"name": "worker", "image": "i"}])
    job = a_job(head, worker, ray=[])
    first, second = a_pod(job, "head")["spec"]["containers"]
    assert first["command"][2].startswith("ray start --head --block --dashboard-host=0.0.0.0 --port=6379")
    assert [port["name"] for port in first["ports"]] == ["gcs", "dashboard", "client-server"]
    assert "command" not in second
    command = a_pod(job, "worker")["spec"]["containers"][0]["command"]
    assert command == ["sh", "-c", "ray start --block --address=j-head-0.j:6379"]
    with pytest.raises(PluginError, match="job j doesn't have head task head"):
        a_pod(a_job(worker, ray=[]), "worker")


def test_hcclrank_takes_the_rank_it_finds_and_else_counts_masters_first() -> None:
    job = a_job(a_task("master", 2), a_task("worker", 2), a_task("other", 1), hcclrank=[])
    rank = "hccl/rankIndex"
    assert a_pod(job, "master", 1)["metadata"]["annotations"][rank] == "1"
    assert a_pod(job, "worker", 1)["metadata"]["annotations"][rank] == "3"
    assert rank not in a_pod(job, "other")["metadata"]["annotations"]
    job["spec"]["tasks"][1]["template"]["spec"]["containers"][0]["env"] = [{"name": "RANK", "value": "5"}]
    assert a_pod(job, "worker", 1)["metadata"]["annotations"][rank] == "5"


def test_a_plugin_that_nobody_offers_is_named() -> None:
    with pytest.raises(PluginError, match="failed to get plugin nobody"):
        plugins.enabled(a_job(a_task("w", 1), nobody=[]))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example, as pip would leave it: its module on the path, its entry points beside it."""
    offered = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    info = tmp_path / "longshore_greeting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: longshore-greeting\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in offered[plugins.GROUP].items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{plugins.GROUP}]", *lines, ""]))
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), str(tmp_path), *sys.path])
    plugins.find.cache_clear()
    admitting._added_plugins.cache_clear()
    yield
    plugins.find.cache_clear()
    admitting._added_plugins.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_plugin_of_somebody_elses_is_found_by_its_entry_point() -> None:
    async def live(clock: virtual.VirtualClock) -> tuple[Any, Any, list[str]]:
        async with a_world(clock, [Rule(runs=(FOR_EVER,))]) as world, beside(controller(world.client, clock)):
            await world.job({"w": 2}, plugins={"greeting": ["--word=Ahoy"]})
            await world.phase("Running")
            pod = (await world.pods())["j-w-1"]
            crew = await world.client.get(("v1", "ConfigMap"), "j-crew", NS)
            await world.command("AbortJob")
            await world.phase("Aborted")
            left = (await world.client.list(("v1", "ConfigMap"), NS)).items
            return pod, crew, [found["metadata"]["name"] for found in left]

    pod, crew, left = virtual.run(live)
    assert env(pod)["GREETING"] == "Ahoy, j-w-1!"
    assert crew["data"]["crew"] == "j-w-0\nj-w-1"
    assert left == []
