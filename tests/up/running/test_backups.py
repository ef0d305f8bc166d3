"""Backups: made while longshore runs, whole or refused, and put back also into a newer version."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from longshore.apiserver.api import Api, ApiParts
from longshore.cli.main import main
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import Store, journal_schema
from longshore.store.errors import RestoreCutOff
from longshore.store.lock import DataDirLock
from longshore.up import backups, snapshots
from longshore.up.backups import BadBackup, Manifest
from store.store_support import key, opened, put, value
from support.longshore_process import longshore_up


def made(directory: Path, *names: str) -> Path:
    """A data directory with objects of these names, and secrets."""

    async def write() -> None:
        async with opened(directory) as store:
            for name in names:
                await put(store, name, name)

    asyncio.run(write())
    (directory / "pki").mkdir(mode=0o700, exist_ok=True)
    (directory / "pki" / "ca.pem").write_text(f"authority of {names[0]}")
    (directory / "token").write_text(f"token of {names[0]}")
    return directory


def backed_up(tmp_path: Path, directory: Path, *more: str) -> Path:
    file = tmp_path / f"{directory.name}.tar.gz"
    assert main(["backup", str(file), "--data-dir", str(directory), *more]) == 0
    return file


def contents(directory: Path) -> dict[str, object]:
    async def read() -> dict[str, object]:
        async with opened(directory) as store:
            return {entry.key.name: value(entry) for entry in store.list("pods").entries}

    return asyncio.run(read())


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(words) == 1
    return capsys.readouterr().err


def rewritten(backup: Path, change: dict[str, bytes]) -> Path:
    """The backup with other content in some members; their checksums stay."""
    out = backup.with_name("changed.tar.gz")
    with tarfile.open(backup) as old, tarfile.open(out, "w:gz") as new:
        for info in old:
            source = old.extractfile(info)
            assert source is not None
            content = change.pop(info.name, source.read())
            info.size = len(content)
            new.addfile(info, io.BytesIO(content))
        for name, content in change.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            new.addfile(info, io.BytesIO(content))
    return out


def test_a_backup_is_for_its_owner_alone_and_holds_objects_and_secrets(tmp_path: Path) -> None:
    file = backed_up(tmp_path, made(tmp_path / "a", "x", "y"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as archive:
        assert sorted(archive.getnames()) == ["journal.db", "manifest.json", "pki/ca.pem", "token"]
    assert [*tmp_path.glob(".*"), *(tmp_path / "a" / "snapshots").iterdir()] == []


def test_a_restore_brings_everything_back_and_keeps_what_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = backed_up(tmp_path, made(tmp_path / "a", "x", "y"))
    other = made(tmp_path / "b", "z")
    assert main(["restore", str(backup), "--data-dir", str(other)]) == 0
    assert "2 objects" in capsys.readouterr().out
    assert contents(other) == {"x": "x", "y": "y"}
    assert (other / "token").read_text() == "token of x"
    kept = next(other.glob("replaced-*"))
    assert contents(kept) == {"z": "z"}
    assert (kept / "token").read_text() == "token of z"
    assert not [*other.glob("restore.*")]


def test_revisions_go_on_where_the_replaced_journal_was(tmp_path: Path) -> None:
    directory = made(tmp_path / "a", "x")
    backup = backed_up(tmp_path, directory)
    made(directory, *(f"later-{number}" for number in range(20)))
    before = Store.open(directory)
    seen = before.revision
    asyncio.run(before.close())
    assert main(["restore", str(backup), "--data-dir", str(directory)]) == 0
    after = Store.open(directory)
    assert after.revision == seen
    assert after.get(key("later-1")) is None
    asyncio.run(after.close())


def test_a_backup_of_an_older_schema_is_restored_into_this_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "migrations"
    shutil.copytree(journal_schema.MIGRATIONS, old)
    for script in journal_schema.scripts(old)[1:]:
        script.unlink()
    directory = made(tmp_path / "a", "x")
    journal = directory / "journal.db"
    with closing(sqlite3.connect(journal)) as new:
        rows = new.execute("SELECT * FROM journal").fetchall()
        through = new.execute("SELECT revision FROM compacted").fetchone()
    journal.unlink()
    journal_schema.create(journal, old)
    with closing(sqlite3.connect(journal)) as first:
        first.executemany("INSERT INTO journal VALUES (?,?,?,?,?,?,?)", rows)
        first.execute("UPDATE compacted SET revision = ?", through)
        first.commit()
    backup = backed_up(tmp_path, directory)
    with tarfile.open(backup) as archive:
        head = archive.extractfile("manifest.json")
        assert head is not None
        assert msgspec.json.decode(head.read(), type=Manifest).schema == 1
    fresh = tmp_path / "fresh"
    assert main(["restore", str(backup), "--data-dir", str(fresh)]) == 0
    assert contents(fresh) == {"x": "x"}
    with closing(sqlite3.connect(fresh / "journal.db")) as db:
        assert journal_schema.version(db) == len(journal_schema.scripts(journal_schema.MIGRATIONS))


def test_a_backup_of_a_newer_schema_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = made(tmp_path / "a", "x")
    backup = backed_up(tmp_path, directory)
    with tarfile.open(backup) as archive:
        head = archive.extractfile("manifest.json")
        assert head is not None
        manifest = msgspec.json.decode(head.read())
    manifest["schema"] = 99
    newer = rewritten(backup, {"manifest.json": msgspec.json.encode(manifest)})
    said = refused(["restore", str(newer), "--data-dir", str(tmp_path / "b")], capsys)
    assert "written by a newer longshore" in said
    assert "schema version 99" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"token": b"token of X"}, "'token' does not match its checksum"),
        ({"../outside": b"x"}, "'../outside' is not in its manifest"),
        ({"pki/extra": b"x"}, "'pki/extra' is not in its manifest"),
        ({"manifest.json": b"{}"}, "is damaged, or no backup of longshore"),
    ],
)
def test_a_changed_backup_is_refused_and_nothing_is_touched(
    tmp_path: Path, change: dict[str, bytes], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = rewritten(backed_up(tmp_path, made(tmp_path / "a", "x")), dict(change))
    other = made(tmp_path / "b", "z")
    before = sorted(path.name for path in other.iterdir())
    assert said in refused(["restore", str(bad), "--data-dir", str(other)], capsys)
    assert said in refused(["restore", str(bad), "--check"], capsys)
    assert sorted(path.name for path in other.iterdir()) == before
    assert contents(other) == {"z": "z"}


def test_a_member_that_the_manifest_names_outside_the_directory_is_refused(tmp_path: Path) -> None:
    backup = backed_up(tmp_path, made(tmp_path / "a", "x"))
    with tarfile.open(backup) as archive:
        head = archive.extractfile("manifest.json")
        assert head is not None
        manifest = msgspec.json.decode(head.read())
    manifest["files"]["../outside"] = {"size": 1, "sha256": "0"}
    evil = rewritten(backup, {"manifest.json": msgspec.json.encode(manifest), "../outside": b"x"})
    with pytest.raises(BadBackup, match="does not belong in a data directory"):
        backups.restore(evil, tmp_path / "b")
    assert not (tmp_path / "outside").exists()


def test_a_backup_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    backup = backed_up(tmp_path, made(tmp_path / "a", *"xyz"))
    content = backup.read_bytes()
    for length in (0, 10, len(content) // 2):
        backup.write_bytes(content[:length])
        with pytest.raises(BadBackup):
            backups.restore(backup, tmp_path / "b")
    assert not (tmp_path / "b" / "journal.db").exists()


def test_a_backup_with_damaged_blocks_is_refused(tmp_path: Path) -> None:
    backup = backed_up(tmp_path, made(tmp_path / "a", *"xyz"))
    content = backup.read_bytes()
    for at in range(200, len(content) - 200, len(content) // 20):
        backup.write_bytes(content[:at] + b"\xff" * 40 + content[at + 40 :])
        with pytest.raises(BadBackup):
            backups.restore(backup, tmp_path / "b")


RESTORE_AND_DIE = """
import os, sys
from pathlib import Path
from longshore.up import backups

left = int(sys.argv[3])

def mortal(change):
    def changed(*words, **more):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return change(*words, **more)
    return changed

for name in ("link", "rename", "replace", "unlink"):
    setattr(os, name, mortal(getattr(os, name)))
backups.restore(Path(sys.argv[1]), Path(sys.argv[2]))
"""
"""Puts a backup into a directory, and dies before the n-th change of a name."""


def test_a_restore_that_dies_anywhere_leaves_the_old_or_is_refused_by_a_start_and_can_be_run_again(
    tmp_path: Path,
) -> None:
    before = made(tmp_path / "a", "x")
    (before / "volumes" / "pvc-1").mkdir(parents=True)
    (before / "volumes" / "pvc-1" / "file").write_text("old")
    backup = backed_up(tmp_path, before, "--volumes")
    later = made(tmp_path / "b", "y", "z")
    shutil.copytree(before / "volumes", later / "volumes")
    (later / "volumes" / "pvc-1" / "file").write_text("new")
    restored, kept = ({"x": "x"}, "token of x", "old"), ({"y": "y", "z": "z"}, "token of y", "new")
    refused = 0
    for died_at in range(100):
        directory = shutil.copytree(later, tmp_path / str(died_at))
        words = [sys.executable, "-c", RESTORE_AND_DIE, str(backup), str(directory), str(died_at)]
        died = subprocess.run(words, check=False).returncode == 9
        secret, file = directory / "token", directory / "volumes" / "pvc-1" / "file"
        if died and (directory / "restoring").exists():
            with pytest.raises(RestoreCutOff, match=str(backup)):
                Store.open(directory)
            refused += 1
        else:
            assert (contents(directory), secret.read_text(), file.read_text()) in (restored, kept)
        if not died:
            break
        assert main(["restore", str(backup), "--data-dir", str(directory)]) == 0
        assert (contents(directory), secret.read_text(), file.read_text()) == restored
    assert refused > 3


def test_a_full_disk_is_no_damaged_backup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = backed_up(tmp_path, made(tmp_path / "a", *"xyz"))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    try:
        assert main(["restore", str(backup), "--data-dir", str(tmp_path / "b")]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    said = capsys.readouterr().err
    assert f"{tmp_path / 'b'} has no room to unpack {backup}: File too large" in said
    assert not (tmp_path / "b" / "journal.db").exists()


def test_volumes_are_in_it_when_they_are_wanted(tmp_path: Path) -> None:
    directory = made(tmp_path / "a", "x")
    (directory / "volumes" / "pvc-1").mkdir(parents=True)
    (directory / "volumes" / "pvc-1" / "run.sh").write_text("echo")
    (directory / "volumes" / "pvc-1" / "run.sh").chmod(0o755)
    backup = backed_up(tmp_path, directory, "--volumes")
    assert main(["restore", str(backup), "--data-dir", str(tmp_path / "b")]) == 0
    script = tmp_path / "b" / "volumes" / "pvc-1" / "run.sh"
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("echo", 0o755)


def test_directories_links_modes_and_owners_of_volumes_come_back(tmp_path: Path) -> None:
    directory = made(tmp_path / "a", "x")
    volume = directory / "volumes" / "pvc-1"
    (volume / "empty").mkdir(parents=True)
    (directory / "volumes" / "pvc-2").mkdir()
    (volume / "file").write_text("1")
    (volume / "link").symlink_to("empty")
    (volume / "away").symlink_to("/nowhere")
    (volume / os.fsdecode(b"no text \xff")).symlink_to(os.fsdecode(b"nor this \xfe"))
    (volume / os.fsdecode(b"\xc3\xa4 and \xff")).write_text("2")
    for path, mode in ((volume, 0o777), (volume / "empty", 0o750), (volume / "file", 0o664)):
        path.chmod(mode)
        if os.geteuid() == 0:
            os.chown(path, 1234, 5678)
    backup = backed_up(tmp_path, directory, "--volumes")
    before = os.umask(0o077)
    try:
        assert main(["restore", str(backup), "--data-dir", str(tmp_path / "b")]) == 0
    finally:
        os.umask(before)
    assert looks(tmp_path / "b" / "volumes") == looks(directory / "volumes")


def looks(directory: Path) -> dict[str, tuple[int, int, int, str]]:
    """Mode, owners and target of each file below a directory."""
    return {
        str(path.relative_to(directory)): (info.st_mode, info.st_uid, info.st_gid, target)
        for path in directory.rglob("*")
        for info in [path.lstat()]
        for target in [os.readlink(path) if path.is_symlink() else ""]
    }


def test_a_restore_does_not_follow_links_that_pods_made_in_volumes(tmp_path: Path) -> None:
    directory, outside = made(tmp_path / "a", "x"), tmp_path / "outside"
    folder = directory / "volumes" / "pvc-1" / "folder"
    folder.mkdir(parents=True)
    (folder / "job").write_text("from the backup")
    backup = backed_up(tmp_path, directory, "--volumes")
    shutil.rmtree(folder)
    outside.mkdir()
    folder.symlink_to(outside)
    assert main(["restore", str(backup), "--data-dir", str(directory)]) == 0
    assert list(outside.iterdir()) == []
    assert not folder.is_symlink()
    assert (folder / "job").read_text() == "from the backup"


def test_a_restored_volume_is_as_it_was_and_later_files_are_kept_aside(tmp_path: Path) -> None:
    directory = made(tmp_path / "a", "x")
    volume, other = directory / "volumes" / "pvc-1", directory / "volumes" / "pvc-2"
    volume.mkdir(parents=True)
    (volume / "early").write_text("1")
    backup = backed_up(tmp_path, directory, "--volumes")
    (volume / "late").write_text("2")
    other.mkdir()
    for _ in range(2):  # within a second, too
        assert main(["restore", str(backup), "--data-dir", str(directory)]) == 0
    assert [each.name for each in volume.iterdir()] == ["early"]
    assert other.is_dir()
    kept = [each / "volumes" / "pvc-1" for each in sorted(directory.glob("replaced-*"))]
    assert [sorted(os.listdir(each)) for each in kept] == [["early", "late"], ["early"]]


def test_a_backup_of_volumes_to_which_pods_write_can_be_restored(tmp_path: Path) -> None:
    directory = made(tmp_path / "a", "x")
    volume = directory / "volumes" / "pvc-1"
    volume.mkdir(parents=True)
    (volume / "a-large-file").write_bytes(os.urandom(4 << 20))  # other files change while it is packed
    counter, brief, over = volume / "counter", volume / "brief", threading.Event()

    def write() -> None:
        with counter.open("r+b", buffering=0) as file:
            while not over.is_set():
                os.pwrite(file.fileno(), os.urandom(8), 0)
                brief.touch()
                brief.unlink()

    counter.write_bytes(bytes(8))
    pod = threading.Thread(target=write)
    pod.start()
    try:
        backup = backed_up(tmp_path, directory, "--volumes")
    finally:
        over.set()
        pod.join()
    assert main(["restore", str(backup), "--data-dir", str(tmp_path / "b")]) == 0
    assert (tmp_path / "b" / "volumes" / "pvc-1" / "counter").exists()
    assert [*tmp_path.glob(".*")] == []


def test_a_longshore_that_runs_is_backed_up_and_not_restored_under_its_feet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "data"
    with longshore_up("--data-dir", str(directory)) as running:
        maps = "/api/v1/namespaces/default/configmaps"
        assert running.request("POST", maps, {"metadata": {"name": "kept"}})[0] == 201
        backup = backed_up(tmp_path, directory)
        assert running.request("POST", maps, {"metadata": {"name": "lost"}})[0] == 201
        said = refused(["restore", str(backup), "--data-dir", str(directory)], capsys)
        assert "stop it with: longshore down, or pass --down" in said
        assert main(["restore", "--down", str(backup), "--data-dir", str(directory)]) == 0
    with longshore_up("--data-dir", str(directory)) as running:
        assert running.request("GET", f"{maps}/kept")[0] == 200
        assert running.request("GET", f"{maps}/lost")[0] == 404


def test_a_backup_waits_for_a_longshore_that_starts_or_stops(tmp_path: Path) -> None:
    directory = made(tmp_path / "a", "x")
    server = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": server}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
    }
    (directory / "kubeconfig").write_text(json.dumps(config))
    lock = DataDirLock(directory)  # held by one that does not listen, and then by nobody
    freeing = threading.Timer(0.5, lock.release)
    freeing.start()
    try:
        backed_up(tmp_path, directory)
    finally:
        freeing.join()


def test_a_backup_keeps_its_copy_while_another_is_made_and_while_longshore_starts(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as store:

            def started() -> LocalClient:
                documents = (snapshots.document(store, tmp_path),)
                return LocalClient(Api(ApiParts(store, RealClock(), random.Random(), documents=documents)))

            client = started()

            async def copied(name: str) -> Path:
                answer = await client.request("GET", snapshots.path(name))
                return Path(json.loads(answer.body)["file"])

            left = await copied("left")
            with (
                snapshots.held(await copied("first")) as first,
                snapshots.held(await copied("other")) as other,
            ):
                started()
                assert (left.exists(), first.exists(), other.exists()) == (False, True, True)
            assert [*(tmp_path / "snapshots").iterdir()] == []
            with pytest.raises(FileNotFoundError), snapshots.held(left):
                pass

    asyncio.run(story())
