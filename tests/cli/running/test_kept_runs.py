"""Throw-away runs leave a record and their logs: `history`, `logs` and `retry` work without an `up`."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from zipfile import ZipFile

import pytest

from longshore.cli.kept import run_records, shelf
from support.longshore_command import Command

FAILS = 'echo "out {}"; [ {} != bad ] || [ -e cure ]'


def runs_of(longshore: Command) -> Path:
    return longshore.home / "data" / "runs"


def history(longshore: Command) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(longshore.ok("history", "-o", "json"))["items"]
    return found


def failing(longshore: Command, *more: str, items: str = "a\nbad\nc\n") -> None:
    done = longshore("run", "--each", "-", "--name", "conv", *more, "--", "sh", "-c", FAILS, stdin=items)
    assert done.exit == 1, done.stderr


def half_done(longshore: Command, name: str) -> subprocess.Popen[str]:
    """A run of three items that has done the first and waits in the second."""
    (longshore.home / "three").write_text("a\nb\nc\n")
    script = "echo {} >> ran; [ {} = a ] || [ -e gate ] || exec sleep 600"
    words = ("--each", "three", "--parallelism", "1", "--name", name)
    process = longshore.start("run", *words, "--", "sh", "-c", script)
    until = time.monotonic() + 30
    ran = longshore.home / "ran"
    while not ran.exists() or ran.read_text().split() != ["a", "b"]:
        assert time.monotonic() < until, process.kill()
        time.sleep(0.02)
    return process


def test_throw_away_runs_share_their_certificates(longshore: Command) -> None:
    assert longshore("run", "--", "true").exit == 0
    file = longshore.home / "data" / "run-pki" / "server.pem"
    made = file.stat()
    assert longshore("run", "--", "true").exit == 0
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)


def test_a_run_is_in_the_history_with_its_counts_and_last_failure(longshore: Command) -> None:
    failing(longshore)
    (row,) = history(longshore)
    assert (row["name"], row["result"], row["completions"], row["succeeded"]) == ("conv", "failed", 3, 2)
    assert row["failure"] == "index 1 (bad): exit code 1"
    assert row["command"] == f"sh -c '{FAILS}'"
    table = longshore.ok("history")
    assert table.splitlines()[1].split()[:3] == ["conv", "failed", "2/3"]
    assert longshore.ok("history", "other") == ""


def test_its_output_can_be_read_by_name_and_by_id(longshore: Command) -> None:
    failing(longshore)
    whole = "[conv-0] out a\n[conv-1] out bad\n[conv-2] out c\n"
    assert longshore.ok("logs", "conv") == whole
    assert longshore.ok("logs", "job/conv") == whole
    assert longshore.ok("logs", str(history(longshore)[0]["id"])) == whole
    assert longshore.ok("logs", "conv", "--failed") == "out bad\n"
    assert longshore.ok("logs", "conv", "--tail", "0") == ""
    none = longshore("logs", "nothing")
    assert none.exit == 2
    assert none.stderr.startswith(
        "longshore: no run named nothing is kept, see: longshore history; and no kube"
    )


def test_its_story_is_told_afterwards(longshore: Command) -> None:
    failing(longshore)
    told = longshore.ok("why", "job/conv")
    assert "index 1" in told
    assert "the Job failed" in told
    document = json.loads(longshore.ok("why", "job/conv", "-o", "json"))
    assert document["about"]["name"] == "conv"
    unknown = longshore("why", "job/nothing")
    assert unknown.exit == 2
    assert "no kubeconfig found" in unknown.stderr


def test_nothing_but_record_items_and_logs_is_kept_for_the_owner_alone(longshore: Command) -> None:
    failing(longshore)
    (kept,) = runs_of(longshore).iterdir()
    assert sorted(each.name for each in kept.iterdir()) == ["items", "journal", "logs.zip"]
    assert kept.stat().st_mode & 0o777 == 0o700
    assert (kept / "journal").stat().st_mode & 0o777 == 0o600


def test_a_run_that_was_refused_leaves_nothing(longshore: Command) -> None:
    assert longshore("run", "--", "no-such-program-anywhere").exit == 2
    assert [*runs_of(longshore).iterdir()] == []


def test_it_is_retried_without_an_up(longshore: Command) -> None:
    failing(longshore)
    (longshore.home / "cure").touch()
    done = longshore("retry", "conv", "--logs")
    assert (done.exit, done.stdout) == (0, "[conv-retry-1-1] out bad\n"), done.stderr
    first, second = history(longshore)
    assert (first["name"], first["retryOf"], first["result"]) == ("conv-retry-1", "conv", "complete")
    assert second["name"] == "conv"
    assert "retry of conv" in longshore.ok("history")
    assert longshore("retry", "gone").exit == 1


def test_rows_of_a_table_are_retried_with_their_fields(longshore: Command) -> None:
    (longshore.home / "t.csv").write_text('name,size\n"a, b",3\nc,4\n')
    script = 'echo "$1 of $2"; [ "$1" != c ] || [ -e cure ]'
    words = (
        "run",
        "--each-csv",
        "t.csv",
        "--name",
        "rows",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        "{name}",
        "{size}",
    )
    assert longshore(*words).exit == 1
    (longshore.home / "cure").touch()
    done = longshore("retry", "rows", "--tag", "-k")
    assert (done.exit, done.stdout) == (0, "c 4\tc of 4\n"), done.stderr
    again = longshore(words[0], "--resume", *words[1:])
    assert (again.exit, "has done all 2 already" in again.stderr) == (0, True)


def test_a_retry_of_manifests_has_the_objects_they_need(longshore: Command) -> None:
    (longshore.home / "job.yaml").write_text(
        """
apiVersion: v1
kind: ConfigMap
metadata: {name: said}
data: {word: hello}
---
apiVersion: batch/v1
kind: Job
metadata: {name: reads}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: host
        command: [sh, -c, "echo $WORD; [ -e cure ]"]
        workingDir: HOME
        env: [{name: WORD, valueFrom: {configMapKeyRef: {name: said, key: word}}}]
""".replace("HOME", str(longshore.home))
    )
    assert longshore("run", "job.yaml").exit == 1
    (longshore.home / "cure").touch()
    done = longshore("retry", "reads", "--logs")
    assert done.exit == 0, done.stderr
    assert done.stdout.endswith("hello\n")


def test_a_killed_run_is_interrupted_and_goes_on_where_it_stopped(longshore: Command) -> None:
    process = half_done(longshore, "killed")
    (running,) = history(longshore)
    assert (running["result"], running["succeeded"]) == ("running", 1)
    again = longshore("run", "--name", "killed", "--resume", "--each", "three", "--", "true")
    assert (again.exit, "under way in another process" in again.stderr) == (1, True)
    process.kill()
    process.communicate()
    (row,) = history(longshore)
    assert (row["name"], row["result"], row["succeeded"]) == ("killed", "interrupted", 1)
    assert longshore("logs", "killed").exit in (0, 1)
    script = "echo {} >> ran"
    done = longshore("run", "--name", "killed", "--resume", "--each", "three", "--", "sh", "-c", script)
    assert done.exit == 0, done.stderr
    assert "job/killed has done 1 of 3: the rest is run" in done.stderr
    assert sorted((longshore.home / "ran").read_text().split()) == ["a", "b", "b", "c"]
    new, old = history(longshore)
    assert (new["result"], new["succeeded"]) == ("complete", 3)
    assert not (runs_of(longshore) / str(old["id"]) / "live").exists()


def test_resuming_takes_items_by_their_text(longshore: Command) -> None:
    process = half_done(longshore, "grown")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    (longshore.home / "three").write_text("new\nc\nb\na\na\n")
    words = ("run", "--name", "grown", "--resume", "--each", "three", "--", "sh", "-c", "echo {} {#} >> ran2")
    done = longshore(*words)
    assert done.exit == 0, done.stderr
    ran = (longshore.home / "ran2").read_text().splitlines()
    assert sorted(ran) == ["a 5", "b 3", "c 2", "new 1"]
    again = longshore(*words)
    assert (again.exit, "nothing to run" in again.stderr) == (0, True)
    assert len((longshore.home / "ran2").read_text().splitlines()) == 4


def test_resuming_for_the_first_time_runs_everything(longshore: Command) -> None:
    done = longshore("run", "--name", "first", "--resume", "--completions", "2", "--logs", "--", "echo", "x")
    assert (done.exit, len(done.stdout.splitlines())) == (0, 2)
    assert "no earlier run named first is known" in done.stderr


def test_what_cannot_be_resumed_is_refused(longshore: Command) -> None:
    assert longshore("run", "--resume", "--", "true").exit == 2
    failing(longshore)
    done = longshore("run", "--name", "conv", "--resume", "--completions", "3", "--", "true")
    assert (done.exit, "did other work" in done.stderr) == (2, True)


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_record_that_is_half_written_breaks_nothing(longshore: Command, cut: int) -> None:
    failing(longshore)
    (kept,) = runs_of(longshore).iterdir()
    journal = kept / "journal"
    journal.write_bytes(journal.read_bytes()[:-cut])
    (runs_of(longshore) / "20260101-000000-aaaa").mkdir()
    (runs_of(longshore) / "a-file").write_text("{")
    (row,) = history(longshore)
    assert (row["name"], row["result"]) == ("conv", "interrupted")
    longshore.ok("run", "--", "true")
    assert len(history(longshore)) == 2


def test_every_beginning_of_a_record_can_be_read(longshore: Command) -> None:
    failing(longshore)
    (kept,) = runs_of(longshore).iterdir()
    journal = kept / "journal"
    content = journal.read_bytes()
    for length in range(0, len(content), 7):
        journal.write_bytes(content[:length])
        record = run_records.read(kept)
        assert record is None or record.result == "interrupted"


def test_a_longshore_can_be_started_where_runs_are_kept(longshore: Command) -> None:
    longshore.ok("run", "--", "true")
    assert (longshore.home / "data").stat().st_mode & 0o777 == 0o700
    with longshore.up():
        assert [row["where"] for row in history(longshore)] == ["throw-away"]
        longshore.ok("run", "--throw-away", "--", "true")
        assert len(history(longshore)) == 2


def test_a_directory_of_others_is_left_alone(longshore: Command) -> None:
    data = longshore.home / "data"
    data.mkdir(mode=0o755)
    (data / "theirs").touch()
    assert longshore.ok("run", "--", "echo", "hi") == "hi\n"
    assert os.listdir(data) == ["theirs"]


def test_where_nothing_can_be_kept_it_runs_all_the_same(longshore: Command) -> None:
    (longshore.home / "data").write_text("a file")
    assert longshore.ok("run", "--", "echo", "hi") == "hi\n"


def kept_run(root: Path, begun: float, size: int, pods: int = 0) -> Path:
    """A run that was killed, with logs of so many pods."""
    made = shelf.begin(root, begun)
    job = {"metadata": {"name": "j", "namespace": "default", "uid": "u"}, "spec": {"completions": 1}}
    failure = {"uid": "u", "failure": {"pod": "j-z", "index": 0, "why": "exit code 1"}}
    lines = [{"begun": begun, "needed": []}, {"uid": "u", "kind": "job", "object": job}, failure]
    (made / "journal").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for pod in ["j-z", *(f"j-{number}" for number in range(pods))]:
        log = made / "live" / "node" / "logs" / f"default_{pod}_u" / "main" / "0.log"
        log.parent.mkdir(parents=True)
        log.write_bytes((b"2026-11-16T00:00:00.000000000Z stdout F %s\n" % (b"x" * 50)) * (size // 100))
    return made


def test_old_runs_and_those_that_are_too_many_or_too_large_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "MAX_RUNS", 3)
    monkeypatch.setattr(shelf, "MAX_BYTES", 3000)
    now = 1_800_000_000.0
    for age in (8 * 86400, 50, 40, 30, 20):
        kept_run(tmp_path, now - age, 1000)
    shelf.prune(tmp_path, now)
    assert [record.begun for record in run_records.every(tmp_path)] == [now - 20, now - 30, now - 40]
    (kept_run(tmp_path, now - 10, 1000) / "items").write_bytes(b"x" * 2300)
    shelf.prune(tmp_path, now)
    assert [record.begun for record in run_records.every(tmp_path)] == [now - 10]


def test_runs_of_one_second_are_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    begun = [1_800_000_000.0 + number / 1000 for number in range(0, 1000, 40)]
    for moment in begun:
        kept_run(tmp_path, moment, 100)
    assert [record.begun for record in run_records.every(tmp_path)] == begun[::-1]


def test_a_run_that_another_process_tidies_is_left_to_it(tmp_path: Path) -> None:
    made = kept_run(tmp_path, 1000.0, 1000)
    descriptor = os.open(made, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    shelf.tidy(made, 2000.0)
    assert (made / "live").exists()
    os.close(descriptor)
    shelf.tidy(made, 2000.0)
    assert not (made / "live").exists()
    before = (made / "logs.zip").read_bytes()
    shelf.tidy(made, 3000.0)
    assert (made / "logs.zip").read_bytes() == before
    record = run_records.read(made)
    assert record is not None
    assert (record.ended, [len(each.failures) for each in record.objects.values()]) == (2000.0, [1])


def test_logs_of_one_run_are_bounded_and_failed_pods_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "MAX_RUN_LOGS", 3)
    monkeypatch.setattr(shelf, "MAX_LOG_BYTES", 1000)
    made = kept_run(tmp_path, 1000.0, 50_000, pods=5)
    shelf.tidy(made, 2000.0)
    with ZipFile(made / "logs.zip") as packed:
        kept = sorted(name.split("/")[0] for name in packed.namelist())
        log = packed.read("default_j-z_u/main/0.log").decode()
    assert kept == ["default_j-0_u", "default_j-1_u", "default_j-z_u"]
    assert 900 < len(log) <= 1000
    assert all(line.endswith("x" * 50) and line.startswith("2026") for line in log.splitlines())
    record = run_records.read(made)
    assert record is not None
    assert (record.result, record.ended, record.size is not None) == ("interrupted", 2000.0, True)
    monkeypatch.setattr(shelf, "MAX_RUN_BYTES", 2500)
    small = kept_run(tmp_path, 1001.0, 50_000, pods=5)
    shelf.tidy(small, 2000.0)
    with ZipFile(small / "logs.zip") as packed:
        assert len(packed.namelist()) == 2


def test_logs_in_several_files_and_of_several_runs_come_in_their_order(longshore: Command) -> None:
    longshore.ok("run", "--", "true")
    made = kept_run(runs_of(longshore), time.time() + 5, 0)
    logs = made / "live" / "node" / "logs" / "default_j-z_u" / "main"
    stamp = b"2026-11-16T00:00:00.000000000Z stdout"
    for name, texts in {"0.log": ["F c"], "0.log.1": ["R 9", "F b"], "0.log.2": ["P a", "F A"]}.items():
        (logs / name).write_bytes(b"".join(b"%b %b\n" % (stamp, text.encode()) for text in texts))
    (logs / "1.log").write_bytes(b"%b P again" % stamp + b"\n")
    assert longshore.ok("logs", "j") == "aA\nb\nc\nagain"
    assert longshore.ok("logs", "j", "--tail", "1", "--prefix") == "[j-z] c\n[j-z] again\n"
    longshore.ok("run", "--", "true")
    assert (made / "logs.zip").exists()
    assert longshore.ok("logs", "j") == "aA\nb\nc\nagain"
