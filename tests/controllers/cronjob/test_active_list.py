"""Who is on the active list: what the cache says, and what the server says when that is not enough."""

from __future__ import annotations

from controllers.cronjob.cron_scene import UID, Server, cronjob, job, ref, sync
from longshore.api import errors
from longshore.api.errors import StatusError

NOW = "2026-06-15T09:30:00Z"
LAST = "2026-06-15T09:00:00Z"
NAME = "backup-29691900"


def test_an_ended_job_leaves_the_list_with_its_outcome() -> None:
    for how in ("Complete", "Failed"):
        done = job(at=LAST, ended=how, start=LAST, done="2026-06-15T09:05:00Z")
        found = sync(cronjob(last=LAST, active=(done,)), NOW, done)
        assert found.plan.events == (
            ("Normal", "SawCompletedJob", f"Saw completed job: {NAME}, condition: {how}"),
        )
        assert found.active == []


def test_the_last_success_only_grows() -> None:
    done = job(at=LAST, ended="Complete", start=LAST, done="2026-06-15T09:05:00Z")
    found = sync(cronjob(last=LAST, last_success="2026-06-15T08:05:00Z"), NOW, done)
    assert found.plan.status == {
        "lastScheduleTime": LAST,
        "lastSuccessfulTime": "2026-06-15T09:05:00Z",
    }
    assert found.reasons == []
    assert sync(cronjob(last=LAST, last_success="2026-06-15T09:06:00Z"), NOW, done).plan.status is None


def test_a_job_missing_in_the_cache_is_looked_for_and_dropped_only_if_it_is_gone() -> None:
    running = job(at=LAST)
    state = cronjob(last=LAST, active=(running,))
    found = sync(state, NOW, server=Server(jobs={NAME: running}))
    assert found.asked == [f"get Job {NAME}"]
    assert (found.reasons, found.plan.status) == ([], None)
    found = sync(state, NOW)
    assert found.plan.events == (("Normal", "MissingJob", f"Active job went missing: {NAME}"),)
    assert found.active == []


def test_when_it_cannot_be_looked_for_the_pass_is_tried_again() -> None:
    away = errors.internal("away")
    state = cronjob(last="2026-06-15T08:00:00Z", active=(job(at=LAST),))
    found = sync(state, NOW, server=Server(fails={("get", NAME): away}))
    assert found.plan.problem is away
    assert (found.names, found.reasons, found.plan.status) == ([], [], None)


def test_a_missing_job_makes_way_for_the_next_run_under_forbid() -> None:
    state = cronjob(
        last="2026-06-15T08:00:00Z", active=(job(at="2026-06-15T08:00:00Z"),), concurrencyPolicy="Forbid"
    )
    found = sync(state, NOW)
    assert found.reasons == ["MissingJob", "SuccessfulCreate"]
    assert found.active == [NAME]


def test_a_job_that_nobody_listed_is_told_and_left_alone() -> None:
    by_hand = job("by-hand")
    found = sync(cronjob(last=LAST), NOW, by_hand)
    assert found.asked == ["get CronJob backup"]
    assert found.plan.events == (
        (
            "Warning",
            "UnexpectedJob",
            "Saw a job that the controller did not create or forgot: by-hand",
        ),
    )
    assert found.plan.status is None


def test_a_job_that_was_told_of_is_not_told_of_again() -> None:
    by_hand, other = job("by-hand"), job("other")
    uid, news = by_hand["metadata"]["uid"], other["metadata"]["uid"]
    found = sync(cronjob(last=LAST), NOW, by_hand, other, strangers=frozenset({uid}))
    assert [event.message.rpartition(" ")[2] for event in found.plan.events] == ["other"]
    assert set(found.plan.strangers) == {uid, news}


def test_an_old_cached_cronjob_is_replaced_by_the_live_one_that_lists_the_job() -> None:
    running = job(at=LAST)
    stale = cronjob(last="2026-06-15T08:00:00Z")
    live = cronjob(last=LAST, active=(running,), meta={"resourceVersion": "8"})
    found = sync(stale, NOW, running, server=Server(jobs={NAME: running}, cronjob=live))
    assert found.reasons == []
    assert (found.names, found.plan.status) == ([], None)
    assert found.plan.cronjob is live


def test_when_the_live_one_cannot_be_read_the_pass_is_tried_again() -> None:
    away = errors.internal("away")
    found = sync(cronjob(), NOW, job("by-hand"), server=Server(fails={("get", "backup"): away}))
    assert found.plan.problem is away
    assert found.names == []


def test_a_replaced_job_that_the_cache_still_shows_surprises_nobody() -> None:
    old = job(at="2026-06-15T08:00:00Z")
    found = sync(cronjob(last=LAST), NOW, old, going=frozenset({old["metadata"]["uid"]}))
    assert (found.asked, found.reasons) == ([], [])


def test_jobs_of_a_deleted_cronjob_of_the_same_name_are_counted_until_they_are_collected() -> None:
    left = job("left", ended="Complete", start=LAST, done="2026-06-15T09:05:00Z", owner_uid="uid-of-the-late")
    found = sync(cronjob(last=LAST), NOW, left)
    assert found.plan.status is not None
    assert found.plan.status["lastSuccessfulTime"] == "2026-06-15T09:05:00Z"


def taken(owner_uid: str = UID) -> Server:
    return Server(jobs={NAME: job(at=LAST, owner_uid=owner_uid)})


def test_a_run_that_was_created_but_not_written_down_goes_on_the_list() -> None:
    server = taken()
    existing = server.jobs[NAME]
    found = sync(cronjob(last="2026-06-15T08:00:00Z"), NOW, server=server)
    assert found.names == []
    assert found.reasons == []
    assert found.plan.lateness is None
    assert found.plan.status == {"active": [ref(existing)], "lastScheduleTime": LAST}
    assert found.plan.look_again is not None


def test_somebody_elses_job_of_that_name_ends_the_pass_without_a_word() -> None:
    for server in (taken("uid-of-another"), taken()):
        if server.jobs[NAME]["metadata"]["ownerReferences"][0]["uid"] == UID:
            del server.jobs[NAME]["metadata"]["ownerReferences"]
        found = sync(cronjob(last="2026-06-15T08:00:00Z"), NOW, server=server)
        assert (found.names, found.reasons, found.plan.status) == ([], [], None)
        assert found.plan.look_again is None
        assert found.plan.problem is None


def test_a_namespace_that_is_going_away_is_an_error_without_an_event() -> None:
    causes = [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace ns is being terminated",
            "field": "metadata.namespace",
        }
    ]
    refused = errors.forbidden("batch", "jobs", NAME, "being terminated", causes)
    found = sync(cronjob(), NOW, server=Server(fails={("create", NAME): refused}))
    assert found.plan.problem is refused
    assert (found.reasons, found.plan.status) == ([], None)


def test_any_other_refusal_is_told_and_tried_again() -> None:
    refused = StatusError(422, "Invalid", 'Job.batch "x" is invalid: spec.parallelism: ...')
    found = sync(cronjob(), NOW, server=Server(fails={("create", NAME): refused}))
    assert found.plan.problem is refused
    assert found.plan.events == (("Warning", "FailedCreate", f"Error creating job: {refused}"),)
    assert found.plan.status is None


def test_what_was_found_out_is_written_even_if_the_create_fails() -> None:
    done = job(at="2026-06-15T08:00:00Z", ended="Complete", start=LAST, done="2026-06-15T08:05:00Z")
    refused = errors.internal("away")
    state = cronjob(last="2026-06-15T08:00:00Z", active=(done,))
    found = sync(state, NOW, done, server=Server(fails={("create", NAME): refused}))
    assert found.plan.problem is refused
    assert found.active == []


def test_two_times_in_one_minute_share_a_name_and_the_second_is_only_written_down() -> None:
    first = job(at="2026-06-15T09:00:00Z", ended="Complete", start=LAST, done="2026-06-15T09:00:05Z")
    state = cronjob("@every 30s", last="2026-06-15T09:00:00Z", last_success="2026-06-15T09:00:05Z")
    found = sync(state, "2026-06-15T09:00:30.1Z", first)
    assert found.names == []
    assert found.plan.status is not None
    assert found.plan.status["lastScheduleTime"] == "2026-06-15T09:00:30Z"
    assert found.active == [NAME]
    running = job(at="2026-06-15T09:00:00Z")
    held = cronjob("@every 30s", last="2026-06-15T09:00:00Z", active=(running,))
    found = sync(held, "2026-06-15T09:00:30.1Z", running)
    assert (found.asked, found.plan.status) == ([], None)
