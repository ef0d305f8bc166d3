"""The benchmarks run and print every figure. How fast is another question: bench/README.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.places import ROOT

API = ROOT / "bench" / "api.py"
FIGURES = {
    "ready": ("ready, first start", "ready, next start"),
    "memory": ("idle memory, RSS", "idle memory, PSS"),
    "creates": ("durable creates, pods", "durable creates, jobs", "durable creates, configmaps"),
    "lists": ("list of 200 pods",),
    "watches": ("5 watchers, 50 events/s, seen", "5 watchers, 50 events/s, lag p99"),
    "growth": ("a create among 100", "a create among 400", "cost, most against fewest objects"),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_quick_run_prints_its_figures(figure: str) -> None:
    run = subprocess.run(
        [sys.executable, str(API), "--quick", figure], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    for line in FIGURES[figure]:
        assert line in run.stdout


def test_an_unknown_figure_is_refused_by_name() -> None:
    run = subprocess.run([sys.executable, str(API), "nope"], capture_output=True, text=True)
    assert run.returncode == 2
    assert "no such figure: nope" in run.stderr


def test_a_quick_run_of_jobs_prints_its_figures() -> None:
    run = subprocess.run(
        [sys.executable, str(API.with_name("jobs.py")), "--quick"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    for line in ("one-pod Jobs, in process", "one-pod Jobs, over HTTP", "cost of a pod", "memory at the end"):
        assert line in run.stdout


def test_a_quick_run_of_volcano_jobs_prints_its_figures() -> None:
    run = subprocess.run(
        [sys.executable, str(API.with_name("volcano.py")), "--quick"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    for line in ("one-pod Volcano Jobs", "3 gangs of 5", "pods of these gangs", "memory at the end"):
        assert line in run.stdout


def test_a_quick_run_of_pods_prints_its_figures() -> None:
    run = subprocess.run(
        [sys.executable, str(API.with_name("run.py")), "--quick"], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    for line in (
        "50 x /bin/true, one Indexed Job",
        "CPU time for a pod",
        "longshore against xargs",
        "longshore against parallel",
        "apply to first instruction, p50",
        "apply to first instruction, p99",
        "memory for each of 10 sleeping pods",
    ):
        assert line in run.stdout


def test_a_quick_count_of_writes_names_each_of_them() -> None:
    run = subprocess.run(
        [sys.executable, str(API.with_name("writes.py")), "--quick"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert "pods of one Indexed Job: writes for a pod" in run.stdout
    assert "Jobs of one pod: writes for a pod" in run.stdout
    for name in ("Pod created, with its node", "Event Scheduled", "Event Created"):
        assert f"  {name}\n" in run.stdout
    for name in ("Pod: metadata.finalizers", "Job created"):
        assert f"1.00  {name}\n" in run.stdout


def test_peers_have_a_row_each_with_figures_or_the_reason_why_not(tmp_path: Path) -> None:
    tools = ["longshore", "xargs", "pueue", "dask"]
    run = subprocess.run(
        [
            sys.executable,
            str(API.with_name("peers.py")),
            "--quick",
            "--environments",
            str(tmp_path),
            *tools,
        ],
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert run.returncode == 0, run.stderr
    rows = run.stdout.splitlines()[2:]
    for row, title in zip(rows[:2], ("longshore up, longshore run", "xargs -P8"), strict=True):
        assert re.match(rf"\| {title} \| [0-9.]+ s \| [0-9.,]+ \(of 5\) \| [0-9,]+ MB \|", row), row
    assert "not in PyPI or apt" in rows[2]
    assert "not installed: dask, distributed (--install)" in rows[3]


def test_a_short_soak_prints_memory_and_its_growth() -> None:
    words = ["--minutes", "0.1", "--rate", "5"]
    run = subprocess.run(
        [sys.executable, str(API.with_name("soak.py")), *words], capture_output=True, text=True, timeout=120
    )
    assert re.search(r"^  0\.\d min +\d+\.\d MB +\d+\.\d MB keeper .* \d+ events$", run.stdout, re.MULTILINE)
    assert re.search(r"^memory: .* at the end: [+-]\d+\.\d%", run.stdout, re.MULTILINE), run.stderr


def test_a_quick_run_of_growth_prints_its_figures_and_draws_them(tmp_path: Path) -> None:
    picture = tmp_path / "growth.svg"
    run = subprocess.run(
        [sys.executable, str(API.with_name("growth.py")), "--quick", "--picture", str(picture)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    for line in (
        "a Job beside finished Jobs",
        "a pod's end beside active pods",
        "a page of 500 pods",
        "memory for a finished pod",
        "a restart",
    ):
        assert line in run.stdout
        assert line.replace("'", "&#x27;") in picture.read_text()


def test_the_table_has_a_row_for_each_figure_of_the_measurements_that_are_asked_for() -> None:
    words = ["--quick", "goload", "ends"]
    run = subprocess.run(
        [sys.executable, str(API.with_name("table.py")), *words], capture_output=True, text=True, timeout=180
    )
    assert run.returncode == 0, run.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run.stdout.splitlines()[2:]]
    assert [row[0] for row in rows] == [
        "goload: a one-pod Job, protobuf, 32 workers",
        "goload: a one-pod Job, JSON, 8 workers",
        "goload: a pod of one Indexed Job, protobuf",
        "goload: a pod of one Indexed Job, JSON",
        "a TLS handshake with a client certificate",
        "a pod's end, 5,000 against 50 active pods",
    ]
    for row in rows:
        assert re.match(r"-?\d", row[1]), row


@pytest.mark.parametrize("form", ["protobuf", "json"])
def test_a_go_clients_load_is_answered_to_the_last_job(form: str, tmp_path: Path) -> None:
    words = ["up", "--port", "0", "--data-dir", str(tmp_path), "--no-node", "--no-scheduler"]
    with subprocess.Popen(
        [sys.executable, "-m", "longshore", *words], stdout=subprocess.PIPE, text=True
    ) as up:
        try:
            assert up.stdout is not None
            assert "ready at" in up.stdout.readline()
            load = [sys.executable, str(API.with_name("goload.py"))]
            load += ["--kubeconfig", str(tmp_path / "kubeconfig"), "--jobs", "30", "--pid", str(up.pid)]
            run = subprocess.run(
                load + (["--json"] if form == "json" else []), capture_output=True, text=True, timeout=120
            )
        finally:
            up.terminate()
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert (told["content"], told["jobs"]) == (form, 30)
    assert told["server_cpu_ms_per_job"] > 0


def test_controllers_outside_run_against_a_server_that_costs_nothing() -> None:
    words = ["--jobs", "2", "--pods", "3", "--cached", "0"]
    run = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "outside.py"), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    figures = json.loads(run.stdout)
    assert figures["complete"] == 2
    assert figures["requests"]["POST pods"] == figures["requests"]["PATCH pods"] == 6
    assert figures["CPU ms for a pod"] > 0
