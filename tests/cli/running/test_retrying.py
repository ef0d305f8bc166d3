"""`longshore retry`: what a Job did not complete runs again, as what it was, in a Job of its own."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from longshore.api.facts import own_names
from longshore.plane import job_retry
from support.longshore_command import Command


@pytest.fixture(scope="module")
def longshore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    command = Command(tmp_path_factory.mktemp("home"))
    with command.up():
        yield command


def fails_at_first(longshore: Command, name: str, *more: str, items: str = "a\nbad 1\nb\nbad 2\n") -> Path:
    """A run whose `bad` items fail until the cure exists. Returns the file with what ran."""
    ran, cure = longshore.home / f"{name}-ran", longshore.home / f"{name}-cure"
    script = f"""
        echo "$1|$2|$JOB_COMPLETION_INDEX|$LONGSHORE_ITEM_NUMBER" >> {ran}
        case "$1" in bad*) [ -e {cure} ];; esac
    """
    words = ("run", "--each", "-", "--name", name, *more, "--", "sh", "-c", script, "sh", "{}", "{#}")
    done = longshore(*words, stdin=items)
    assert done.exit == 1, done.stderr
    ran.unlink()
    cure.touch()
    return ran


def test_only_failed_indexes_run_again_with_their_items_and_numbers(longshore: Command) -> None:
    ran = fails_at_first(longshore, "conv")
    done = longshore("retry", "job/conv")
    assert done.exit == 0, done.stderr
    assert "job/conv-retry-1 is a retry of job/conv: it runs indexes 1,3 again" in done.stderr
    assert "job/conv-retry-1 complete in" in done.stderr
    assert sorted(ran.read_text().splitlines()) == ["bad 1|2|1|2", "bad 2|4|3|4"]


def test_both_jobs_name_each_other(longshore: Command) -> None:
    fails_at_first(longshore, "linked", items="a\nbad\n")
    done = longshore("retry", "linked")
    assert (done.exit, "it runs index 1 again" in done.stderr) == (0, True), done.stderr
    assert re.search(r"^Retry Of: +Job/linked$", longshore.ok("describe", "job/linked-retry-1"), re.M)
    assert re.search(r"^Retried By: +Job/linked-retry-1$", longshore.ok("describe", "job/linked"), re.M)


def test_with_all_everything_runs_again_also_of_a_complete_job(longshore: Command) -> None:
    ran = fails_at_first(longshore, "whole")
    longshore.ok("retry", "job/whole", "--all")
    assert len(ran.read_text().splitlines()) == 4
    again = longshore("retry", "job/whole-retry-1")
    assert (again.exit, "nothing to retry" in again.stdout) == (0, True)
    longshore.ok("retry", "job/whole-retry-1", "--all")
    assert len(ran.read_text().splitlines()) == 8
    assert longshore.ok("get", "job/whole-retry-2", "-o", "jsonpath={.status.succeeded}") == "4"


def test_a_retry_that_fails_is_retried_with_what_is_left(longshore: Command) -> None:
    ran = fails_at_first(longshore, "twice")
    (longshore.home / "twice-cure").unlink()
    assert longshore("retry", "job/twice").exit == 1
    (longshore.home / "twice-cure").touch()
    ran.unlink()
    done = longshore("retry", "job/twice-retry-1", "-o", "json")
    assert done.exit == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["completedIndexes"] == "0-3"
    assert len(ran.read_text().splitlines()) == 2


def test_indexes_that_never_ran_are_run_too(longshore: Command) -> None:
    ran = fails_at_first(longshore, "fast", "--fail-fast", "--parallelism", "1")
    assert longshore("retry", "job/fast").exit == 0
    assert sorted(line[0] for line in ran.read_text().splitlines()) == ["b", "b", "b"]
    assert "a|1|0|1" not in ran.read_text()


def test_a_job_without_indexes_gets_the_completions_it_lacks(longshore: Command) -> None:
    ran, cure = longshore.home / "plain-ran", longshore.home / "plain-cure"
    script = f"mkdir {ran} || [ -e {cure} ]"
    container = {"name": "main", "image": "host", "command": ["sh", "-c", script]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "plain", "labels": {"mine": "yes"}},
        "spec": {"completions": 3, "backoffLimit": 0, "template": template},
    }
    (longshore.home / "plain.yaml").write_text(yaml.safe_dump(job))
    assert longshore("run", "plain.yaml").exit == 1
    cure.touch()
    done = longshore("retry", "job/plain")
    assert "it runs 2 of 3 completions again" in done.stderr
    assert longshore.ok("get", "job/plain-retry-1", "-o", "jsonpath={.status.succeeded}") == "2"
    assert longshore.ok("get", "job/plain-retry-1", "-o", "jsonpath={.metadata.labels.mine}") == "yes"


def test_without_follow_it_only_begins(longshore: Command) -> None:
    fails_at_first(longshore, "alone", items="bad\n")
    out = longshore.ok("retry", "job/alone", "--no-follow")
    assert out == "job.batch/alone-retry-1 created: it runs everything of job/alone again\n"
    assert longshore("wait", "--for=done", "job/alone-retry-1", "--timeout=20s").exit == 0


def test_a_job_that_has_not_ended_is_not_retried(longshore: Command) -> None:
    job = yaml.safe_load(longshore.ok("run", "--dry-run", "--name", "open", "--", "sleep", "600"))
    job["spec"]["suspend"] = True
    longshore.ok("apply", "-f", "-", stdin=yaml.safe_dump(job))
    done = longshore("retry", "job/open")
    assert (done.exit, "longshore resume --follow job/open" in done.stderr) == (1, True)
    longshore.ok("resume", "job/open")
    done = longshore("retry", "job/open")
    assert (done.exit, "longshore run --attach job/open" in done.stderr) == (1, True)
    longshore.ok("delete", "job/open")


def test_other_kinds_are_refused_with_the_way_out(longshore: Command) -> None:
    done = longshore("retry", "vcjob/x")
    assert (done.exit, "longshore run --replace FILE" in done.stderr) == (2, True)
    assert longshore("retry", "pod/x").exit == 2


def test_files_of_items_stay_while_a_job_names_them(longshore: Command) -> None:
    fails_at_first(longshore, "named", items="bad\n")
    items = longshore.home / "data" / "items"
    for file in [*items.iterdir()]:
        os.utime(file, (time.time() - 2 * 86400,) * 2)
    gone = items / "of-nobody"
    gone.touch()
    os.utime(gone, (time.time() - 2 * 86400,) * 2)
    longshore.ok("run", "--", "true")
    assert not gone.exists()
    assert longshore("retry", "job/named").exit == 0


@pytest.mark.parametrize(
    ("old", "taken", "new"),
    [
        ("x", set(), "x-retry-1"),
        ("x-retry-1", {"x-retry-2"}, "x-retry-3"),
        ("y" * 63, set(), "y" * 51 + "-retry-1"),
    ],
)
def test_names_count_up_and_leave_room_for_the_index(old: str, taken: set[str], new: str) -> None:
    spec = {"completions": 100, "template": {"spec": {}}}
    job = {"metadata": {"name": old, "namespace": "default"}, "spec": spec}
    assert job_retry.retry(job, taken, everything=True).job["metadata"]["name"] == new


def test_generated_parts_of_a_job_are_left_behind() -> None:
    labels = {"controller-uid": "u", "batch.kubernetes.io/job-name": "x", "app": "a"}
    job = {
        "metadata": {
            "name": "x",
            "namespace": "n",
            "labels": labels,
            "annotations": {own_names.RETRIED_BY: "old", "mine": "1"},
            "ownerReferences": [{"kind": "CronJob"}],
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "manualSelector": True,
            "template": {"metadata": {"labels": labels}, "spec": {}},
        },
    }
    made = job_retry.retry(job, set(), everything=False).job
    assert made["metadata"] == {
        "name": "x-retry-1",
        "namespace": "n",
        "labels": {"app": "a"},
        "annotations": {"mine": "1", own_names.RETRY_OF: "x"},
    }
    assert made["spec"] == {"template": {"metadata": {"labels": {"app": "a"}}, "spec": {}}}
    assert job["spec"]["manualSelector"] is True
