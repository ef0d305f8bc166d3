"""Pictures: nodes, queues and work are lanes with pods inside; runs with other values are on one axis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from longshore.api.types import Obj
from longshore.cli.main import main
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Run
from longshore.sim.pictures import timeline
from longshore.sim.sim_result import SimResult
from longshore.testing.troubles import NodeFailure, Troubles
from sim.worlds import HOUR, START, cron_job, gang, job, played

HALF_HOUR = 1800.0
LONG = [Rule("*", (Run(HALF_HOUR),))]


def lanes(found: SimResult) -> dict[str, Obj]:
    return {row["name"]: row for row in timeline.of("x", {"": found})["rows"]}


def spans(lane: Obj) -> list[tuple[str, int, int]]:
    """The bars of a lane: state, from and to, in whole seconds from the start."""
    begun = START.timestamp()
    return [(bar["state"], round(bar["from"] - begun), round(bar["to"] - begun)) for bar in lane["bars"]]


def names(rows: Sequence[Obj]) -> list[str]:
    return [row["name"] for row in rows]


def test_gangs_wait_from_their_submission_and_have_their_pods_inside() -> None:
    found = lanes(played(gang("a", 4, "1"), gang("b", 4, "1"), rules=LONG))
    assert list(found) == ["node-0", "queue/default", "vcjob/a", "vcjob/b"]
    assert spans(found["vcjob/a"]) == [("done", 0, 1800)]
    (waited, waited_from, waited_to), (ran, *_) = spans(found["vcjob/b"])
    assert (waited, ran) == ("waiting", "done")
    assert (waited_from, waited_to) == (pytest.approx(1, abs=1), pytest.approx(1800, abs=3))
    assert names(found["vcjob/b"]["rows"]) == [f"w-{number}" for number in range(4)]
    assert found["vcjob/b"]["cells"][0] == "complete"
    assert found["vcjob/b"]["cells"][3].startswith("waited: needs 4 × 1 cpu, queue default")


def test_pods_of_a_job_are_inside_its_lane_and_those_of_one_pod_are_not() -> None:
    work = job("many", completions=3, parallelism=3), job("one")
    found = lanes(played(*work, rules=LONG))
    assert len(found["job/many"]["rows"]) == 3
    assert "rows" not in found["job/one"]
    assert found["job/one"]["bars"][0]["detail"] == "exit code 0, on node-0"


def test_work_of_two_namespaces_with_one_name_has_its_own_pods() -> None:
    here, there = job("x", completions=2, parallelism=2), job("x", completions=3, parallelism=3)
    there["metadata"]["namespace"] = "team-a"
    found = lanes(played(here, there, cpu="8", rules=LONG))
    assert [len(found[name]["rows"]) for name in ("job/x", "team-a/job/x")] == [2, 3]


def test_runs_of_a_cron_job_are_bars_of_one_lane() -> None:
    found = lanes(played(cron_job("hourly", "0 * * * *"), seconds=3 * HOUR, rules=LONG))
    lane = found["cronjob/hourly"]
    assert spans(lane) == [("done", n * 3600, n * 3600 + 1800) for n in range(3)]
    assert len(lane["rows"]) == 3
    assert lane["cells"] == ["3 of 3", "27 Mar 02:30:00", "30m", ""]


def test_nodes_have_their_use_over_time_and_their_failures() -> None:
    troubles = Troubles(failures=(NodeFailure("node-1", 600.0, 300.0),))
    work = job(completions=2, parallelism=2)
    found = lanes(played(work, cpu="1", count=2, rules=LONG, troubles=troubles))
    nodes = found["nodes"]
    assert names(nodes["rows"]) == ["node-0", "node-1"]
    first, failing = nodes["rows"]
    assert max(first["use"]["shares"]) == 1.0
    assert spans(failing) == [("failed", 600, 900)]
    assert failing["cells"][3] == "1 × down"
    assert nodes["use"]["shares"][0] == pytest.approx(1.0, abs=0.01)


def test_many_nodes_are_folded_and_few_are_not() -> None:
    few, many = (lanes(played(job(), count=count))["nodes"] for count in (8, 9))
    assert (few["open"], many["open"]) == (True, False)


def test_runs_with_other_values_are_one_above_the_other_on_one_axis() -> None:
    work = job(completions=2, parallelism=2)
    slow, quick = (played(work, cpu=cpu, rules=LONG) for cpu in ("1", "2"))
    found = timeline.of("x", {"with 1 cpu": slow, "with 2 cpu": quick})
    assert names(found["rows"]) == ["with 1 cpu", "with 2 cpu"]
    assert [names(row["rows"]) for row in found["rows"]] == [["node-0", "job/x"]] * 2
    assert found["end"] - found["start"] == pytest.approx(slow.seconds)
    drawn = timeline.svg(found, slow.zone)
    assert [drawn.index(f">{words}<") for words in names(found["rows"])] == sorted(
        drawn.index(f">{words}<") for words in names(found["rows"])
    )


def test_a_gang_that_has_no_pods_waits_to_the_end_of_the_picture() -> None:
    found = timeline.of("x", {"": played(job(), gang("large", 8, "1"), seconds=HOUR, until_done=False)})
    assert found["end"] - found["start"] == HOUR
    assert spans(found["rows"][-1]) == [("waiting", 0, 3600)]


def test_a_drawing_unfolds_what_is_small_alone() -> None:
    small, large = (job(completions=count, parallelism=4) for count in (10, 100))
    drawn = [timeline.svg(timeline.of("x", {"": played(each)}), "UTC") for each in (small, large)]
    texts = [len(ElementTree.fromstring(each).findall("{*}text")) for each in drawn]
    assert texts[0] > 10
    assert texts[1] < 20


def test_a_drawing_of_several_choices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifest = tmp_path / "job.json"
    manifest.write_text(json.dumps(job()))
    assert main(["sim", str(manifest), "--nodes", "1,2", "-o", "svg"]) == 0
    drawn = capsys.readouterr().out
    assert ">with 1 node<" in drawn
    assert ">with 2 nodes<" in drawn
