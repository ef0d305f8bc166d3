"""Outcome files, annotations, history, what-if and expectations: read exactly, refused with the rule."""

from __future__ import annotations

import random
from typing import Any

import pytest

from longshore.scripts import annotated_pods, script_documents
from longshore.scripts.pod_rules import Rule
from longshore.scripts.runs import Exit, Run, chosen
from longshore.sim import checks, variations
from longshore.sim.pictures import table
from longshore.sim.settings import amounts, nodes, outcomes_of
from sim.worlds import START, cron_job, job, played

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "i"}]},
}


def lengths(value: Any) -> list[float]:
    rng = random.Random(1)
    drawn = [Run(script_documents.duration(value)).drawn(rng).ends_after for _ in range(200)]
    return [each for each in drawn if each is not None]


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (90, 90, 90),
        ("1h30m", 5400, 5400),
        ("10s..60s", 10, 60),
        ({"uniform": {"from": "10s", "to": "20s"}}, 10, 20),
        (["1m", "2m"], 60, 120),
    ],
)
def test_durations_and_their_limits(value: Any, low: float, high: float) -> None:
    found = lengths(value)
    assert low <= min(found) <= max(found) <= high


@pytest.mark.parametrize(
    "value",
    [{"normal": {"mean": "5m", "deviation": "10s"}}, {"lognormal": {"median": "5m", "sigma": 0.1}}, "5m±10s"],
)
def test_distributions_lie_around_their_middle(value: Any) -> None:
    found = sorted(lengths(value))
    assert found[len(found) // 2] == pytest.approx(300, rel=0.1)


def test_a_file_says_how_pods_go_and_what_is_expected() -> None:
    found = outcomes_of(
        {
            "default": {"duration": "2m"},
            "pods": [{"name": "p", "attempts": [{"duration": 5, "exit": 1}, {"duration": 7}]}],
            "nodes": {"mtbf": "30d", "repair": "10m"},
            "evictions": {"mean": "12h"},
            "expect": {"job/x": "complete"},
        },
        START,
    )
    assert len(found.rules) == 2
    assert (found.troubles.node_mtbf, found.troubles.node_repair) == (30 * 86400, 600)
    assert found.troubles.eviction_mean == 12 * 3600
    assert found.expect == (checks.Expectation("job/x", "complete"),)


def test_attempts_take_what_they_leave_out_from_beside_them() -> None:
    short = {"name": "p", "duration": "5m", "exit": 1, "attempts": [{}, {"exit": 0}, {"duration": "1m"}]}
    long = [{"duration": "5m", "exit": 1}, {"duration": "5m", "exit": 0}, {"duration": "1m", "exit": 1}]
    found, same = (outcomes_of({"pods": [each]}, START) for each in (short, {"name": "p", "attempts": long}))
    assert found.rules[0].runs == same.rules[0].runs


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ([], "the outcome file: .* is no mapping"),
        ({"pod": []}, "there is no field 'pod'"),
        ({"pods": [{"nam": "x"}]}, r"pods\[0\]: there is no field 'nam'"),
        ({"pods": [{"duration": "3 minutes"}]}, "not a duration"),
        ({"pods": [{"duration": {"gamma": 1}}]}, "no distribution"),
        ({"pods": ["x"]}, r"pods\[0\]"),
    ],
)
def test_a_bad_file_is_refused_with_its_rule(document: Any, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        outcomes_of(document, START)


def test_annotations_of_a_cron_job_reach_its_pods() -> None:
    work = cron_job("c", "0 * * * *")
    work["metadata"]["annotations"] = {
        "sim.longshore.dev/duration": "3m",
        "sim.longshore.dev/exit-codes": "2",
    }
    annotated_pods.spread(work)
    notes = work["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["annotations"]
    run = chosen(
        annotated_pods.annotated({**POD, "metadata": {**POD["metadata"], "annotations": notes}}),
        random.Random(0),
    )
    assert (run.ends_after, run.code) == (180.0, 2)
    assert annotated_pods.is_annotated({"metadata": {"annotations": notes}})
    assert not annotated_pods.is_annotated(POD)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("complete", ""),
        ("done within 2m", ""),
        ("done before 00:02", ""),
        ("starts within 1s", ""),
        ("done within 30s", "it was done at 27 Mar 00:01"),
        ("done before 00:01", "it was done at 27 Mar 00:01"),
    ],
)
def test_expectations_hold_or_are_broken_in_a_sentence(rule: str, said: str) -> None:
    found = checks.broken(played(job()), checks.expectations({"job/x": rule}))
    assert (not found) if not said else (said in found[0])


@pytest.mark.parametrize(
    ("expect", "rule"),
    [
        ({"job/y": "complete"}, "there is no job/y"),
        ({"cronjob/*": "complete"}, r"there is no cronjob/\*"),
        ({"team/job/x": "complete"}, "there is no team/job/x"),
        ({"job/x": "soon"}, "expect: job/x: soon: 'soon' is no rule"),
        ({"job/x": "done before noon"}, "'noon' is no time of day"),
        ({"job/x": "done within x"}, "expect: job/x: done within x: 'x' is not a duration"),
        ({"job/x": "never skipped"}, "job/x is no CronJob"),
        ([{"job/x": ["complete", "soon"]}], "'soon' is no rule"),
        (["job/x complete"], "'job/x complete' is no mapping of a name to a rule"),
    ],
)
def test_a_bad_expectation_is_refused_before_anything_is_simulated(expect: Any, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        checks.check_names(checks.expectations(expect), [job()])


@pytest.mark.parametrize(
    "expect",
    [
        {"job/x": ["complete", "done before 06:00"], "cronjob/*": "complete"},
        [{"job/x": "complete"}, {"job/x": "done before 06:00"}, {"cronjob/*": ["complete"]}],
    ],
)
def test_expectations_are_a_mapping_or_a_list_with_patterns(expect: Any) -> None:
    found = checks.expectations(expect)
    checks.check_names(found, [job(), cron_job("c", "0 3 * * *")])
    assert [(each.name, each.text) for each in found] == [
        ("job/x", "complete"),
        ("job/x", "done before 06:00"),
        ("cronjob/*", "complete"),
    ]
    result = played(job(), cron_job("c", "0 3 * * *"), rules=[Rule("c-*", (Exit(1),))])
    assert [said.partition(":")[0].partition("-")[0] for said in checks.broken(result, found)] == ["job/c"]


def test_a_job_that_a_cron_job_makes_can_be_expected() -> None:
    checks.check_names(checks.expectations({"job/c-30101850": "complete"}), [cron_job("c", "0 3 * * *")])
    checks.check_names(checks.expectations({"job/*": "complete"}), [cron_job("c", "0 3 * * *")])
    flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": {"name": "f"}}
    checks.check_names(checks.expectations({"vcjob/*": "complete", "vcjob/f-a": "complete"}), [flow])
    with pytest.raises(ValueError, match="there is no vcjob/g"):
        checks.check_names(checks.expectations({"vcjob/g*": "complete"}), [flow])


def test_an_expectation_of_a_cron_job_is_about_the_runs_of_its_namespace() -> None:
    slow, quick = cron_job("backup", "0 2 * * *"), cron_job("backup", "0 3 * * *")
    slow["metadata"]["namespace"] = "team"
    rules = [Rule("*", (Run(1800.0),), namespace="team")]
    found = played(slow, quick, rules=rules)
    expect = checks.expectations(
        {"cronjob/backup": "done within 10m", "team/cronjob/backup": "done within 1h"}
    )
    assert checks.broken(found, expect) == []
    broken = checks.broken(found, checks.expectations({"team/cronjob/backup": "done within 10m"}))
    assert len(broken) == 1
    assert "after 30m" in broken[0]
    whole = {each.name: each.p50 for each in variations.spreads([found])}
    assert whole == {
        "cronjob/backup": pytest.approx(60, abs=5),
        "team/cronjob/backup": pytest.approx(1800, abs=5),
    }
    assert "JOB " not in table.of(found).replace("CRONJOB ", "")


def test_values_are_tried_side_by_side() -> None:
    changes = [variations.change("job/x.spec.parallelism=1,2"), variations.change("job/x.spec.completions=2")]
    found = {
        each.words: played(*each.objects).jobs[0].ended for each in variations.variants([job()], changes)
    }
    slow, quick = found.values()
    assert slow == pytest.approx(120, abs=3)
    assert quick == pytest.approx(60, abs=3)
    assert next(iter(found)) == "job/x.spec.parallelism=1, job/x.spec.completions=2"


@pytest.mark.parametrize("text", ["job/x", "job.spec=1", "pod/x.spec=1", "job/x.spec.parallelism"])
def test_a_bad_change_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="KIND/NAME"):
        variations.change(text)


def test_a_change_to_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no job/y"):
        [*variations.variants([job()], [variations.change("job/y.spec.parallelism=2")])]


def test_percentiles_are_values_that_were() -> None:
    assert variations.percentile([3, 1, 2], 0.5) == 2
    assert variations.percentile([*range(1, 101)], 0.95) == 95
    assert variations.percentile([], 0.5) is None


def test_nodes_have_what_is_asked_for() -> None:
    made = nodes(12, amounts("cpu=64,nvidia.com/gpu=8"))
    assert [each["metadata"]["name"] for each in made][:2] == ["node-00", "node-01"]
    assert made[0]["status"]["allocatable"]["nvidia.com/gpu"] == "8"


@pytest.mark.parametrize(("text", "rule"), [("cpu", "NAME=AMOUNT"), ("cpu=lots", "no quantity")])
def test_a_bad_amount_is_refused(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        amounts(text)
