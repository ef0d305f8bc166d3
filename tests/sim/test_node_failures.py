"""A node's machine fails: that is noticed after 40 s, and its pods leave 300 s later."""

from __future__ import annotations

from datetime import timedelta

import pytest

from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Run
from longshore.sim.settings import outcomes_of
from longshore.testing.troubles import NodeFailure, Troubles
from sim.worlds import HOUR, START, job, played

SOON = 2.0
ALONE = [Rule("*", (Run(HOUR),))]


def down(at: float, seconds: float, node: str = "") -> Troubles:
    return Troubles(failures=(NodeFailure(node, at, seconds),))


def test_a_pod_of_a_node_that_dies_is_replaced_after_five_minutes_and_forty_seconds() -> None:
    """It runs from 0 to 600 in vain, is not ready from 600 + 40 on, and has to go 300 s later. The pause
    after a failure, ten seconds, counts from when it was not ready: another begins at once."""
    found = played(job(), count=2, rules=ALONE, troubles=down(600, 20 * 60))
    assert [(bar.node, bar.result) for bar in found.bars] == [("node-0", "evicted"), ("node-1", "succeeded")]
    assert found.bars[1].started == pytest.approx(600 + 340, abs=SOON)
    assert found.jobs[0].ended == pytest.approx(600 + 340 + HOUR, abs=SOON)
    (row,) = found.node_failures
    assert (row.node, row.at, row.ended) == ("node-0", pytest.approx(600), pytest.approx(600 + 1200))
    assert "node-0 fails at 27 Mar 00:10:00 for 20m" in found.remarks


def test_a_node_that_is_back_soon_ends_its_pods_then() -> None:
    """The node says after two minutes that the pod has failed, not ready since 40 s: the next begins
    at once."""
    found = played(job(), count=2, rules=ALONE, troubles=down(600, 120))
    assert [bar.result for bar in found.bars] == ["failed", "succeeded"]
    assert found.bars[0].ended == pytest.approx(720, abs=SOON)
    assert found.jobs[0].ended == pytest.approx(720 + HOUR, abs=SOON)


def test_a_container_that_restarts_goes_on_where_it_was() -> None:
    work = job()
    work["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    found = played(work, count=2, rules=ALONE, troubles=down(600, 120))
    assert [bar.node for bar in found.bars] == ["node-0"]
    assert found.jobs[0].ended == pytest.approx(720 + HOUR, abs=SOON)


def test_work_waits_for_the_only_node() -> None:
    found = played(job(), rules=[Rule("*", (Run(60.0),))], troubles=down(30, 2 * HOUR))
    assert [bar.result for bar in found.bars] == ["evicted", "succeeded"]
    assert found.jobs[0].ended == pytest.approx(30 + 2 * HOUR + 60, abs=SOON)


def test_a_failure_names_its_node() -> None:
    found = played(job(), count=2, rules=ALONE, troubles=down(600, 1200, "node-1"))
    assert found.jobs[0].ended == pytest.approx(HOUR, abs=SOON)
    assert found.node_failures[0].node == "node-1"
    with pytest.raises(ValueError, match=r"there is no node 'n' that could fail; there are: node-0"):
        played(job(), troubles=down(600, 1200, "n"))


@pytest.mark.parametrize(("at", "hours"), [("03:00", 2.0), ("01:00", 1.0), ("23:30", 22.5)])
def test_the_time_of_a_failure_is_a_time_of_day(at: str, hours: float) -> None:
    """The night of the change of the clock: 03:00 is two hours after midnight."""
    night = START + timedelta(days=1)
    found = outcomes_of({"nodes": {"at": at, "for": "20m", "name": "node-0"}}, night)
    assert found.troubles.failures == (NodeFailure("node-0", hours * HOUR, 1200.0),)


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ({"at": 780}, r"nodes.at: 780 is no text: quote it"),
        ({"at": "three"}, r"nodes.at: 'three' is no time of day, such as 06:00"),
        ({"for": "20m"}, r"nodes: for needs at"),
        ({"at": "03:00", "for": "never"}, r"nodes.for: "),
    ],
)
def test_an_odd_failure_is_refused(nodes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        outcomes_of({"nodes": nodes}, START)


def test_failures_by_dice_have_the_same_delays() -> None:
    troubles = Troubles(node_mtbf=2 * HOUR, node_repair=1800.0)
    found = played(
        job(completions=4, parallelism=1, backoffLimit=50), count=2, rules=ALONE, troubles=troubles, seed=4
    )
    evicted = [bar for bar in found.bars if bar.result == "evicted"]
    assert evicted
    for bar in evicted:
        assert any(
            bar.ended == pytest.approx(row.at + 340, abs=SOON)
            for row in found.node_failures
            if row.node == bar.node
        )
    assert found.jobs[0].result == "complete"
