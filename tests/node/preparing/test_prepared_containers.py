"""The rest of what an engine is told, and cleaning up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longshore.node.runtime import Key, Limits
from support.preparing_world import World

pytestmark = pytest.mark.anyio


async def test_each_attempt_has_its_own_log_and_last_words(world: World) -> None:
    pod = await world.pod()
    uid = pod["metadata"]["uid"]
    made = await world.container(pod, attempt=3)
    assert made.key == Key(uid, "main", 3)
    assert Path(made.log) == world.root.parent / "logs" / f"default_p_{uid}" / "main" / "3.log"
    assert Path(made.termination_message or "") == world.root / uid / "containers" / "main" / "3"
    assert made.termination_path == "/dev/termination-log"


async def test_limits_are_numbers_and_zero_is_none(world: World) -> None:
    resources = {"limits": {"cpu": "1500m", "memory": "1Gi"}, "requests": {"cpu": "0.25"}}
    made = await world.container(await world.pod(container={"resources": resources}))
    assert made.limits == Limits(cpu_millis=1500, cpu_request_millis=250, memory=1 << 30)
    none = {"limits": {"cpu": "0"}}
    made = await world.container(await world.pod(name="q", container={"resources": none}))
    assert made.limits == Limits()


async def test_streams_directory_and_image_are_passed_on(world: World) -> None:
    container = {"stdin": True, "stdinOnce": True, "tty": True, "workingDir": "/w", "image": "busybox:1"}
    made = await world.container(await world.pod(container=container))
    assert (made.stdin, made.stdin_once, made.tty) == (True, True, True)
    assert (made.working_dir, made.image) == ("/w", "busybox:1")


async def test_removing_a_pod_removes_what_it_had_and_nothing_it_points_to(
    world: World, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    volumes = [{"name": "v", "emptyDir": {}}, {"name": "h", "hostPath": {"path": str(outside)}}]
    pod, other = await world.pod(volumes=volumes), await world.pod(name="q", volumes=volumes)
    prepared = await world.preparer.pod(pod)
    await world.preparer.pod(other)
    os.symlink(outside, os.path.join(prepared.volumes["v"].path, "link"))
    uids = {pod["metadata"]["uid"], other["metadata"]["uid"]}
    assert await world.preparer.known() == uids
    await world.preparer.remove(pod["metadata"]["uid"])
    assert await world.preparer.known() == uids - {pod["metadata"]["uid"]}
    assert (outside / "kept").exists()
    await world.preparer.remove(pod["metadata"]["uid"])  # again is no error


@pytest.mark.parametrize("uid", ["..", ".accounts", "a/b", "", "/etc"])
async def test_only_a_pods_uid_can_be_removed(world: World, uid: str) -> None:
    with pytest.raises(ValueError, match="is no pod's uid"):
        await world.preparer.remove(uid)
