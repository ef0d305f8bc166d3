"""/etc/hosts of pods."""

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


HEAD = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
MACHINE = "127.0.0.1 localhost\n10.9.8.7\tfileserver # of the house\n\n::1 localhost ip6-loopback\n"
ALIASES = [{"ip": "10.1.2.3", "hostnames": ["db", "db.local"]}]
ALIAS_LINES = "\n# Entries added by HostAliases.\n10.1.2.3\tdb\tdb.local\n"
MACHINE_LINES = "\n# Entries of this machine.\n10.9.8.7\tfileserver # of the house\n"


@pytest.fixture
def files(tmp_path: Path) -> Hosts:
    (tmp_path / "machine").write_text(MACHINE)
    return Hosts(tmp_path / "pods", tmp_path / "pods" / ".hosts", tmp_path / "machine")


def a_pod(uid: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": f"pod-{uid}", "namespace": "default", "uid": uid}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, f"{HEAD}127.64.0.1\tpod-u\n{MACHINE_LINES}"),
        ({"hostname": "me"}, f"{HEAD}127.64.0.1\tme\n{MACHINE_LINES}"),
        ({"hostAliases": ALIASES}, f"{HEAD}127.64.0.1\tpod-u\n{ALIAS_LINES}{MACHINE_LINES}"),
        ({"hostNetwork": True}, f"# Kubernetes-managed hosts file (host network).\n{MACHINE}"),
        (
            {"hostNetwork": True, "hostAliases": ALIASES},
            f"# Kubernetes-managed hosts file (host network).\n{MACHINE}{ALIAS_LINES}",
        ),
        (
            {"hostname": "me", "subdomain": "us"},
            f"{HEAD}127.64.0.1\tme.us.default.svc.cluster.local\tme.us.default.svc\tme.us.default\tme.us\tme\n"
            f"{MACHINE_LINES}",
        ),
    ],
    ids=["plain", "hostname", "aliases", "host network", "aliases and host network", "subdomain"],
)
def test_the_file_is_the_kubelets_with_the_machines_entries_after_it(
    files: Hosts, spec: dict[str, Any], text: str
) -> None:
    assert Path(files.file(a_pod("u", **spec), "127.64.0.1")).read_text() == text


def test_a_pods_file_is_its_own_while_it_runs_and_the_next_ones_afterwards(files: Hosts) -> None:
    one, two = files.file(a_pod("1"), "127.64.0.1"), files.file(a_pod("2"), "127.64.0.2")
    assert one != two
    assert files.file(a_pod("1"), "127.64.0.1") == one
    Path(one).write_text("10.0.0.1\tpod-3 google.com\n" * 100)
    Path(one).chmod(0o600)
    files.stopped("1")
    three = files.file(a_pod("3"), "127.64.0.3")
    assert three == one
    assert Path(three).read_text() == f"{HEAD}127.64.0.3\tpod-3\n{MACHINE_LINES}"
    assert Path(three).stat().st_mode & 0o777 == 0o644


def test_after_a_restart_a_pod_that_runs_keeps_its_file(files: Hosts, tmp_path: Path) -> None:
    one, two = files.file(a_pod("1"), "127.64.0.1"), files.file(a_pod("2"), "127.64.0.2")
    Path(one).write_text(Path(two).read_text())  # a container may write to its file; the owner stays
    again = Hosts(tmp_path / "pods", tmp_path / "pods" / ".hosts")
    assert again.file(a_pod("3"), "127.64.0.3") not in (one, two)
    again.hold("1")
    again.settle()
    assert again.file(a_pod("1"), "127.64.0.1") == one
    assert again.file(a_pod("4"), "127.64.0.4") == two


def test_a_change_of_the_machines_file_is_seen_by_the_next_pod(files: Hosts, tmp_path: Path) -> None:
    files.file(a_pod("1"), "127.64.0.1")
    (tmp_path / "machine").write_text("10.9.8.6 newserver\n")
    assert "newserver" in names(Path(files.file(a_pod("2"), "127.64.0.2")))


async def test_a_plain_pod_finds_itself_and_has_the_machines_name(world: World) -> None:
    _, made = await start(world, "127.64.0.1")
    assert names(hosts_of(made))["p"] == "127.64.0.1"
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
    again.file(first, "127.64.0.1")
    found = names(hosts_of(one))
    assert [found[f"{name}.job"] for name in "abc"] == ["127.64.0.1", "127.64.0.2", "127.64.0.3"]
    again.file(second, "127.64.0.22")
    assert names(hosts_of(one))["b.job"] == "127.64.0.22"
    again.settle()
    assert names(hosts_of(one)).keys() >= {"a.job", "b.job"}
    assert "c.job" not in names(hosts_of(one))


async def test_aliases_are_added_to_a_file_of_the_pods_own(world: World) -> None:
    pod, made = await start(world, "127.64.0.1", name="a", hostAliases=ALIASES, subdomain="job")
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
