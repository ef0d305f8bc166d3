"""Volumes at the manifest's paths, in a namespace that nobody else sees."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from longshore.node.runtime import CannotStart, Mount
from support.keeper_engine import Engine, exists, kill, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.geteuid() != 0, reason="what a user may mount differs between systems"),
]


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    path.mkdir()
    (path / "file").write_text("content\n")
    return path


async def test_a_directory_is_seen_at_its_target_and_written_through(engine: Engine, volume: Path) -> None:
    mount = Mount(str(volume), "/mnt")
    text = await engine.output("sh", "-c", "cat /mnt/file; echo new > /mnt/made", mounts=(mount,))
    assert text == "content\n"
    assert (volume / "made").read_text() == "new\n"
    assert not exists("/mnt/file")


@pytest.mark.parametrize(
    "target",
    ["/no-such-top/deep/er", "/usr/no-such", "/etc/no-such/below", "/var/run/no-such", "/dev/no-such"],
)
async def test_a_missing_mount_point_is_made_without_touching_the_host(
    engine: Engine, volume: Path, target: str
) -> None:
    use = f"cat {target}/file; echo x > {target}/out"
    script = f"{use}; ls -d /etc/passwd /usr/bin/env /proc/self/status; : > /dev/null"
    text = await engine.output("sh", "-c", script, mounts=(Mount(str(volume), target),))
    assert text == "content\n/etc/passwd\n/proc/self/status\n/usr/bin/env\n"
    assert (volume / "out").exists()
    assert not exists(target)


async def test_beside_a_made_mount_point_the_host_is_still_written(
    engine: Engine, volume: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    (work / "results").mkdir(parents=True)
    mount = Mount(str(volume), str(work / "input"))
    await engine.run("sh", "-c", f"cp {work}/input/file {work}/results/", mounts=(mount,))
    assert (work / "results" / "file").read_text() == "content\n"
    assert not (work / "input").exists()


async def test_a_read_only_mount_cannot_be_written(engine: Engine, volume: Path) -> None:
    ended = await engine.run("sh", "-c", "echo x > /mnt/file", mounts=(Mount(str(volume), "/mnt", True),))
    assert ended.exit_code != 0
    assert "Read-only file system" in engine.log(ended.key)
    assert (volume / "file").read_text() == "content\n"


async def test_a_single_file_may_be_mounted_over_one_or_where_none_is(engine: Engine, volume: Path) -> None:
    file = str(volume / "file")
    mounts = (Mount(file, "/etc/hostname"), Mount(file, "/opt/no-such/file"))
    assert await engine.output("cat", "/etc/hostname", "/opt/no-such/file", mounts=mounts) == "content\n" * 2


async def test_mounts_within_mounts_come_after_them(engine: Engine, volume: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    mounts = (Mount(str(volume), "/no-such/inner"), Mount(str(outer), "/no-such"))
    assert await engine.output("cat", "/no-such/inner/file", mounts=mounts) == "content\n"


async def test_a_file_cannot_be_mounted_on_a_directory(engine: Engine, volume: Path) -> None:
    with pytest.raises(CannotStart, match="mounting on /etc: it is a directory, not a file"):
        await engine.start("true", mounts=(Mount(str(volume / "file"), "/etc"),))
    assert await engine.output("ls", "/etc/passwd") == "/etc/passwd\n"


async def test_a_missing_source_is_refused(engine: Engine) -> None:
    with pytest.raises(CannotStart, match="/no/source"):
        await engine.start("true", mounts=(Mount("/no/source", "/mnt"),))


async def test_a_source_that_was_made_anew_is_not_the_old_one(engine: Engine, volume: Path) -> None:
    mounts = (Mount(str(volume), "/mnt"),)
    for _ in range(3):
        assert await engine.output("cat", "/mnt/file", mounts=mounts) == "content\n"
    _make_anew(volume)
    assert await engine.output("cat", "/mnt/file", mounts=mounts) == "other\n"


def _make_anew(volume: Path) -> None:
    volume.rename(volume.with_name("old"))
    volume.mkdir()
    (volume / "file").write_text("other\n")


async def test_the_termination_message_is_each_containers_own(engine: Engine, tmp_path: Path) -> None:
    paths = [tmp_path / "pods" / str(number) / "message" for number in range(2)]
    for path in paths:
        ended = await engine.run("sh", "-c", f"echo {path} > /dev/termination-log", termination_message=path)
        assert ended.exit_code == 0
    assert [path.read_text() for path in paths] == [f"{path}\n" for path in paths]
    assert not exists("/dev/termination-log")


async def test_a_message_is_not_seen_by_the_next_container(engine: Engine, tmp_path: Path) -> None:
    for number in range(3):
        script = f"cat /dev/termination-log; echo {number} >> /dev/termination-log"
        assert await engine.output("sh", "-c", script, termination_message=tmp_path / str(number)) == ""
        assert (tmp_path / str(number)).read_text() == f"{number}\n"


async def test_a_file_that_is_there_before_is_used_itself(engine: Engine, tmp_path: Path) -> None:
    message = tmp_path / "message"
    message.write_text("before\n")
    script = "cat /dev/termination-log; echo after >> /dev/termination-log"
    assert await engine.output("sh", "-c", script, termination_message=message) == "before\n"
    assert message.read_text() == "before\nafter\n"


async def test_no_message_makes_no_file(engine: Engine, tmp_path: Path) -> None:
    await engine.run("true", termination_message=tmp_path / "message")
    assert not exists(tmp_path / "message")


async def test_the_message_survives_the_keeper(engine: Engine, tmp_path: Path) -> None:
    message, go = tmp_path / "message", tmp_path / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.02; done"
    script = f"echo one > /dev/termination-log; {wait}; echo two >> /dev/termination-log"
    state = await engine.start("sh", "-c", script, termination_message=message)
    old = engine.keeper
    kill(old)
    await until(lambda: engine.keeper != old)
    go.touch()
    await engine.end(state.key)
    assert message.read_text() == "one\ntwo\n"


async def test_the_termination_message_may_be_elsewhere(engine: Engine, tmp_path: Path) -> None:
    message = tmp_path / "message"
    await engine.run(
        "sh", "-c", "echo x > /tmp/its/log", termination_message=message, termination_path="/tmp/its/log"
    )
    assert message.read_text() == "x\n"


async def test_a_read_only_root_leaves_the_volumes_writable(
    engine: Engine, volume: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    script = f"echo x > /mnt/made; echo > /dev/null; echo x > {tmp_path}/plain/made"
    ended = await engine.run("sh", "-c", script, mounts=(Mount(str(volume), "/mnt"),), read_only_root=True)
    assert "Read-only file system" in engine.log(ended.key)
    assert (volume / "made").exists()
    assert not (tmp_path / "plain" / "made").exists()


async def test_the_host_name_is_the_containers_own_when_asked_for(engine: Engine) -> None:
    assert (
        await engine.output("sh", "-c", "hostname; echo $HOSTNAME", hostname="my-pod") == "my-pod\nmy-pod\n"
    )
    assert await engine.output("hostname") == f"{socket.gethostname()}\n"


async def test_the_command_is_looked_for_where_the_container_lives(engine: Engine, volume: Path) -> None:
    (volume / "tool").write_text("#!/bin/sh\necho ran in $(pwd)\n")
    (volume / "tool").chmod(0o755)
    mounts = (Mount(str(volume), "/no-such/bin"),)
    text = await engine.output("./tool", mounts=mounts, working_dir="/no-such/bin")
    assert text == "ran in /no-such/bin\n"


async def test_a_path_that_no_file_can_have_is_refused_and_the_keeper_goes_on(
    engine: Engine, volume: Path, tmp_path: Path
) -> None:
    keeper = engine.keeper
    with pytest.raises(CannotStart, match="null byte"):
        await engine.start("true", mounts=(Mount(str(volume), "/a\0b"),))
    with pytest.raises(CannotStart, match="null byte"):
        await engine.start("true", termination_message=tmp_path / "said", termination_path="/a\0b")
    assert await engine.output("cat", "/mnt/file", mounts=(Mount(str(volume), "/mnt"),)) == "content\n"
    assert engine.keeper == keeper
