"""Where containers see their volumes, and that a subPath cannot lead out of one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from longshore.api.types import Obj
from longshore.node.preparing.types import CannotPrepare
from support.preparing_world import World

pytestmark = pytest.mark.anyio
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


async def with_mount(world: World, mount: Obj, env: list[Obj] | None = None, **source: Any) -> Obj:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/data", **mount}], "env": env or []}
    return await world.pod(volumes=[{"name": "v", **(source or {"emptyDir": {}})}], container=container)


async def test_mounts_come_in_the_manifests_order_and_the_account_after_them(world: World) -> None:
    container = {
        "volumeMounts": [
            {"name": "b", "mountPath": "/b", "readOnly": True},
            {"name": "a", "mountPath": "/a", "mountPropagation": "HostToContainer"},
        ]
    }
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]
    made = await world.container(await world.pod(volumes=volumes, container=container))
    assert [(m.target, m.read_only) for m in made.mounts] == [
        ("/b", True),
        ("/a", False),
        (ACCOUNT, True),
        ("/etc/hosts", False),
    ]


async def test_files_of_the_api_are_mounted_read_only(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    made = await world.container(await with_mount(world, {}, configMap={"name": "c"}))
    assert made.mounts[0].read_only


async def test_a_container_that_mounts_the_accounts_path_keeps_its_own(world: World) -> None:
    made = await world.container(await with_mount(world, {"mountPath": ACCOUNT + "/"}))
    assert [mount.target for mount in made.mounts] == [ACCOUNT + "/", "/etc/hosts"]


async def test_a_sub_path_is_made_with_the_volumes_permissions(world: World) -> None:
    made = await world.container(await with_mount(world, {"subPath": "deep/er"}))
    path = Path(made.mounts[0].source)
    assert path.parts[-3:] == ("v", "deep", "er")
    assert os.stat(path).st_mode & 0o777 == 0o777


async def test_a_sub_path_can_be_one_file_of_a_config_map(world: World) -> None:
    await world.create("ConfigMap", {"metadata": {"name": "c"}, "data": {"a": "1"}})
    made = await world.container(await with_mount(world, {"subPath": "a"}, configMap={"name": "c"}))
    source = Path(made.mounts[0].source)
    assert source.read_text() == "1"  # noqa: ASYNC240 - a small file
    assert "..data" not in source.parts


async def test_a_sub_path_expression_takes_the_containers_variables(world: World) -> None:
    env = [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    made = await world.container(await with_mount(world, {"subPathExpr": "logs/$(NAME)"}, env))
    assert made.mounts[0].source.endswith("/v/logs/p")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("$(NONE)/$(EMPTY)", "missing value for EMPTY, NONE"),
        ("$(ABSOLUTE)", "error SubPath `/etc` must not be an absolute path"),
        ("a/$(UP)", "unable to provision SubPath `a/../../x`: must not contain '..'"),
    ],
)
async def test_variables_cannot_lead_a_sub_path_astray(world: World, expression: str, message: str) -> None:
    values = {"EMPTY": "", "ABSOLUTE": "/etc", "UP": "../../x"}
    env = [{"name": name, "value": value} for name, value in values.items()]
    pod = await with_mount(world, {"subPathExpr": expression}, env)
    with pytest.raises(CannotPrepare) as caught:
        await world.container(pod)
    assert (caught.value.reason, caught.value.message) == ("CreateContainerConfigError", message)


@pytest.mark.parametrize("link", ["/etc", "../../../../..", "/etc/hostname"])
async def test_a_link_in_the_volume_does_not_lead_out_of_it(world: World, link: str) -> None:
    pod = await with_mount(world, {"subPath": "link"})
    prepared = await world.preparer.pod(pod)
    os.symlink(link, os.path.join(prepared.volumes["v"].path, "link"))
    with pytest.raises(CannotPrepare) as caught:
        await world.container(pod, prepared)
    assert caught.value.message == 'failed to prepare subPath for volumeMount "v" of container "main"'


async def test_nothing_is_made_beyond_a_link_that_leads_out(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    pod = await with_mount(world, {"subPath": "link/new"})
    prepared = await world.preparer.pod(pod)
    os.symlink(outside, os.path.join(prepared.volumes["v"].path, "link"))
    with pytest.raises(CannotPrepare):
        await world.container(pod, prepared)
    assert list(outside.iterdir()) == []


async def test_a_link_that_stays_in_the_volume_is_followed(world: World) -> None:
    pod = await with_mount(world, {"subPath": "link"})
    prepared = await world.preparer.pod(pod)
    top = prepared.volumes["v"].path
    os.mkdir(os.path.join(top, "real"))
    os.symlink("real", os.path.join(top, "link"))
    assert (await world.container(pod, prepared)).mounts[0].source == os.path.join(top, "real")


@pytest.mark.parametrize("path", ["/", "//", "/.", "/data/..", "."])
async def test_nothing_is_mounted_over_the_root(world: World, path: str) -> None:
    with pytest.raises(CannotPrepare, match='mountPath must not be "/"') as refused:
        await world.container(await with_mount(world, {"mountPath": path}))
    assert refused.value.reason == "CreateContainerConfigError"
