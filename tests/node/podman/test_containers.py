"""Containers of podman, as the node asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from longshore.node.runtime import CannotStart, Limits, Mount, Rights
from longshore.node.runtimes.podman import PodmanRuntime
from longshore.node.runtimes.podman_arguments import name_of
from longshore.node.runtimes.podman_cli import Cli
from node.podman.conftest import Yard

pytestmark = pytest.mark.anyio


async def test_output_and_exit_code(yard: Yard) -> None:
    state, said = await yard.run("sh", "-c", "echo out; echo err >&2; sleep 0.1; printf part; exit 3")
    assert (state.phase, state.exit_code, state.reason) == ("exited", 3, "Error")
    assert 0 < state.started_at <= state.finished_at
    assert sorted(said.splitlines()) == ["err", "out", "part"]


async def test_command_and_args_are_kubernetes_own(yard: Yard) -> None:
    assert (await yard.run())[1] == "the image says so\n"
    assert (await yard.run(args=("echo", "args", "alone")))[1] == "args alone\n"
    assert (await yard.run("echo", "command", args=("and", "args")))[1] == "command and args\n"


async def test_environment_directory_user_and_mounts(yard: Yard, tmp_path: Path) -> None:
    (tmp_path / "given, with comma").mkdir()
    (tmp_path / "given, with comma" / "file").write_text("content\n")
    script = 'echo "$ODD"; pwd; id -u; id -g; cat /data/file; echo bad > /data/no; echo last > /dev/end'
    state, said = await yard.run(
        "sh",
        "-c",
        script,
        env=(("ODD", 'two\nlines, and ="signs"'), ("PATH", "/bin")),
        working_dir="/tmp",
        user=1234,
        group=55,
        mounts=(Mount(str(tmp_path / "given, with comma"), "/data", True),),
        termination_message=tmp_path / "message",
        termination_path="/dev/end",
    )
    lines = said.splitlines()
    assert lines[:6] == ["two", 'lines, and ="signs"', "/tmp", "1234", "55", "content"]
    assert "Read-only file system" in lines[6]
    assert (tmp_path / "message").read_text() == "last\n"
    assert state.exit_code == 0


async def test_secrets_are_masked_in_volumes_that_are_above_them(yard: Yard, tmp_path: Path) -> None:
    data, copy = tmp_path / "above" / "data", tmp_path / "above" / "config"
    data.mkdir(parents=True)
    (data / "token").write_text("the-token")
    copy.write_text("the-token")
    (tmp_path / "link").symlink_to(data.parent)
    yard.runtime = PodmanRuntime(tmp_path / "notes", hidden=(data, copy))
    await yard.runtime.open(yard.tell)
    mounts = (Mount(str(data.parent), "/host"), Mount(str(tmp_path / "link"), "/by-link"))
    script = "cat /host/data/token /host/config /by-link/data/token /by-link/config"
    state, said = await yard.run("sh", "-c", script, mounts=mounts)
    assert (state.exit_code, "the-token" in said) == (1, False)


async def rights_of(yard: Yard, rights: Rights) -> dict[str, int]:
    """The numbers in the status of a container's process."""
    script = "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status"
    _, said = await yard.run("sh", "-c", script, rights=rights)
    return {name: int(value, 16) for name, value in (line.split(":") for line in said.splitlines())}


async def test_a_container_has_the_rights_that_its_manifest_asks_for(yard: Yard) -> None:
    usual = await rights_of(yard, Rights())
    assert (usual["NoNewPrivs"], usual["Seccomp"]) == (0, 2)
    assert (await rights_of(yard, Rights(drop=("ALL",), no_new_privileges=True))) == {
        "CapEff": 0,
        "NoNewPrivs": 1,
        "Seccomp": 2,
    }
    assert (await rights_of(yard, Rights(add=("SYS_NICE",), drop=("ALL",))))["CapEff"] == 1 << 23
    assert (await rights_of(yard, Rights(filtered=False)))["Seccomp"] == 0


async def test_a_container_that_must_not_be_root_is_refused_where_its_image_is_root(yard: Yard) -> None:
    container = yard.container("id", rights=Rights(non_root=True))
    with pytest.raises(CannotStart) as refused:
        await yard.runtime.start(container)
    who = f'(pod: "p_ns({yard.uid})", container: {container.key.container})'
    assert refused.value.reason == "CreateContainerConfigError"
    assert refused.value.message == f"container has runAsNonRoot and image will run as root {who}"
    state, said = await yard.run("id", "-u", user=7, rights=Rights(non_root=True))
    assert (state.exit_code, said) == (0, "7\n")


@pytest.fixture
async def users_image(yard: Yard) -> AsyncIterator[str]:
    """The image, made to run as user 1234."""
    name = f"{yard.image}-user"
    made = yard.container("true")
    await yard.runtime.start(made)
    await yard.ended(made.key)
    ran = await Cli().run("commit", "--quiet", "--change", "USER 1234", name_of(made.key), name)
    assert ran.code == 0, ran.problem
    yield name
    await Cli().run("rmi", "--force", name)


async def test_a_container_that_names_its_group_alone_keeps_the_user_of_its_image(
    yard: Yard, users_image: str
) -> None:
    state, said = await yard.run(
        "sh", "-c", "id -u; id -g", image=users_image, group=55, rights=Rights(non_root=True)
    )
    assert (state.exit_code, said) == (0, "1234\n55\n")


async def test_too_much_memory_kills(yard: Yard) -> None:
    state, _ = await yard.run("sh", "-c", "tail /dev/zero", limits=Limits(memory=16 << 20))
    assert (state.exit_code, state.reason) == (137, "OOMKilled")


async def test_signals_end_everything(yard: Yard) -> None:
    stubborn = yard.container("sh", "-c", "trap 'echo no' TERM; while :; do sleep 0.1; done")
    await yard.runtime.start(stubborn)
    await asyncio.sleep(0.3)
    await yard.runtime.signal(stubborn.key, 15)
    await asyncio.sleep(0.4)
    assert stubborn.key not in yard.told
    await yard.runtime.signal(stubborn.key, 9)
    state = await yard.ended(stubborn.key)
    assert (state.exit_code, state.signal, state.reason) == (137, 9, "Error")
    assert "no" in yard.text(stubborn)


async def test_a_key_starts_once_even_after_a_restart_of_longshore(yard: Yard, tmp_path: Path) -> None:
    quick = yard.container("sh", "-c", "echo x >> /data/runs", mounts=(Mount(str(tmp_path), "/data"),))
    script = "echo x >> /data/slow; while ! cat /data/go; do sleep 0.1; done; exit 4"
    slow = yard.container("sh", "-c", script, mounts=quick.mounts)
    await asyncio.gather(*(yard.runtime.start(quick) for _ in range(3)))
    await yard.runtime.start(slow)
    await yard.ended(quick.key)
    states = {state.key: state for state in await yard.again()}
    assert states[quick.key].phase == "exited"
    assert states[slow.key].phase == "running"
    assert (await yard.runtime.start(quick)).phase == "exited"
    assert (await yard.runtime.start(slow)).phase == "running"
    (tmp_path / "go").touch()
    assert (await yard.ended(slow.key)).exit_code == 4
    assert [(tmp_path / name).read_text() for name in ("runs", "slow")] == ["x\n", "x\n"]
    await yard.runtime.remove([quick.key, slow.key])
    assert not {quick.key, slow.key} & {state.key for state in await yard.again()}


async def test_what_cannot_start_says_why(yard: Yard) -> None:
    cases = {
        "RunContainerError": yard.container("no-such-command"),
        "InvalidImageName": yard.container("true", image="Not/AN/image::"),
        "ErrImageNeverPull": yard.container("true", image="localhost/none:1", pull="Never"),
        "ErrImagePull": yard.container("true", image="localhost:1/none:1"),
    }
    for reason, container in cases.items():
        with pytest.raises(CannotStart) as refused:
            await yard.runtime.start(container)
        assert refused.value.reason == reason, refused.value
    with pytest.raises(CannotStart, match="Back-off pulling image") as waits:
        await yard.runtime.start(cases["ErrImagePull"])
    assert waits.value.reason == "ImagePullBackOff"
    with pytest.raises(CannotStart, match="executable file"):  # and may be tried again
        await yard.runtime.start(cases["RunContainerError"])


async def test_usage_is_counted(yard: Yard) -> None:
    busy = yard.container("sh", "-c", "while :; do :; done")
    await yard.runtime.start(busy)
    await asyncio.sleep(0.7)
    used = (await yard.runtime.usage([busy.key]))[busy.key]
    assert used.cpu_seconds > 0.1
    assert used.memory > 10_000
    await yard.runtime.signal(busy.key, 9)
    await yard.ended(busy.key)
    assert await yard.runtime.usage([busy.key]) == {}
