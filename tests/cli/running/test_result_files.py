"""`run --results`: the two outputs, the exit code and the times of each item in files of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from longshore.cli.running import result_files
from support.longshore_command import Command


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    command = Command(tmp_path_factory.mktemp("home"))
    with command.up():
        yield command


def test_each_item_has_its_outputs_exit_code_and_times(longshore: Command) -> None:
    script = 'printf "out $1"; echo "err $1" >&2; [ "$1" != b/ad ] || exit 3'
    words = ("run", "--each", "-", "--results", "deep/out", "--", "sh", "-c", script, "sh", "{}")
    done = longshore(*words, stdin="a\nb/ad\n")
    assert (done.exit, done.stdout) == (1, "")
    out = longshore.home / "deep" / "out"
    assert sorted(each.name for each in out.iterdir()) == ["1-a", "2-b_ad"]
    for name, item, code in (("1-a", "a", 0), ("2-b_ad", "b/ad", 3)):
        assert (out / name / "stdout").read_text() == f"out {item}"
        assert (out / name / "stderr").read_text() == f"err {item}\n"
        assert (out / name / "exitcode").read_text() == f"{code}\n"
        found = json.loads((out / name / "result.json").read_text())
        assert (found["item"], found["exitCode"], found["try"]) == (item, code, 1)
        assert found["startedAt"] <= found["finishedAt"]


def test_the_last_of_several_tries_counts(longshore: Command) -> None:
    script = "echo try >> tries; wc -l < tries; [ $(wc -l < tries) -eq 2 ]"
    words = ("--completions", "1", "--retries", "2", "--backoff", "1s", "--results", "out", "--no-logs")
    assert longshore("run", *words, "--", "sh", "-c", script).exit == 0
    out = longshore.home / "out" / "1"
    assert (out / "stdout").read_text().strip() == "2"
    assert (out / "exitcode").read_text() == "0\n"
    assert json.loads((out / "result.json").read_text())["try"] == 2


def test_no_byte_is_lost_or_changed_on_a_longshore_that_stays(server: Command) -> None:
    (server.home / "noise").write_bytes(bytes(range(256)) * 5000)
    words = ("run", "--completions", "3", "--results", "out", "--", "sh", "-c")
    server.ok(*words, "cat noise; cat noise >&2; seq 1 700000")
    noise = (server.home / "noise").read_bytes()
    for number in ("1", "2", "3"):
        out = server.home / "out" / number
        assert (out / "stderr").read_bytes() == noise
        assert (out / "stdout").read_bytes() == noise + b"".join(b"%d\n" % n for n in range(1, 700001))


def test_the_log_of_such_a_pod_has_both_streams_and_each_alone(server: Command) -> None:
    server.ok("run", "--name", "both", "--results", "both", "--", "sh", "-c", "echo out; echo err >&2")
    assert sorted(server.ok("logs", "job/both").split()) == ["err", "out"]
    pod = server.ok("get", "pods", "-l", "job-name=both", "-o", "jsonpath={.items[0].metadata.name}")
    path = f"/api/v1/namespaces/default/pods/{pod}/log"
    assert server.ok("get", "--raw", f"{path}?stream=Stderr") == "err\n"
    assert server.ok("get", "--raw", f"{path}?stream=Stdout") == "out\n"
    for query in ("stream=Other", "stream=Stdout&tailLines=1"):
        assert server("get", "--raw", f"{path}?{query}").exit == 1


def test_other_pods_keep_one_stream(server: Command) -> None:
    server.ok("run", "--name", "plain", "--", "sh", "-c", "echo out; echo err >&2")
    pod = server.ok("get", "pods", "-l", "job-name=plain", "-o", "jsonpath={.items[0].metadata.name}")
    path = f"/api/v1/namespaces/default/pods/{pod}/log"
    assert server.ok("get", "--raw", f"{path}?stream=Stdout") == "out\nerr\n"


def test_what_cannot_be_written_is_refused_before_anything_runs(longshore: Command) -> None:
    (longshore.home / "file").touch()
    done = longshore("run", "--results", "file/out", "--", "touch", "ran")
    assert (done.exit, "--results file/out: " in done.stderr) == (2, True)
    assert not (longshore.home / "ran").exists()
    (longshore.home / "job.yaml").write_text("{}")
    assert longshore("run", "--results", "out", "job.yaml").exit == 2


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("", "1"),
        ("..", "1"),
        ("a\nb\x00/c", "1-a_b_c"),
        ("ü" * 300, "1-" + "ü" * 100),
        ("/etc/passwd", "1-_etc_passwd"),
    ],
)
def test_names_are_safe_in_any_file_system(item: str, name: str, tmp_path: Path) -> None:
    found = result_files.name_of(0, item)
    assert found == name
    (tmp_path / found).mkdir()
