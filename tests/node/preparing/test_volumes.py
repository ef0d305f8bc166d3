"""Volumes of each kind, as real files."""

from __future__ import annotations

import base64
import os
import resource
import socket
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.node.preparing.types import CannotPrepare, NodeFacts, NotReady
from longshore.node.preparing.volumes import atomic
from support.preparing_world import World

pytestmark = pytest.mark.anyio


def mounted(*mounts: Obj) -> Obj:
    return {"volumeMounts": [{"name": "v", "mountPath": "/data", **mount} for mount in mounts or ({},)]}


async def volume(world: World, source: Obj, **more: Any) -> Path:
    """The directory of a pod's only volume."""
    pod = await world.pod(volumes=[{"name": "v", **source}], container=mounted(), **more)
    return Path((await world.preparer.pod(pod)).volumes["v"].path)


def tree(top: Path) -> dict[str, str]:
    """What a container sees: visible names only, links followed."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = str(path.relative_to(top))
        if not name.startswith("..") and path.is_file():
            found[name] = path.read_text()
    for link in sorted(
        path for path in top.iterdir() if path.is_symlink() and not path.name.startswith("..")
    ):
        if link.is_dir():
            found.update({f"{link.name}/{name}": text for name, text in tree(link).items()})
    return found


async def refused(world: World, source: Obj) -> str:
    pod = await world.pod(volumes=[{"name": "v", **source}])
    with pytest.raises(NotReady) as caught:
        await world.preparer.pod(pod)
    assert caught.value.reason == "FailedMount"
    return caught.value.message


async def test_an_empty_dir_is_writable_by_anybody_and_kept_when_asked_for_again(world: World) -> None:
    pod = await world.pod(volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}])
    made = (await world.preparer.pod(pod)).volumes["v"]
    top = Path(made.path)
    assert top == world.root / pod["metadata"]["uid"] / "volumes" / "v"
    assert os.stat(top).st_mode & 0o777 == 0o777
    (top / "file").write_text("kept")
    await world.preparer.pod(pod)
    assert (top / "file").read_text() == "kept"


async def test_an_empty_dir_in_memory_lies_where_only_this_user_can_look(
    world: World, tmp_path: Path
) -> None:
    shared = tmp_path / "shm"
    shared.mkdir()
    preparer = world.another(node=NodeFacts("n", memory_directory=shared))
    pod = await world.pod(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}])
    path = Path((await preparer.pod(pod)).volumes["v"].path)
    (own,) = shared.iterdir()
    assert path.is_relative_to(own)
    assert own.stat().st_mode & 0o777 == 0o700
    assert await preparer.known() == {pod["metadata"]["uid"]}
    await preparer.remove(pod["metadata"]["uid"])
    assert list(shared.iterdir()) == []


async def test_a_directory_in_memory_that_somebody_else_made_is_not_used(
    world: World, tmp_path: Path
) -> None:
    shared = tmp_path / "shm"
    shared.mkdir()
    preparer = world.another(node=NodeFacts("n", memory_directory=shared))
    first = await world.pod(name="first", volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}])
    await preparer.pod(first)
    (own,) = shared.iterdir()
    own.rename(tmp_path / "elsewhere")
    own.symlink_to(tmp_path)
    second = await world.pod(name="second", volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}])
    with pytest.raises(NotReady, match="was made by somebody else"):
        await preparer.pod(second)


async def test_what_a_longshore_that_is_gone_left_in_memory_is_swept_away(
    world: World, tmp_path: Path
) -> None:
    shared = tmp_path / "shm"
    shared.mkdir()
    node = NodeFacts("n", memory_directory=shared)
    pod = await world.pod(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}])
    for name in ("gone", "kept"):
        root = tmp_path / name / "pods"
        root.mkdir(parents=True)
        await world.another(node=node, root=root).pod(pod)
    (shared / "longshore-foreign").mkdir(mode=0o755)
    (tmp_path / "gone" / "pods").rename(tmp_path / "away")
    await world.preparer.known()
    assert len(list(shared.iterdir())) == 3  # another node's memory
    await world.another(node=node).known()
    left = {path.name for path in shared.iterdir()}
    assert len(left) == 2
    assert "longshore-foreign" in left


async def test_a_config_map_becomes_files_text_and_binary(world: World) -> None:
    data = {"data": {"a": "text"}, "binaryData": {"b": base64.b64encode(b"bytes").decode()}}
    await world.create("ConfigMap", {"metadata": {"name": "c"}, **data})
    top = await volume(world, {"configMap": {"name": "c"}})
    assert tree(top) == {"a": "text", "b": "bytes"}
    assert (top / "a").stat().st_mode & 0o777 == 0o644
    assert os.readlink(top / "a") == "..data/a"


async def test_items_choose_keys_paths_and_modes(world: World) -> None:
    await world.create("Secret", {"metadata": {"name": "s"}, "stringData": {"a": "1", "b": "2", "c": "3"}})
    items = [{"key": "a", "path": "deep/er/one", "mode": 0o400}, {"key": "b", "path": "two"}]
    top = await volume(world, {"secret": {"secretName": "s", "items": items, "defaultMode": 0o440}})
    assert tree(top) == {"deep/er/one": "1", "two": "2"}
    assert (top / "deep/er/one").stat().st_mode & 0o777 == 0o400
    assert (top / "two").stat().st_mode & 0o777 == 0o440


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        (
            {"configMap": {"name": "c", "items": [{"key": "x", "path": "x"}]}},
            "configmap references non-existent config key: x",
        ),
        (
            {"projected": {"sources": [{"configMap": {"name": "none"}}, {"secret": {"name": "none"}}]}},
            '[configmap "none" not found, secret "none" not found]',
        ),
        (
            {"projected": {"sources": [{"clusterTrustBundle": {"name": "b", "path": "p"}}]}},
            "longshore cannot project a source of a kind that is not enabled; "
            "it projects configMap, downwardAPI, secret and serviceAccountToken",
        ),
        (
            {"nfs": {"server": "s", "path": "/"}},
            "longshore has no volumes of type nfs; it has configMap, downwardAPI, emptyDir, hostPath, "
            "persistentVolumeClaim, projected and secret",
        ),
        (
            {"emptyDir": {"medium": "HugePages"}},
            'longshore has no storage medium "HugePages" for an emptyDir; it has "" and "Memory"',
        ),
    ],
)
async def test_a_volume_that_cannot_be_made_says_why(world: World, source: Obj, message: str) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    assert await refused(world, source) == f'MountVolume.SetUp failed for volume "v" : {message}'


async def test_optional_sources_that_are_missing_leave_the_volume_empty(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    items = [{"key": "a", "path": "a"}, {"key": "x", "path": "x"}]
    assert tree(await volume(world, {"configMap": {"name": "none", "optional": True}})) == {}
    chosen = {"configMap": {"name": "c", "optional": True, "items": items}}
    assert tree(await volume(world, chosen, name="q")) == {"a": "1"}


async def test_labels_annotations_and_limits_become_files(world: World) -> None:
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}},
    ]
    top = await volume(world, {"downwardAPI": {"items": items}}, metadata={"labels": {"b": "2", "a": "1"}})
    assert tree(top) == {"labels": 'a="1"\nb="2"', "name": "p", "cpu": "4"}


async def test_a_projected_volume_gathers_its_sources(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    await world.create("Secret", {"metadata": {"name": "s"}, "stringData": {"b": "2"}})
    sources = [
        {"configMap": {"name": "c"}},
        {"secret": {"name": "s", "items": [{"key": "b", "path": "in/b"}]}},
        {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 600}},
    ]
    top = await volume(world, {"projected": {"sources": sources}}, serviceAccountName="default")
    found = tree(top)
    token = found.pop("token")
    assert found == {"a": "1", "in/b": "2", "ns": "default"}
    claims = base64.urlsafe_b64decode(token.split(".")[1] + "==")
    assert b'"aud":["vault"]' in claims


async def test_files_follow_their_source_all_at_once(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1", "old": "x"}})
    pod = await world.pod(volumes=[{"name": "v", "configMap": {"name": "c"}}])
    prepared = await world.preparer.pod(pod)
    assert prepared.follows
    top = Path(prepared.volumes["v"].path)
    before = os.readlink(top / "..data")
    await world.preparer.refresh(prepared, pod)
    assert os.readlink(top / "..data") == before  # nothing changed, nothing is written
    config = await world.client.get(("v1", "ConfigMap"), "c", "default")
    await world.client.update(("v1", "ConfigMap"), {**config, "data": {"a": "2", "new": "y"}}, "default")
    await world.preparer.refresh(prepared, pod)
    assert tree(top) == {"a": "2", "new": "y"}
    assert not (top / before).exists()
    assert sorted(name for name in os.listdir(top) if not name.startswith("..")) == ["a", "new"]


async def test_a_write_that_failed_leaves_nothing(tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert atomic.write(tmp_path, {"a": atomic.File(b"1", 0o644)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
    try:
        for _ in range(3):
            with pytest.raises(OSError, match="File too large"):
                atomic.write(tmp_path, {"a": atomic.File(b"2" * 100, 0o644)})
            assert (tmp_path / "a").read_text() == "1"
            assert len(os.listdir(tmp_path)) == 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert atomic.write(tmp_path, {"a": atomic.File(b"2", 0o644)})
    assert sorted(os.listdir(tmp_path)) == sorted(["..data", os.readlink(tmp_path / "..data"), "a"])


async def test_pods_that_ask_for_the_same_files_share_them_until_the_last_has_gone(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    sources: list[Obj] = [{"configMap": {"name": "c"}}] * 2 + [
        {"configMap": {"name": "c", "defaultMode": 0o600}}
    ]
    pods = [
        await world.pod(name=f"p{n}", volumes=[{"name": f"v{n}", **source}])
        for n, source in enumerate(sources)
    ]
    paths = [(await world.preparer.pod(pod)).volumes[f"v{n}"].path for n, pod in enumerate(pods)]
    assert paths[0] == paths[1] != paths[2]
    await world.preparer.remove(pods[0]["metadata"]["uid"])
    assert tree(Path(paths[1])) == {"a": "1"}
    await world.preparer.remove(pods[1]["metadata"]["uid"])
    assert os.listdir(Path(paths[0]).parent) == [Path(paths[2]).name]


async def test_files_stay_when_their_source_goes(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    pod = await world.pod(volumes=[{"name": "v", "configMap": {"name": "c"}}])
    prepared = await world.preparer.pod(pod)
    await world.client.delete(("v1", "ConfigMap"), "c", "default")
    with pytest.raises(NotReady, match='configmap "c" not found'):
        await world.preparer.refresh(prepared, pod)
    assert tree(Path(prepared.volumes["v"].path)) == {"a": "1"}


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("Directory", "a directory"),
        ("File", "a file"),
        ("Socket", "a socket file"),
        ("CharDevice", "a character device"),
        ("BlockDevice", "a block device"),
    ],
)
async def test_a_host_path_must_be_what_its_type_says(
    world: World, tmp_path: Path, kind: str, what: str
) -> None:
    path = tmp_path / "missing"
    message = await refused(world, {"hostPath": {"path": str(path), "type": kind}})
    text = f"hostPath type check failed: {path} is not {what}"
    assert message == f'MountVolume.SetUp failed for volume "v" : {text}'
    assert not path.exists()


async def test_host_paths_of_the_right_type_are_taken_and_some_made(world: World, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        for number, (path, kind) in enumerate(
            [
                (tmp_path / "new/dir", "DirectoryOrCreate"),
                (tmp_path / "new/file", "FileOrCreate"),
                (tmp_path / "s", "Socket"),
                (Path("/dev/null"), "CharDevice"),
                (tmp_path / "plain", ""),
            ]
        ):
            source = {"hostPath": {"path": str(path), "type": kind}}
            assert await volume(world, source, name=f"p{number}") == path
    assert (tmp_path / "new/dir").is_dir()
    assert (tmp_path / "new/file").is_file()
    assert (tmp_path / "plain").is_dir()


async def test_a_host_path_into_the_data_directory_is_refused_by_any_way(
    world: World, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    (data / "volumes" / "pv-1").mkdir(parents=True)
    (tmp_path / "link").symlink_to(data / "volumes")
    world.preparer = world.another(node=NodeFacts("n", data_directory=data))
    for number, path in enumerate((data, data / "token", tmp_path / "link" / "pv-1", f"{tmp_path}/./data/x")):
        pod = await world.pod(name=f"p{number}", volumes=[{"name": "v", "hostPath": {"path": str(path)}}])
        with pytest.raises(NotReady, match="is in longshore's data directory, which no pod may mount"):
            await world.preparer.pod(pod)
    assert not (data / "x").exists()


@pytest.mark.parametrize(
    ("where", "is_mounted"), [("volumes/pv-1", True), ("volumes", False), ("pki", False)]
)
async def test_of_the_data_directory_a_claim_mounts_volumes_that_longshore_made(
    world: World, tmp_path: Path, where: str, is_mounted: bool
) -> None:
    data = tmp_path / "data"
    (data / where).mkdir(parents=True)
    world.preparer = world.another(node=NodeFacts("n", data_directory=data))
    await claimed(world, "Bound", data / where)
    if is_mounted:
        assert await volume(world, CLAIM) == data / where
    else:
        assert "which no pod may mount" in await refused(world, CLAIM)


async def claimed(world: World, phase: str, path: Path, **source: Any) -> None:
    """A claim, bound or not, to a volume on disk."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": "pv",
    }
    claim = await world.create("PersistentVolumeClaim", {"metadata": {"name": "c"}, "spec": spec})
    ref = {"namespace": "default", "name": "c", "uid": claim["metadata"]["uid"]}
    inner = source or {"hostPath": {"path": str(path)}}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "claimRef": ref, **inner}
    await world.create("PersistentVolume", {"metadata": {"name": "pv"}, "spec": spec}, "")
    what = ("v1", "PersistentVolumeClaim")
    await world.client.update_status(what, {**claim, "status": {"phase": phase}}, "default")


CLAIM: Obj = {"persistentVolumeClaim": {"claimName": "c"}}


async def test_a_bound_claim_is_the_directory_of_its_volume(world: World, tmp_path: Path) -> None:
    await claimed(world, "Bound", tmp_path / "data")
    assert await volume(world, CLAIM) == tmp_path / "data"


async def test_a_claim_that_is_not_bound_is_waited_for(world: World, tmp_path: Path) -> None:
    start = (
        "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[v], "
        "failed to process volumes=[v]: error processing PVC default/c: "
    )
    text = 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found'
    assert await refused(world, CLAIM) == start + text
    await claimed(world, "Pending", tmp_path)
    pod = await world.pod(name="q", volumes=[{"name": "v", **CLAIM}])
    with pytest.raises(NotReady) as caught:
        await world.preparer.pod(pod)
    assert caught.value.message == start + "PVC is not bound"


async def test_a_volume_of_a_kind_that_is_not_here_is_named(world: World, tmp_path: Path) -> None:
    await claimed(world, "Bound", tmp_path, nfs={"server": "s", "path": "/"})
    assert (await refused(world, CLAIM)).endswith(
        "PV pv has a nfs source; longshore mounts hostPath and local ones"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_fs_group_owns_the_volumes_that_belong_to_the_pod(world: World, tmp_path: Path) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    volumes = [
        {"name": "empty", "emptyDir": {}},
        {"name": "config", "configMap": {"name": "c", "defaultMode": 0o400}},
        {"name": "host", "hostPath": {"path": str(outside)}},
    ]
    pod = await world.pod(volumes=volumes, securityContext={"fsGroup": 4242})
    made = (await world.preparer.pod(pod)).volumes
    empty = os.stat(made["empty"].path)
    assert (empty.st_gid, empty.st_mode & 0o7777) == (4242, 0o2777)
    config = (Path(made["config"].path) / "a").stat()
    assert (config.st_gid, config.st_mode & 0o777) == (4242, 0o440)
    assert outside.stat().st_gid != 4242
    assert (await world.container(pod)).groups == (4242,)


async def test_nodes_that_cannot_mount_say_so(world: World) -> None:
    async def cannot() -> bool:
        return False

    preparer = world.another(can_mount=cannot)
    pod = await world.pod(volumes=[{"name": "v", "emptyDir": {}}], container=mounted())
    prepared = await preparer.pod(pod)
    with pytest.raises(CannotPrepare, match="volumes cannot be mounted here"):
        preparer.container(prepared, pod, pod["spec"]["containers"][0], 0, "")
    plain = await world.pod(name="plain")
    prepared = await preparer.pod(plain)
    assert preparer.container(prepared, plain, plain["spec"]["containers"][0], 0, "").mounts == ()
