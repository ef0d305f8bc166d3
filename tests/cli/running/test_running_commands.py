"""`longshore run -- COMMAND` on a throw-away longshore: real processes, exit codes, output, leftovers."""

from __future__ import annotations

import json
import re
import signal
import time

from support.living_processes import living, unique_seconds
from support.longshore_command import Command, ignoring_ctrl_c


def test_every_index_runs_once_where_the_caller_is(longshore: Command) -> None:
    script = longshore.home / "work.sh"
    script.write_text('#!/bin/sh\necho "$PWD $GIVEN" >> "out-$JOB_COMPLETION_INDEX"\n')
    script.chmod(0o755)
    done = longshore(
        "run", "--completions", "5", "--parallelism", "2", "--env", "GIVEN=x y", "--", "./work.sh"
    )
    assert done.exit == 0, done.stderr
    lines = {file.name: file.read_text() for file in longshore.home.glob("out-*")}
    assert lines == {f"out-{index}": f"{longshore.home} x y\n" for index in range(5)}
    assert "created: 5 completions, 2 at a time" in done.stderr
    assert "complete in" in done.stderr
    assert done.stdout == ""


def test_one_index_a_line_with_the_line_in_a_variable_and_in_braces(longshore: Command) -> None:
    items = ["plain", "with  blanks", "$(id) `id` 'quoted' \"too\"", "", "ümläut {}"]
    done = longshore(
        *("run", "--each", "-", "--parallelism", "3", "--logs", "--"),
        *("sh", "-c", 'printf "%s|%s|%s\\n" "{#}" "$LONGSHORE_ITEM" "$1"', "sh", "{}"),
        stdin="\n".join(items) + "\n",
    )
    assert done.exit == 0, done.stderr
    lines = sorted(line.partition("] ")[2] for line in done.stdout.splitlines())
    assert lines == [f"{number}|{item}|{item}" for number, item in enumerate(items, 1)]


def test_a_command_without_the_two_dashes_is_told_how_to_write_it(longshore: Command) -> None:
    done = longshore("run", "echo", "two words")
    assert done.exit == 2
    assert done.stderr.endswith("a command comes after two dashes: longshore run -- echo 'two words'\n")


def test_a_name_that_no_job_can_have_is_refused_by_its_flag(longshore: Command) -> None:
    done = longshore("run", "--name", "My_Run", "--", "true")
    assert done.exit == 2
    assert done.stderr.startswith("longshore: argument --name: 'My_Run' is not a name: write lower-case")


def test_a_failed_index_does_not_stop_the_others_and_its_last_words_are_shown(longshore: Command) -> None:
    broken = "i=$JOB_COMPLETION_INDEX; echo working on $i; [ $i != 1 ] || { echo no way >&2; exit 3; }"
    done = longshore("run", "--completions", "4", "--name", "some", "--", "sh", "-c", broken)
    assert done.exit == 1
    assert "job/some index 1 failed: exit code 3\n  | working on 1\n  | no way\n" in done.stderr
    assert "job/some failed: FailedIndexes" in done.stderr
    assert "3/4 complete, 1 failed); failed indexes: 1" in done.stderr
    assert re.search(
        r"^  \d\d:\d\d:\d\d  index 1 failed: exit code 3 in container main, \"no way\"", done.stderr, re.M
    )


def test_the_result_for_programs_is_all_there_is(longshore: Command) -> None:
    words = "sh", "-c", "echo last; exit $((JOB_COMPLETION_INDEX * 5))"
    done = longshore("run", "--completions", "2", "--name", "two", "-o", "json", "--", *words)
    assert (done.exit, done.stderr) == (1, "")
    result = json.loads(done.stdout)
    assert (result["result"], result["exitCode"]) == ("failed", 1)
    (run,) = result["runs"]
    assert (run["name"], run["result"], run["reason"]) == ("two", "failed", "FailedIndexes")
    assert (run["succeeded"], run["completedIndexes"], run["failedIndexes"]) == (1, "0", "1")
    (failure,) = run["failures"]
    assert (failure["index"], failure["exitCode"], failure["log"]) == (1, 5, ["last"])


def test_time_is_up_with_a_code_of_its_own_and_no_process_is_left(longshore: Command) -> None:
    seconds = unique_seconds()
    done = longshore("run", "--timeout", "1s", "--", "sleep", seconds)
    assert done.exit == 124
    assert "was stopped: 0/1 complete, 1 active; index 0 was running" in done.stderr
    assert "timed out after 1.0 s" in done.stderr
    assert not living(f"sleep {seconds}")


def test_ctrl_c_stops_cleanly_and_says_what_was_left(longshore: Command) -> None:
    seconds, begun = unique_seconds(), longshore.home / "begun"
    words = "sh", "-c", f"echo x >> {begun}; [ $JOB_COMPLETION_INDEX = 0 ] || exec sleep {seconds}"
    process = longshore.start(
        "run", "--completions", "3", "--parallelism", "1", "--name", "three", "--", *words
    )
    _until(lambda: begun.exists() and len(begun.read_text().splitlines()) == 2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "job/three was stopped: 1/3 complete, 1 active, 1 waiting; index 1 was running" in said
    assert not living(f"sleep {seconds}")


def test_in_the_background_of_a_script_it_goes_on_after_ctrl_c(longshore: Command) -> None:
    begun, gate = longshore.home / "begun", longshore.home / "gate"
    words = "sh", "-c", f"touch {begun}; until [ -e {gate} ]; do sleep 0.02; done"
    with ignoring_ctrl_c():
        process = longshore.start("run", "--", *words)
    _until(begun.exists)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    gate.touch()
    _, said = process.communicate(timeout=20)
    assert process.returncode == 0, said


def test_the_search_path_of_this_shell_can_be_handed_on(longshore: Command) -> None:
    done = longshore("run", "--env", "PATH", "--", "sh", "-c", "echo ${PATH:+there}")
    assert (done.exit, done.stdout) == (0, "there\n"), done.stderr


def test_bad_input_has_a_code_of_its_own_and_starts_nothing(longshore: Command) -> None:
    bad = "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {completions: -1, template: {}}}"
    done = longshore("run", "-", stdin=bad)
    assert done.exit == 2
    assert 'STDIN: The Job "x" is invalid:' in done.stderr
    assert "* spec.completions: Invalid value: -1: must be greater than or equal to 0" in done.stderr
    for words, message in (
        ((), "give either manifests or, after two dashes, a command"),
        (("missing.yaml",), 'the path "missing.yaml" does not exist'),
        (("--each", "missing", "--", "true"), "--each missing: No such file or directory"),
        (("--", "./nowhere"), "./nowhere: no such program"),
        (("--completions", "0", "--", "true"), "'0' is not a whole number above 0"),
        (("--name", "x", "some.yaml"), "--name is for a command, not for manifests"),
    ):
        refused = longshore("run", *words)
        assert (refused.exit, message in refused.stderr) == (2, True), refused.stderr


def _until(holds: object, seconds: float = 20) -> None:
    assert callable(holds)
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come so far"
        time.sleep(0.02)
