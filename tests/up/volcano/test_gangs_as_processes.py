"""The examples of Volcano Jobs: processes that find each other by nothing but what the plugins tell them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.longshore_command import Command
from support.real_gangs import EXAMPLES, Jobs

pytestmark = pytest.mark.xdist_group("volcano-real")


def test_four_ranks_meet_at_the_masters_name_and_all_get_the_sum(jobs: Jobs) -> None:
    name = jobs.example("pytorch-allreduce")
    assert jobs.ended(name)["state"]["phase"] == "Completed"
    members = ("master-0", "worker-0", "worker-1", "worker-2")
    said = [jobs.log(f"{name}-{member}").strip() for member in members]
    assert said == [f"rank {rank} of 4: the sum is 10" for rank in range(4)]


def test_a_launcher_runs_a_command_on_each_of_its_workers(jobs: Jobs) -> None:
    name = jobs.example("mpi-launcher")
    assert jobs.ended(name)["state"]["phase"] == "Completed"
    said = jobs.log(f"{name}-launcher-0").splitlines()
    assert said == [f"launch-worker-{n}.launch: rank {n} is launch-worker-{n}" for n in range(3)]


def test_workers_that_depend_on_a_parameter_server_start_after_it(jobs: Jobs) -> None:
    name = jobs.example("parameter-server")
    assert jobs.ended(name)["state"]["phase"] == "Completed"
    for number in range(2):
        assert jobs.log(f"{name}-worker-{number}").strip() == f"worker {number} of 2: 7.00"
    # The script itself gives up at once if the server's name is not there yet; and by the clock:
    [started] = [e for e in jobs.events(f"{name}-ps-0") if e["reason"] == "Started"]
    made = [pod["metadata"]["creationTimestamp"] for pod in jobs.pods(name).values()]
    assert len(made) == 2
    assert min(made) >= started["firstTimestamp"]


def test_a_failing_worker_restarts_its_task_alone_and_then_succeeds(jobs: Jobs) -> None:
    name = jobs.example("restart-task")
    assert jobs.ended(name)["state"]["phase"] == "Completed"
    assert jobs.log(f"{name}-worker-0").strip() == "worker 0 goes on from its checkpoint"
    assert jobs.log(f"{name}-steady-0").strip() == "was never restarted"
    told = [event["message"] for event in jobs.events(name)]
    assert any("RestartTask" in message for message in told), told


def test_longshore_run_takes_every_example_to_its_end(tmp_path: Path) -> None:
    done = Command(tmp_path)("run", str(EXAMPLES), "-o", "json", "--timeout", "40s")
    result = json.loads(done.stdout)
    assert (done.exit, result["result"]) == (0, "complete"), (result, done.stderr)
    runs = {run["name"]: run for run in result["runs"]}
    assert runs.keys() == {"allreduce", "launch", "ps", "restart-task"}
    # The pod was deleted by the restart; what it wrote is told all the same.
    assert [each["log"] for each in runs["restart-task"]["failures"]] == [["worker 0 fails half way"]]


def test_longshore_run_tells_of_a_gang_that_fails(tmp_path: Path) -> None:
    text = (EXAMPLES / "restart-task.yaml").read_text().replace("action: RestartTask", "action: AbortJob")
    tmp_path.joinpath("aborted.yaml").write_text(text)
    done = Command(tmp_path)("run", "aborted.yaml", "-o", "json", "--timeout", "40s")
    run = json.loads(done.stdout)["runs"][0]
    assert (done.exit, run["result"]) == (1, "failed"), run
    assert [(each["pod"], each["exitCode"]) for each in run["failures"]] == [("restart-task-worker-0", 3)]


def test_every_example_says_what_it_shows() -> None:
    for file in EXAMPLES.glob("*.yaml"):
        assert len(file.read_text().splitlines()[0]) > 40, file
