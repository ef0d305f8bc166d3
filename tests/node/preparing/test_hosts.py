"""/etc/hosts for pods that ask for names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longshore.node.preparing.hosts import Hosts
from longshore.node.preparing.types import CannotPrepare
from longshore.node.runtime import Container
from support.preparing_world import World

pytestmark = pytest.mark.anyio


def hosts_of(container: Container) -> Path | None:
    return next((Path(m.source) for m in container.mounts if m.target == "/etc/hosts"), None)


def names(path: Path | None) -> dict[str, str]:
    """Address by name, as a resolver reads the file."""
    assert path is not None
    found: dict[str, str] = {}
    for line in path.read_text().splitlines():
        address, *aliases = line.partition("#")[0].split() or [""]
        for alias in aliases:
            found.setdefault(alias, address)
    return found


async def start(world: World, address: str, **spec: Any) -> tuple[dict[str, Any], Container]:
    pod = await world.pod(**spec)
    prepared = await world.preparer.pod(pod)
    return pod, world.preparer.container(prepared, pod, pod["spec"]["containers"][0], 0, address)


async def test_a_plain_pod_has_the_machines_file_and_name(world: World) -> None:
    _, made = await start(world, "127.64.0.1")
    assert hosts_of(made) is None
    assert made.hostname == ""
    assert dict(made.env)["HOSTNAME"] == "p"


async def test_members_of_a_job_find_each_other_by_pod_and_job(world: World) -> None:
    first, one = await start(world, "127.64.0.1", name="job-a-0", hostname="job-a-0", subdomain="job")
    _, two = await start(world, "127.64.0.2", name="job-a-1", hostname="job-a-1", subdomain="job")
    _, other = await start(world, "127.64.0.3", name="x-0", hostname="x-0", subdomain="x")
    assert one.mounts == two.mounts  # one set of mounts for the whole job
    found = names(hosts_of(one))
    assert (found["job-a-0.job"], found["job-a-1.job"]) == ("127.64.0.1", "127.64.0.2")
    assert found["job-a-1.job.default.svc.cluster.local"] == "127.64.0.2"
    assert found["localhost"] == "127.0.0.1"
    assert "x-0.x" not in found
    assert "job-a-0.job" not in names(hosts_of(other))
    await world.preparer.remove(first["metadata"]["uid"])
    assert "job-a-0.job" not in names(hosts_of(two))


async def test_a_mounted_file_stays_the_same_file_when_peers_come_and_go(world: World) -> None:
    first, one = await start(world, "127.64.0.1", name="a", subdomain="job")
    path = hosts_of(one)
    assert path is not None
    with path.open() as mounted:
        second, _ = await start(world, "127.64.0.2", name="b", subdomain="job")
        assert "b.job" in mounted.read()
        mounted.seek(0)
        await world.preparer.remove(second["metadata"]["uid"])
        assert "b.job" not in mounted.read()
    await world.preparer.remove(first["metadata"]["uid"])
    assert not path.exists()


async def test_after_a_restart_names_stay_until_their_pods_are_found(world: World) -> None:
    first, one = await start(world, "127.64.0.1", name="a", subdomain="job")
    second, _ = await start(world, "127.64.0.2", name="b", subdomain="job")
    await start(world, "127.64.0.3", name="c", subdomain="job")
    again = Hosts(world.root, world.root / ".hosts")
    again.add(first, "127.64.0.1")
    found = names(hosts_of(one))
    assert [found[f"{name}.job"] for name in "abc"] == ["127.64.0.1", "127.64.0.2", "127.64.0.3"]
    again.add(second, "127.64.0.22")
    assert names(hosts_of(one))["b.job"] == "127.64.0.22"
    again.settle()
    assert names(hosts_of(one)).keys() >= {"a.job", "b.job"}
    assert "c.job" not in names(hosts_of(one))


async def test_aliases_are_added_to_a_file_of_the_pods_own(world: World) -> None:
    aliases = [{"ip": "10.1.2.3", "hostnames": ["db", "db.local"]}]
    pod, made = await start(world, "127.64.0.1", name="a", hostAliases=aliases, subdomain="job")
    await start(world, "127.64.0.2", name="b", subdomain="job")
    path = hosts_of(made)
    assert path == world.root / pod["metadata"]["uid"] / "etc-hosts"
    found = names(path)
    assert (found["db"], found["db.local"]) == ("10.1.2.3", "10.1.2.3")
    assert (found["a"], found["b.job"]) == ("127.64.0.1", "127.64.0.2")


async def test_a_container_that_mounts_its_own_file_keeps_it(world: World) -> None:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/etc/hosts"}]}
    volumes = [{"name": "v", "hostPath": {"path": "/etc/hosts"}}]
    _, made = await start(world, "127.64.0.1", subdomain="job", container=container, volumes=volumes)
    assert hosts_of(made) == Path("/etc/hosts")


async def test_a_pod_that_names_itself_is_called_so(world: World) -> None:
    _, made = await start(world, "127.64.0.1", hostname="me")
    assert made.hostname == "me"
    assert dict(made.env)["HOSTNAME"] == "me"


async def test_where_nothing_can_be_mounted_a_variable_says_where_the_names_are(world: World) -> None:
    async def cannot() -> bool:
        return False

    world.preparer = world.another(can_mount=cannot)
    await world.create("ConfigMap", {"metadata": {"name": "j-svc"}, "data": {"w.host": "a.j"}})
    volume = {"name": "svc", "configMap": {"name": "j-svc"}}
    told = {"volumeMounts": [{"name": "svc", "mountPath": "/etc/volcano"}]}
    job = {"subdomain": "j", "volumes": [volume]}
    _, one = await start(world, "127.64.0.1", name="a", container=told, **job)
    await start(world, "127.64.0.2", name="b", container=told, **job)
    assert one.mounts == ()
    found = names(Path(dict(one.env)["LONGSHORE_HOSTS"]))
    assert (found["a.j"], found["b.j"]) == ("127.64.0.1", "127.64.0.2")
    _, plain = await start(world, "127.64.0.3", name="plain")
    assert plain.mounts == ()
    elsewhere = {"volumeMounts": [{"name": "svc", "mountPath": "/elsewhere"}]}
    with pytest.raises(CannotPrepare, match="volumes cannot be mounted here"):
        await start(world, "127.64.0.4", name="c", container=elsewhere, **job)
    _, image = await start(
        world, "127.64.0.5", name="d", container=elsewhere, runtimeClassName="podman", **job
    )
    assert {mount.target for mount in image.mounts} >= {"/elsewhere", "/etc/hosts"}
