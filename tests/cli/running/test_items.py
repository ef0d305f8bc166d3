"""`longshore run --each`: items by name, in every form, with what failed ready for the next run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.longshore_command import Command

SHOW = 'printf "%s|" "$@"; echo'


def shown(longshore: Command, *words: str, args: str, stdin: str = "") -> list[str]:
    """What `args` become, one line an item."""
    done = longshore(
        *("run", *words, "--logs", "--", "sh", "-c", SHOW, "sh", *args.split(" ")), stdin=stdin, timeout=60
    )
    assert done.exit == 0, done.stderr
    return sorted(line.partition("] ")[2] for line in done.stdout.splitlines())


def test_placeholders_are_those_of_gnu_parallel(longshore: Command) -> None:
    found = shown(
        longshore,
        "--each",
        "-",
        args="{} {/} {//} {.} {/.} {#} {?} x{}y",
        stdin="photos/a b.tar.gz\nplain\n",
    )
    assert found == [
        "photos/a b.tar.gz|a b.tar.gz|photos|photos/a b.tar|a b.tar|1|{?}|xphotos/a b.tar.gzy|",
        "plain|plain|.|plain|plain|2|{?}|xplainy|",
    ]


def test_several_sources_make_every_combination(longshore: Command) -> None:
    (longshore.home / "a").write_text("1\n2\n")
    (longshore.home / "b").write_text("x\ny z\n")
    found = shown(longshore, "--each", "a", "--each", "b", args="{1} {2} {}")
    assert found == ["1|x|1 x|", "1|y z|1 y z|", "2|x|2 x|", "2|y z|2 y z|"]


def test_a_table_has_its_columns_by_name(longshore: Command) -> None:
    (longshore.home / "t.csv").write_text('name,size\n"a, b",3\nc,4\n')
    assert shown(longshore, "--each-csv", "t.csv", args="{name} {size} {2}") == ["a, b|3|3|", "c|4|4|"]


def test_a_row_of_a_table_ends_where_a_line_does_and_nowhere_else(longshore: Command) -> None:
    (longshore.home / "t.csv").write_text("name,size\na\u2028b,3\nc\x0cd,4\n")
    done = longshore("run", "--each-csv", "t.csv", "--", "test", "{size}", "-gt", "2")
    assert (done.exit, "2 of 2" in done.stderr) == (0, True), done.stderr


def test_a_table_from_excel_has_its_first_column_too(longshore: Command) -> None:
    (longshore.home / "t.csv").write_bytes(b"\xef\xbb\xbfname,size\r\na,1\r\n")
    done = longshore("run", "--each-csv", "t.csv", "--", "echo", "{name}", "{size}")
    assert (done.exit, done.stdout) == (0, "a 1\n"), done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--each-csv", "t.csv", "--", "touch", "{naem}"), "{naem} is no column of the table: name, size"),
        (("--each-csv", "t.csv", "--", "touch", "{3}{nmae}"), "{nmae} is no column of the table: name, size"),
        (
            ("--each-csv", "t.csv", "--", "sh", "-c", "touch {Name} ${x}"),
            "{Name} is no column of the table: ",
        ),
        (
            ("--each", "t.csv", "--each", "t.csv", "--", "touch", "{3}"),
            "{3} is no field of the items, which have 2",
        ),
        (("--", "touch", ":::", "a"), "::: is not understood here: give the items one per line with --each"),
        (("--each", "t.csv", "--", "touch", "::::", "t.csv"), ":::: is not understood here: give the items"),
        (("--shuffle", "--", "touch", "a"), "--shuffle needs the items of --each"),
        (("-0", "--", "touch", "a"), "--null needs the items of --each"),
        (("--raw-items", "--", "touch", "a"), "--raw-items needs the items of --each"),
    ],
)
def test_a_placeholder_that_means_nothing_is_an_error_before_anything_runs(
    longshore: Command, words: tuple[str, ...], problem: str
) -> None:
    (longshore.home / "t.csv").write_text("name,size\na,1\n")
    done = longshore("run", *words)
    assert (done.exit, done.stdout) == (2, "")
    assert done.stderr.startswith(f"longshore: {problem}"), done.stderr
    assert os.listdir(longshore.home) == ["t.csv"]


def test_braces_of_programs_are_left_alone(longshore: Command) -> None:
    (longshore.home / "t.csv").write_text("name,size\na,1\n")
    words = ("run", "--each-csv", "t.csv", "--", "echo")
    assert longshore(*words, "{ print }", "{a,b}", "{1..3}", "{name}").stdout == "{ print } {a,b} {1..3} a\n"
    assert longshore("run", "--", "echo", "{name}", "{}").stdout == "{name} {}\n"


def test_without_a_placeholder_the_item_is_the_last_argument(longshore: Command) -> None:
    words = ("run", "--each", "-", "-k", "--")
    assert longshore(*words, "echo", "-", stdin="a  b\n$(id)\n").stdout == "- a  b\n- $(id)\n"
    first = longshore(*words, "sh", "-c", 'echo "$1 $#"', "sh", stdin="a b\n")
    assert (first.stdout, "warning" in first.stderr) == ("a b 1\n", False)
    (longshore.home / "t.csv").write_text("name,size\na b,1\n")
    table = longshore("run", "--each-csv", "t.csv", "--", "sh", "-c", 'echo "$2 $1 $#"', "sh")
    assert table.stdout == "1 a b 2\n"


def test_a_shell_whose_text_uses_no_item_gets_it_as_its_name_with_a_warning(longshore: Command) -> None:
    words = ("run", "--each", "-", "--logs", "--", "sh", "-c")
    warning = "warning: the text of the shell uses no item: write {} in it"
    assert longshore(*words, "echo done", stdin="a\n").stderr.count(warning) == 1
    for text in ('echo "$0"', "echo ${0}", 'echo "$LONGSHORE_ITEM"'):
        done = longshore(*words, text, stdin="a\n")
        assert done.stdout.endswith("] a\n") or done.stdout == "a\n", done.stdout
        assert "warning" not in done.stderr


def test_items_that_end_with_a_zero_byte_may_hold_line_ends(longshore: Command) -> None:
    done = longshore(
        *("run", "-0", "--each", "-", "--logs", "--", "sh", "-c", 'printf %s "$1" | wc -l', "sh", "{}"),
        stdin="a\nb\0c\0",
    )
    assert done.exit == 0, done.stderr
    assert sorted(line.split()[-1] for line in done.stdout.splitlines()) == ["0", "1"]


def test_failures_are_named_and_written_for_the_next_run(longshore: Command) -> None:
    words = ("run", "--each", "-", "--failed-to", "left", "--name", "conv", "--", "sh", "-c")
    script = 'case "$LONGSHORE_ITEM" in bad*) exit 3;; esac'
    done = longshore(*words, script, stdin="good\nbad one\nfine\nbad two\n")
    assert done.exit == 1
    assert "job/conv index 1 (bad one) failed: exit code 3" in done.stderr
    assert "; failed: bad one, bad two" in done.stderr
    assert (longshore.home / "left").read_text() == "bad one\nbad two\n"
    again = longshore("run", "--each", "left", "-o", "json", "--", "false")
    (run,) = json.loads(again.stdout)["runs"]
    assert run["failedItems"] == ["bad one", "bad two"]
    assert sorted(failure["item"] for failure in run["failures"]) == ["bad one", "bad two"]


def test_failed_rows_of_a_table_are_a_table_for_the_next_run(longshore: Command) -> None:
    (longshore.home / "rows.csv").write_text('name,size\na,1\n"b, c",2\n')
    words = ("run", "--failed-to", "left.csv", "--each-csv", "rows.csv", "--", "test", "{name}", "=", "a")
    assert longshore(*words).exit == 1
    assert (longshore.home / "left.csv").read_text() == 'name,size\n"b, c",2\n'


def test_a_file_for_failed_items_that_cannot_be_written_is_told_before_anything_runs(
    longshore: Command,
) -> None:
    done = longshore("run", "--each", "-", "--failed-to", "no/where", "--", "touch", "ran", stdin="a\n")
    assert (done.exit, done.stderr) == (2, "longshore: --failed-to no/where: No such file or directory\n")
    assert not (longshore.home / "ran").exists()


def test_the_job_log_of_a_resumed_run_keeps_the_lines_of_the_runs_before(longshore: Command) -> None:
    words = (
        "run",
        "--name",
        "log",
        "--resume",
        "--joblog",
        "log",
        "--each",
        "-",
        "--",
        "sh",
        "-c",
        "test -e {}",
    )
    assert longshore(*words, stdin="/\nlater\n").exit == 1
    (longshore.home / "later").touch()
    assert longshore(*words, stdin="/\nlater\n").exit == 0
    header, *lines = (longshore.home / "log").read_text().splitlines()
    assert header.startswith("Seq\t")
    assert sorted((line.split("\t")[0], line.split("\t")[6]) for line in lines) == [
        ("1", "0"),
        ("2", "0"),
        ("2", "1"),
    ]


def test_the_job_log_has_gnu_parallels_columns(longshore: Command) -> None:
    done = longshore(
        *("run", "--each", "-", "--joblog", "log", "--", "sh", "-c", "exit $1", "sh", "{}"), stdin="0\n7\n"
    )
    assert done.exit == 1
    header, *lines = (longshore.home / "log").read_text().splitlines()
    assert header.split("\t") == (
        ["Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command"]
    )
    rows = sorted(line.split("\t") for line in lines)
    assert [(row[0], row[6], row[7], row[8]) for row in rows] == [
        ("1", "0", "0", "sh -c 'exit $1' sh 0"),
        ("2", "7", "0", "sh -c 'exit $1' sh 7"),
    ]
    assert all(float(row[2]) > 1e9 and float(row[3]) >= 0 for row in rows)


def test_the_times_of_the_job_log_and_of_results_have_milliseconds(longshore: Command) -> None:
    words = ("run", "--each", "-", "--joblog", "log", "--results", "out", "--name", "exact", "--")
    done = longshore(*words, "sleep", stdin="".join(f"0.{number}\n" for number in range(1, 9)))
    assert done.exit == 0, done.stderr
    lines = [line.split("\t") for line in (longshore.home / "log").read_text().splitlines()[1:]]
    took = {row[8].split()[1]: float(row[3]) for row in lines}
    assert len(took) == 8
    assert any(float(row[2]) % 1 for row in lines)
    for number in range(1, 9):
        result = json.loads((longshore.home / "out" / f"{number}-0.{number}" / "result.json").read_text())
        assert result["seconds"] == took[f"0.{number}"]
        assert re.fullmatch(r"[-\dT:]{19}\.\d{3}Z", result["startedAt"])
        assert result["startedAt"] < result["finishedAt"]
    (kept,) = json.loads(longshore.ok("history", "exact", "-o", "json"))["items"]
    assert re.fullmatch(r"[-\dT:]{19}\.\d{3}Z", kept["begun"])
    assert kept["begun"] < kept["ended"]


def test_no_items_are_no_failure(longshore: Command) -> None:
    done = longshore("run", "--each", "-", "--", "false", stdin="")
    assert (done.exit, done.stdout) == (0, "")
    assert "nothing to run" in done.stderr


def test_one_command_shows_its_output_as_it_is(longshore: Command) -> None:
    done = longshore("run", "--", "sh", "-c", "echo hi; echo there >&2")
    assert (done.exit, done.stdout) == (0, "hi\nthere\n")
    assert longshore("run", "--no-logs", "--", "echo", "hi").stdout == ""


def test_one_command_gets_no_line_end_that_it_did_not_write(longshore: Command) -> None:
    assert longshore("run", "--", "printf", "a\\nb").stdout == "a\nb"


def test_a_try_that_takes_too_long_has_failed(longshore: Command) -> None:
    done = longshore("run", "--timeout-each", "1s", "--", "sleep", "100")
    assert done.exit == 1
    told = [line for line in done.stderr.splitlines() if "longer" in line or "Deadline" in line]
    assert len(told) == 1, done.stderr
    assert told[0].endswith(" index 0 failed: it took longer than 1s (--timeout-each)")


def test_all_variables_are_passed_on_when_asked_for(longshore: Command) -> None:
    longshore.env["SECRET_OF_MINE"] = "x y"
    script = 'echo "<$SECRET_OF_MINE>"'
    assert longshore("run", "--", "sh", "-c", script).stdout == "<>\n"
    assert longshore("run", "--env-all", "--", "sh", "-c", script).stdout == "<x y>\n"


def test_a_dry_run_prints_a_manifest_that_runs(longshore: Command) -> None:
    done = longshore("run", "--dry-run", "--completions", "2", "--name", "x", "--", "touch", "made")
    assert done.exit == 0, done.stderr
    job = yaml.safe_load(done.stdout)
    assert (job["kind"], job["spec"]["completions"]) == ("Job", 2)
    assert not (longshore.home / "made").exists()
    (longshore.home / "job.yaml").write_text(done.stdout)
    assert longshore("run", "job.yaml").exit == 0
    assert (longshore.home / "made").exists()


def test_a_reader_that_has_enough_ends_it_quietly(longshore: Command) -> None:
    words = [sys.executable, "-m", "longshore", "run", "--", "sh", "-c", "yes"]
    pipe = " ".join(["set -o pipefail;", *(f"'{word}'" for word in words), "2>err | head -n 3"])
    done = subprocess.run(
        ["bash", "-c", pipe],
        cwd=longshore.home,
        env=longshore.environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (141, "y\ny\ny\n")
    said = (longshore.home / "err").read_text()
    assert "Traceback" not in said
    assert "Broken" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("--each", "x", "--each-csv", "y"),
        ("--failed-to", "f"),
        ("--each", "no"),
        ("--each", "-", "--each", "-"),
    ],
)
def test_what_makes_no_sense_is_refused(longshore: Command, words: tuple[str, ...]) -> None:
    done = longshore("run", *words, "--", "true")
    assert done.exit == 2, done
    assert os.listdir(longshore.home) == []


def test_a_row_of_another_length_is_refused_by_its_number(longshore: Command) -> None:
    Path(longshore.home / "t.csv").write_text("a,b\n1,2\n3\n")
    done = longshore("run", "--each-csv", "t.csv", "--", "true")
    assert done.exit == 2
    assert "row 3 has 1 fields, and the header has 2" in done.stderr
