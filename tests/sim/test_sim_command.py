"""`longshore sim` as people type it, on the examples of the docs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from html import unescape
from pathlib import Path

import pytest

from longshore.cli.main import main
from sim.worlds import job
from support.places import ROOT

EXAMPLES = ROOT / "examples/sim"
NIGHT = ("sim", str(EXAMPLES / "night.yaml"), "--start", "2027-03-27T00:00", "--zone", "Europe/Berlin")
HOW = ("--outcomes", str(EXAMPLES / "outcomes.yaml"))


def test_the_table_tells_jobs_cron_jobs_and_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NIGHT, "--for", "2d", *HOW]) == 0
    out = capsys.readouterr().out
    assert "job/report" in out
    assert "cronjob/backup" in out
    assert "node-0" in out


def test_expectations_decide_the_exit_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*NIGHT, "--for", "1d", *HOW, "--check"]) == 0
    strict = tmp_path / "strict.yaml"
    strict.write_text("expect: {job/report: done within 1m}\n")
    assert main([*NIGHT, "--for", "1d", "--outcomes", str(strict), "--check"]) == 1
    assert "broken: job/report: expected done within 1m" in capsys.readouterr().err


def test_a_start_has_whole_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--start", "2027-03-27T02:30:00.5", "--zone", "Europe/Berlin", "--for", "1h", "-o", "json")
    assert main([*NIGHT[:2], *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["start"] == "2027-03-27T02:30:00+01:00"
    assert found["cron_jobs"][0]["runs"] == 1


def test_without_outcomes_it_says_what_it_assumes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifest = tmp_path / "plain.yaml"
    manifest.write_text((EXAMPLES / "night.yaml").read_text().split("---")[1])
    assert main(["sim", str(manifest)]) == 0
    assert "took the default of 60 s and success" in capsys.readouterr().out


def test_what_if_and_percentiles(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main([*NIGHT, "--for", "6h", *HOW, "--set", "job/report.spec.parallelism=4,16", "--runs", "2"]) == 0
    )
    out = capsys.readouterr().out
    assert "with job/report.spec.parallelism=4:" in out
    assert "with job/report.spec.parallelism=16:" in out
    assert out.count("P95") == 2


def test_a_gang_that_never_fits_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    gpus = str(EXAMPLES / "gpus.yaml")
    assert main(["sim", gpus, "--nodes", "2", "--node", "cpu=64,nvidia.com/gpu=8"]) == 0
    out = capsys.readouterr().out
    said = "it asks for 24 nvidia.com/gpu at once, all nodes together have 16"
    assert f"! vcjob/large can never start: {said}" in out
    assert "vcjob/small   complete" in out


def test_a_refused_manifest_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifest = tmp_path / "gpus.yaml"
    manifest.write_text((EXAMPLES / "gpus.yaml").read_text().replace(', limits: {nvidia.com/gpu: "2"}', ""))
    assert main(["sim", str(manifest)]) == 2
    said = capsys.readouterr().err
    assert re.match(r"longshore: Job (small|large): admission webhook .*Limit must be set", said)


def test_what_if_in_json_and_on_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    tried = ("--for", "1h", "--set", "job/report.spec.parallelism=4,16")
    assert main([*NIGHT, *HOW, *tried, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["with"] for each in found] == [f"job/report.spec.parallelism={n}" for n in (4, 16)]
    assert [len(each["results"]) for each in found] == [1, 1]
    assert main([*NIGHT, *HOW, *tried, "-o", "html"]) == 0
    page = capsys.readouterr().out
    assert page.count("<html") == 1
    assert page.count("<ls-gantt fills>") == 1
    assert all(f'"name":"with job/report.spec.parallelism={n}"' in page for n in (4, 16))
    assert main([*NIGHT, *HOW, *tried, "-o", "trace"]) == 2
    assert "-o trace shows one simulation" in capsys.readouterr().err


def test_work_of_a_namespace_that_nobody_gave_is_played(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    manifest = tmp_path / "other.yaml"
    manifest.write_text(json.dumps({**job("x"), "metadata": {"name": "x", "namespace": "team-a"}}))
    assert main(["sim", str(manifest)]) == 0
    assert "team-a/job/x   complete" in capsys.readouterr().out


def test_numbers_of_nodes_are_tried_side_by_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifest, outcomes = tmp_path / "job.yaml", tmp_path / "outcomes.yaml"
    manifest.write_text(json.dumps(job(completions=4, parallelism=4)))
    outcomes.write_text("default: {duration: 10m}\n")
    asked = ("sim", str(manifest), "--outcomes", str(outcomes), "--node", "cpu=1", "--nodes", "1,2,4")
    assert main(asked) == 0
    told = capsys.readouterr().out
    assert re.findall("(?m)^with (.*):$", told) == ["1 node", "2 nodes", "4 nodes"]
    head, row = told.splitlines()[-2:]
    assert re.split(" {2,}", head) == ["WORK", "1 node", "2 nodes", "4 nodes"]
    assert re.split(" {2,}", row) == ["job/x", "40m", "20m (-20m)", "10m (-30m)"]
    assert main([*asked, "-o", "json"]) == 0
    assert [each["with"] for each in json.loads(capsys.readouterr().out)] == ["1 node", "2 nodes", "4 nodes"]
    outcomes.write_text("default: {duration: 10m}\nexpect: {job/x: done within 15m}\n")
    assert main([*asked, "--check"]) == 1
    told = capsys.readouterr().err
    assert re.findall("(?m)^broken: (.*): job/x: expected done within 15m;", told) == [
        "with 1 node",
        "with 2 nodes",
    ]


def test_work_that_fails_or_never_ends_is_told_side_by_side(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    manifest = tmp_path / "job.yaml"
    objects = [job("x", cpu="2"), job("y", activeDeadlineSeconds=30), job("z")]
    manifest.write_text("\n---\n".join(map(json.dumps, objects)))
    tried = ("--set", "job/x.spec.suspend=false,true", "--set", "job/y.spec.activeDeadlineSeconds=90,30")
    assert main(["sim", str(manifest), *tried]) == 0
    rows = [re.split(" {2,}", line) for line in capsys.readouterr().out.splitlines()[-3:]]
    assert rows == [
        ["job/x", "1m", "1m", "does not end", "does not end"],
        ["job/y", "1m", "30s (-30s), 0% complete", "1m", "30s (-30s), 0% complete"],
        ["job/z", "1m", "1m", "1m", "1m"],
    ]


def test_numbers_of_nodes_beside_nodes_of_the_manifests_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"capacity": {"cpu": "4"}},
    }
    manifest = tmp_path / "job.yaml"
    manifest.write_text("\n---\n".join(map(json.dumps, [job(), node])))
    assert main(["sim", str(manifest), "--nodes", "1,2"]) == 2
    assert "--nodes: the manifests have nodes of their own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("start", "until", "hours"),
    [
        ("2027-03-26T22:00", "06:00", 8),
        ("2027-03-27T22:00", "06:00", 7),  # clocks go forward in that night
        ("2027-03-26T02:00", "06:00", 4),
        ("2027-03-26T06:00", "06:00", 24),
        ("2027-03-26T21:00+00:00", "06:00", 8),
    ],
)
def test_a_night_ends_at_a_time_of_day(
    start: str, until: str, hours: int, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--start", start, "--zone", "Europe/Berlin", "--until", until, "-o", "json")
    assert main([*NIGHT[:2], *HOW, *asked]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] == hours * 3600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--until", "noon"), "--until: 'noon' is no time of day, such as 06:00, nor done"),
        (("--until", "06:00", "--for", "1d"), "--for and --until 06:00 are two ends: give one of them"),
    ],
)
def test_an_end_that_cannot_be_is_refused(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*NIGHT, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_whole_numbers_are_whole_in_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifest, outcomes = tmp_path / "job.yaml", tmp_path / "outcomes.yaml"
    manifest.write_text(json.dumps(job(completions=2, parallelism=1, activeDeadlineSeconds=120)))
    outcomes.write_text("default: {duration: 90}\n")
    asked = (
        "sim",
        str(manifest),
        "--outcomes",
        str(outcomes),
        "--nodes",
        "1",
        "--node",
        "cpu=1",
        "-o",
        "json",
    )
    assert main(asked) == 0
    text = capsys.readouterr().out
    found = json.loads(text)
    row, node = found["jobs"][0], found["nodes"][0]
    times = [row["queued"], row["ended"], found["seconds"], node["used"]["cpu"], found["bars"][0]["ended"]]
    assert times == [0, 120, 120, 1, 90]
    assert [type(each) for each in times] == [int] * 5
    assert row["started"] == pytest.approx(0.025)
    assert not re.search(r"\.\d{7}", text)


@pytest.mark.parametrize("form", ["json", "timeline", "trace"])
def test_machine_readable_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NIGHT, "--for", "6h", *HOW, "-o", form]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["jobs" if form == "json" else "rows" if form == "timeline" else "traceEvents"]


def test_pictures_stand_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NIGHT, "--for", "6h", *HOW, "-o", "svg"]) == 0
    assert xml.fromstring(capsys.readouterr().out).tag.endswith("svg")
    assert main([*NIGHT, "--for", "6h", *HOW, "-o", "html"]) == 0
    page = unescape(capsys.readouterr().out)
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "import {" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give manifests, or --from-cluster"),
        (("--zone", "Mars"), "Mars"),
        (("--start", "noon"), "is no time"),
        (("--start", "0001-01-01T00:00"), "'0001-01-01T00:00' is not in the years 1971 to 9980"),
        (("--start", "9999-12-31"), "'9999-12-31' is not in the years 1971 to 9980"),
        (("--node", "cpu"), "NAME=AMOUNT"),
        (("--set", "x"), "KIND/NAME"),
        (("--outcomes", "/missing.yaml"), "cannot read /missing.yaml"),
        (("--check",), "--check needs"),
    ],
)
def test_bad_questions_are_refused(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = () if not arguments else (str(EXAMPLES / "gpus.yaml"),)
    assert main(["sim", *files, *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("length", ["0s", "3661d"])
def test_a_length_that_cannot_be_played_is_refused(length: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", str(EXAMPLES / "gpus.yaml"), "--for", length]) == 2
    said = f"'{length}' is no time to simulate: more than 0s, and at most 3660d"
    assert said in capsys.readouterr().err


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    def answer(hash_seed: int) -> bytes:
        command = [sys.executable, "-m", "longshore", *NIGHT, "--for", "12h", *HOW, "-o", "json"]
        environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert answer(1) == answer(2)


def test_a_rule_that_means_no_pod_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifest, outcomes = tmp_path / "job.json", tmp_path / "outcomes.yaml"
    manifest.write_text(json.dumps(job()))
    outcomes.write_text("default: {duration: 1m}\npods: [{job: y, exit: 1}, {job: x, duration: 2m}]\n")
    assert main(["sim", str(manifest), "--outcomes", str(outcomes)]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("!")]
    assert told == ["! the script of '*', job='y' never met a pod; misspelt?"]
