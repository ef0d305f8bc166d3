"""The Job that a CronJob makes: name, labels, annotations, owner, spec."""

from __future__ import annotations

import pytest

from controllers.cronjob.cron_scene import TEMPLATE, cronjob, sync

NOW = "2026-06-15T09:00:30Z"


def test_the_body_is_the_template_with_a_name_an_owner_and_the_scheduled_time() -> None:
    template = {
        "metadata": {
            "name": "not-used",
            "labels": {"from": "cron"},
            "annotations": {"note": "kept"},
            "finalizers": ["not.used/x"],
        },
        "spec": TEMPLATE["spec"],
    }
    (made,) = sync(cronjob(jobTemplate=template), NOW).created
    assert made["spec"] == TEMPLATE["spec"]
    given = {
        key: made["metadata"][key]
        for key in ("name", "namespace", "labels", "annotations", "ownerReferences")
    }
    assert given == {
        "name": "backup-29691900",
        "namespace": "ns",
        "labels": {"from": "cron"},
        "annotations": {
            "note": "kept",
            "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-06-15T09:00:00Z",
        },
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "name": "backup",
                "uid": "uid-of-backup",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    assert "finalizers" not in made["metadata"]


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        (None, "2026-06-15T09:00:00Z"),
        ("Etc/UTC", "2026-06-15T09:00:00Z"),
        ("Europe/Rome", "2026-06-15T11:00:00+02:00"),
        ("America/St_Johns", "2026-06-15T06:30:00-02:30"),
    ],
)
def test_the_scheduled_time_is_written_in_the_zone_of_the_cronjob(zone: str | None, text: str) -> None:
    (made,) = sync(cronjob("*/30 * * * *", created="2026-06-15T08:59:00Z", timeZone=zone), NOW).created
    assert made["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] == text


def test_the_two_runs_of_a_doubled_hour_have_two_names_and_two_annotations() -> None:
    state = cronjob("30 1 * * *", created="2024-11-02T12:00:00Z", timeZone="America/New_York")
    (first,) = sync(state, "2024-11-03T05:30:01Z").created
    later = {**state, "status": {"lastScheduleTime": "2024-11-03T05:30:00Z"}}
    (second,) = sync(later, "2024-11-03T06:30:01Z").created
    notes = [one["metadata"]["annotations"].popitem()[1] for one in (first, second)]
    assert notes == ["2024-11-03T01:30:00-04:00", "2024-11-03T01:30:00-05:00"]
    assert first["metadata"]["name"] != second["metadata"]["name"]
