"""CronJobs: schedules, time zones, and the Job inside."""

from __future__ import annotations

from typing import Any

import pytest

from longshore.api import codec
from longshore.api.kinds.cronjob import STRATEGY as HOOKS
from longshore.api.strategy import Context
from longshore.api.types import copy_of

CONTEXT = Context("2026-01-01T00:00:00Z")
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1.36"}]}


def cronjob(name: str = "c", job: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    inner = {"spec": {"template": {"spec": POD}, **(job or {})}}
    body = {"metadata": {"name": name}, "spec": {"schedule": "0 * * * *", "jobTemplate": inner, **spec}}
    obj = codec.from_value(body, "batch/v1.CronJob").obj
    HOOKS.default(obj)
    obj["metadata"].update(namespace="ns", uid="u", generation=1)
    return obj


def refused(obj: dict[str, Any]) -> list[str]:
    return [str(p) for p in HOOKS.validate_create(obj)]


def refused_update(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    return [str(p) for p in HOOKS.validate_update(new, old)]


def test_the_job_inside_gets_defaults_for_its_pods_only() -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    inner = cronjob(job={"podFailurePolicy": policy})["spec"]["jobTemplate"]["spec"]
    assert inner["template"]["spec"]["schedulerName"] == "default-scheduler"
    assert inner["podFailurePolicy"]["rules"][0]["onPodConditions"] == [
        {"type": "DisruptionTarget", "status": "True"}
    ]
    assert set(inner) == {"template", "podFailurePolicy"}


def test_a_status_that_comes_with_a_new_cronjob_is_dropped() -> None:
    obj = cronjob()
    obj["status"] = {"lastScheduleTime": "2020-01-01T00:00:00Z"}
    HOOKS.prepare_create(obj, CONTEXT)
    assert obj["status"] == {}


def test_a_schedule_that_never_fires_is_accepted() -> None:
    assert refused(cronjob(schedule="59 23 31 2 *")) == []


def test_a_zone_inside_the_schedule_is_a_relic() -> None:
    plain, relic = cronjob(), cronjob(schedule="TZ=UTC 0 * * * *")
    both = cronjob(schedule="CRON_TZ=UTC 5 * * * *", timeZone="UTC")
    field = 'spec.schedule: Invalid value: "'
    new = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    assert refused(relic) == [f'{field}TZ=UTC 0 * * * *": {new}']
    assert refused_update(relic, plain) == [f'{field}TZ=UTC 0 * * * *": {new}']
    assert refused_update(plain, relic) == []
    assert refused_update(cronjob(schedule="TZ=UTC 5 * * * *"), relic) == []
    assert refused_update(both, relic) == [
        f'{field}CRON_TZ=UTC 5 * * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule'
    ]


def test_every_update_of_a_relic_is_warned_about() -> None:
    relic = cronjob(schedule="TZ=UTC 0 * * * *")
    assert HOOKS.warnings_update(relic, relic) == [
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    ]


@pytest.mark.parametrize("zone", ["Etc/UTC", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"])
def test_zones_of_the_database_are_accepted(zone: str) -> None:
    assert refused(cronjob(timeZone=zone)) == []


@pytest.mark.parametrize(
    "zone",
    [
        "america/new_york",
        " UTC",
        "UTC ",
        " ",
        "Continent/Zone",
        "a//b",
        "./UTC",
        "Abcdefghijklmno",
        "-x",
        "Ü",
        "U\n",
    ],
)
def test_other_zones_are_unknown(zone: str) -> None:
    found = HOOKS.validate_create(cronjob(timeZone=zone))
    assert [(p.field, p.value, p.detail) for p in found] == [
        ("spec.timeZone", zone, f"unknown time zone {zone}")
    ]


def test_a_zone_that_broke_after_it_was_stored_stays_until_it_is_changed() -> None:
    broken = cronjob(timeZone="Old/Zone")
    other = cronjob(timeZone="Old/Zone", suspend=True)
    assert refused_update(other, broken) == []
    assert refused_update(cronjob(timeZone="Other/Zone"), broken) == [
        'spec.timeZone: Invalid value: "Other/Zone": unknown time zone Other/Zone'
    ]


def test_long_names_are_refused_only_when_new() -> None:
    long = cronjob(name="c" * 53)
    assert refused(long) == [
        f'metadata.name: Invalid value: "{"c" * 53}": must be no more than 52 characters'
    ]
    changed = copy_of(long)
    changed["spec"]["suspend"] = True
    assert refused_update(changed, long) == []


def test_problems_come_in_the_order_of_the_spec() -> None:
    obj = cronjob(
        schedule="x",
        startingDeadlineSeconds=-1,
        timeZone="",
        concurrencyPolicy="Maybe",
        successfulJobsHistoryLimit=-1,
        failedJobsHistoryLimit=-1,
        job={"parallelism": -1, "manualSelector": True, "selector": {"matchLabels": {"a": "b"}}},
    )
    assert [p.field for p in HOOKS.validate_create(obj)] == [
        "spec.schedule",
        "spec.startingDeadlineSeconds",
        "spec.timeZone",
        "spec.concurrencyPolicy",
        "spec.jobTemplate.spec.parallelism",
        "spec.jobTemplate.spec.selector",
        "spec.jobTemplate.spec.manualSelector",
        "spec.successfulJobsHistoryLimit",
        "spec.failedJobsHistoryLimit",
    ]


def test_warnings_about_the_pods_inside_carry_the_long_path() -> None:
    pod = copy_of(POD)
    pod["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    obj = cronjob(name="a.b", job={"template": {"spec": pod}})
    warnings = HOOKS.warnings_create(obj)
    assert [w.partition(":")[0] for w in warnings] == [
        "metadata.name",
        "spec.jobTemplate.spec.template.spec.containers[0].env[1]",
    ]


def test_status_is_taken_as_it_comes() -> None:
    old = cronjob()
    new = {**copy_of(old), "status": {"lastScheduleTime": "2020-01-01T00:00:00Z", "active": []}}
    assert HOOKS.validate_status(new, old) == []
