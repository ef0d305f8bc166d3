"""A real longshore on a disk that logs have filled: people can delete, also after a start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from support.real_place import Place
from support.small_disk import small_disk


@pytest.fixture(params=["64m"])
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A data directory that is a file system of its own, of 64 MiB where a test does not say otherwise."""
    with small_disk(tmp_path / "data", f"size={request.param},mode=700") as place:
        yield place


def fill(file: Path) -> None:
    """Takes all the room there is."""
    with file.open("ab", buffering=0) as handle:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while handle.write(bytes(size)):
                    pass


def noisy(name: str) -> str:
    container = {
        "name": "main",
        "image": "none",
        "command": ["sh", "-c", "yes $(seq 50) | head -c 20000000; sleep 1000"],
    }
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def pressure(place: Place) -> str:
    state = '{.items[0].status.conditions[?(@.type=="DiskPressure")].status}'
    return place.kubectl.ok("get", "nodes", "-o", f"jsonpath={state}")


@pytest.mark.parametrize("free", [0, 64 << 10, 400 << 10])
def test_a_first_start_on_a_full_disk_says_so_in_a_sentence(disk: Path, free: int) -> None:
    fill(disk / "filler")
    os.truncate(disk / "filler", (disk / "filler").stat().st_size - free)
    words = [sys.executable, "-m", "longshore", "up", "--data-dir", str(disk / "own"), "--port", "0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert re.search("(disk is full|No space left on device|full: the write was not made)", done.stderr)


def test_pods_can_be_deleted_on_a_full_disk_and_after_a_start_on_it(disk: Path) -> None:
    place = Place(disk.parent)
    place.start()
    try:
        for name in ("one", "two", "three"):
            place.run(noisy(name), name)
        fill(disk / "filler")
        place.kubectl.ok("delete", "pod", "one", "--timeout=20s")
        while len([*(disk / "node" / "logs").iterdir()]) > 2:
            time.sleep(0.05)
        fill(disk / "filler")
        place.kubectl.ok("annotate", "pod", "two", "still=works")
        place.stop()
        fill(disk / "filler")
        place.start()
        assert pressure(place) == "True"
        refused = place.kubectl("create", "configmap", "new")
        assert refused.exit == 1
        assert "The disk with the data directory is full" in refused.stderr
        assert "new objects are refused; changes and deletions are not" in refused.stderr
        place.kubectl.ok("delete", "pod", "two", "--timeout=20s")
        (disk / "filler").unlink()
        end = time.monotonic() + 60
        while place.kubectl("create", "configmap", "new").exit:
            assert time.monotonic() < end
    finally:
        place.stop()
    said = place.said()
    assert "Traceback" not in said
    assert "the disk with the data directory is full: objects can be read, changed and deleted" in said


@pytest.mark.parametrize("disk", ["20m"], indirect=True)
def test_a_run_on_a_small_full_disk_says_so_and_what_is_there_can_be_changed(disk: Path) -> None:
    place = Place(disk.parent)
    place.start()
    environment = {**os.environ, "KUBECONFIG": str(disk / "kubeconfig"), "LONGSHORE_HOME": str(disk)}
    command = [sys.executable, "-m", "longshore", "run"]
    waits = [*command, "--completions", "2", "--parallelism", "1", "--", "sleep", "600"]
    said = disk.parent / "run"
    try:
        with said.open("wb") as out:
            running = subprocess.Popen(waits, env=environment, stdout=out, stderr=out)
        end = time.monotonic() + 90
        while "Running" not in place.kubectl("get", "pods").stdout:
            assert time.monotonic() < end
        fill(disk / "filler")
        while "the disk is full" not in said.read_text():
            assert time.monotonic() < end, said.read_text()
            time.sleep(0.1)
        assert pressure(place) == "True"
        refused = subprocess.run([*command, "--", "true"], env=environment, capture_output=True, text=True)
        assert refused.returncode == 2
        assert "The disk with the data directory is full" in refused.stderr
        pod = place.kubectl.ok("get", "pods", "-o", "name").split()[0]
        place.kubectl.ok("annotate", pod, "still=works")
        place.kubectl.ok("delete", "jobs", "--all", "--timeout=20s")
    finally:
        running.kill()
        running.wait()
        place.stop()
    assert "Traceback" not in place.said()
