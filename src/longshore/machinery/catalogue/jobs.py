"""Reasons about Jobs, CronJobs and objects that have a time to live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.api.facts import own_names
from longshore.machinery.catalogue.row import (
    Event,
    Numbers,
    Place,
    Row,
    in_tenses,
    line,
    normal,
    passing,
    step,
    verdict,
    warning,
)
from longshore.machinery.sentences import counted, filled


def _suspended(numbers: Numbers) -> str:
    """Words for a Job, with the number of pods that it removes, and for a CronJob, which removes none."""
    if "pods" not in numbers:
        return "suspended: starts nothing"
    removed = counted(numbers["pods"], "pod")
    return f"suspended: [removes|removed] {removed}" if numbers["pods"] else "suspended"


def _pod_failed(numbers: Numbers) -> str:
    who = f"index {numbers['index']}" if "index" in numbers else f"pod {numbers.get('pod')}"
    if numbers.get("deleted"):
        return f"{who} was deleted before it ended"
    if "container" in numbers:
        return f"{who} failed: exit code {numbers.get('exitCode')} in container {numbers['container']}"
    return f"{who} failed: {numbers['reason']}" if numbers.get("reason") else f"{who} failed"


def _pods_terminating(numbers: Numbers) -> str:
    if "terminating" not in numbers:
        return filled(("{active} active, {wanted} wanted: replaces {pods:pod} only when ended",), numbers)
    many = numbers["terminating"]
    pods = "its terminating pod has" if many == 1 else f"its {many} terminating pods have"
    return f"{numbers.get('outcome')} once {pods} ended"


def _job_failed(numbers: Numbers) -> str:
    """The end of a failed Job in words. Limits of the Job's spec are missing once the Job is gone."""
    if "reason" not in numbers:
        return ""
    forms = {
        "FailedIndexes": ("{count} of {completions}", "{count:index}"),
        "MaxFailedIndexesExceeded": (
            "{count:index} failed, maxFailedIndexes is {maxFailedIndexes}",
            "{count:index} failed",
        ),
        "BackoffLimitExceeded": (
            "{failed:pod} failed, backoffLimit is {backoffLimit}",
            "{failed:pod} failed",
        ),
        "DeadlineExceeded": (
            "it was active for more than {activeDeadlineSeconds} s",
            "it was active for more than activeDeadlineSeconds",
        ),
    }.get(numbers["reason"], ("{message}",))
    how = filled(forms, {"failed": 0, "message": "", **numbers})
    succeeded = numbers.get("succeeded", 0)
    return f"the Job failed: {numbers['reason']}{f', {how}' if how else ''}; {succeeded} succeeded"


def _job_complete(numbers: Numbers) -> str:
    said = filled(("{succeeded} of {completions} succeeded", "{succeeded} succeeded"), numbers)
    if numbers.get("reason") == "SuccessPolicy":
        said = f"its successPolicy is met, {said}"
    failed = f"; {counted(numbers['failed'], 'pod')} failed on the way" if numbers.get("failed") else ""
    return f"the Job is complete: {said}{failed}"


_LATEST_RUNS: Final = "only the most recent missed time is started"
_NONE_FOUND: Final = "the search for the most recent one goes back about two intervals, and found none there"


def _times(numbers: Numbers) -> str:
    more = "" if numbers.get("exact", 1) else "more than "
    return f"{more}{counted(numbers['times'], 'scheduled time')}"


def _skipped(numbers: Numbers) -> str:
    if "found" in numbers:
        rule = _LATEST_RUNS if numbers["found"] else _NONE_FOUND
    else:
        rule = filled(("older than startingDeadlineSeconds ({deadline})", "{rule}"), numbers)
    return f"[skips|skipped] {_times(numbers)}: {rule}" if rule else ""


def _catch_up(numbers: Numbers) -> str:
    away = filled(
        (
            "from {since} to {until}, while this machine slept or its clock was set forward",
            "before longshore started at {until}",
        ),
        numbers,
    )
    runs = filled(
        ("Starts the one of {at} when job {job} ends (Forbid)", "Runs the one of {at} now"), numbers
    )
    begin = f"Missed {_times(numbers)}, from {numbers['first']} on, {away}."
    return f"{begin} {runs or 'Runs none of them'}{numbers['rules']}."


def _nothing_due(numbers: Numbers) -> str:
    if "at" not in numbers:
        return "nothing is due"
    return f"nothing is due before {numbers['at']}" if numbers["at"] else "nothing is due, ever again"


ROWS: Final[Mapping[str, Row]] = {
    "Problem": warning("{message}"),
    "DeletedBy": Row("{user} deleted it"),
    # ---- Jobs
    "ActiveDeleted": Row("deletes what is active: {pods}", "deleted {pods:pod} that still ran"),
    "BackingOff": Row(
        "{failures:pod} failed in a row: no new pod before {until}",
        "{failures:pod} failed in a row: the next one starts at {until}",
    ),
    "BackoffLimitExceeded": verdict("Job has reached the specified backoff limit"),
    "Complete": Row(
        "{code} {reason}", _job_complete, Place.END, Event("Normal", "Completed", "Job completed")
    ),
    "CompletionsReached": Row(
        "{type} {code}: {message}",
        place=Place.PASSING,
        event=Event("Normal", "", "Reached expected number of succeeded pods"),
    ),
    "DeadlineExceeded": Row(
        (
            "{type} {code}: {message}",
            "active for more than its activeDeadlineSeconds ({seconds:g})",
        ),
        "the pod failed: active for more than its activeDeadlineSeconds ({seconds:g})",
        Place.VERDICT,
        Event("Normal", "", "Job was active longer than specified deadline"),
    ),
    "Failed": Row(
        ("{code} {reason}", "nobody here can reclaim it{policy:.0}", "it is {code} already"),
        _job_failed,
        Place.END,
        Event("Warning", "{reason}", "{message}"),
    ),
    "FailedIndexes": verdict("Job has failed indexes"),
    "IndexesBackingOff": passing("each index to run next failed lately: no new pod before {until}"),
    "JobBeingDeleted": passing("the Job is being deleted: creates and deletes nothing"),
    "MaxFailedIndexesExceeded": verdict("Job has exceeded the specified maximal number of failed indexes"),
    "MoreFailed": Row("{pods} more pods failed", "{pods:more pod} failed"),
    "PodFailed": Row(_pod_failed, event=Event("Warning")),
    "PodCreated": normal("Created pod: {pod}", reason="SuccessfulCreate"),
    "PodDeleted": normal("Deleted pod: {pod}", reason="SuccessfulDelete"),
    "PodFailurePolicy": verdict("{message}"),
    "PodNotCreated": warning(
        "Error creating: {problem}", "Error creating pods: [{problems}]", reason="FailedCreate"
    ),
    "PodNotDeleted": warning(
        "Error deleting: {problem}", "Error deleting pods: [{problems}]", reason="FailedDelete"
    ),
    "PodsActive": passing("{active} active, {wanted} wanted"),
    "PodsCreated": Row(
        (
            "task {task!r} lacks {missing} of {replicas} pods: creates {pods} of them now",
            "task {task!r} lacks {pods} of {replicas} pods: creates them",
            "creates {pods:pod} ({indexes:listed})",
            "creates {pods:pod}",
        ),
        (
            "created {pods} of {replicas} pods of task {task!r}",
            "created {pods:pod} ({indexes:ranges})",
            "created {pods:pod}",
        ),
    ),
    "PodsGone": Row("its pods were removed at {at}; its last words: longshore history {job}"),
    "PodsRemoved": Row(
        "{active} active, {wanted} wanted: removes {pods:pod}",
        "removed {pods:pod}: {active} were active, {wanted} wanted",
    ),
    "PodsTerminating": Row(_pods_terminating, place=Place.VERDICT),
    "PodsUnseen": passing("waits until all pods created and deleted before have been seen"),
    "Resumed": normal("Job resumed"),
    "SelectorsMeet": warning(
        "its selector and that of Job {other} meet in their pods; give each labels of its own"
    ),
    "StartsPaced": passing(
        f"starts a pod every {{interval:g}} s ({own_names.START_INTERVAL}): the next at {{until}}"
    ),
    "SuccessPolicy": verdict("Matched rules at index {rule}"),
    "Suspended": in_tenses(_suspended, Event("Normal", "", "Job suspended")),
    "TooManySucceededPods": Row(
        "more pods succeeded than the Job wants",
        event=Event("Warning", "", "Too many succeeded pods running after completion count reached"),
    ),
    "UnknownCompletionMode": warning("Skipped Job sync because completion mode is unknown"),
    "VerdictPostponed": passing("does not act on it yet: some pods created before have not been seen"),
    # ---- what has a time to live
    "BadAnnotation": Row("its annotation cannot be read"),
    "BeingDeleted": line("the {kind} is being deleted: starts nothing", "it is being deleted already"),
    "EndUnknown": Row("it does not say when it ended"),
    "InvalidTTL": warning("{problem}"),
    "NoTtl": Row("it has no TTL"),
    "NotDue": Row("it has not ended, has no time to live, or is being deleted already"),
    "NotEnded": Row("it has not finished"),
    "TtlOver": Row(
        "it ended {ttlSeconds:g} s ago or more: deletes it",
        "the TTL controller deleted it: ttlSecondsAfterFinished is {ttlSeconds}",
    ),
    "TtlRuns": step("it is to be deleted {ttlSeconds:g} s after it ended"),
    # ---- CronJobs
    "BadJitter": Row("no jitter: {problem}", event=Event("Warning", "InvalidJitter", "{problem}")),
    "BadSchedule": Row(
        ("schedule {schedule} cannot be read: starts nothing", "the schedule cannot be read: {problem}"),
        event=Event("Warning", "UnparseableSchedule", "unparseable schedule: {schedule:quoted} : {problem}"),
    ),
    "CatchUp": Row(_catch_up, event=Event("Normal")),
    "ClockCorrected": Row(
        "The times of this CronJob were written by a clock that was hours ahead; "
        "scheduled times count from {at}, when it was right again"
    ),
    "Due": passing("the run of {at} is due"),
    "FailedGet": warning("Get job: {problem}"),
    "ForbidConcurrent": warning("Skipping job creation because another job is already running"),
    "Forbidden": Row(
        (
            "the run of {at} waits: concurrencyPolicy is Forbid and job {job} is still running",
            "another Job is still running",
        ),
        (
            "the run of {at} waits: concurrencyPolicy is Forbid and job {job} is still running",
            "the run that is due waits (concurrencyPolicy Forbid): another Job is still running",
        ),
        event=Event(
            "Normal",
            "JobAlreadyActive",
            "Not starting job because prior execution is running and concurrency policy is Forbid",
        ),
    ),
    "ForeignJob": Row(
        "job {job} exists and belongs to somebody else: starts nothing",
        event=Event(
            "Warning", "", "Job {job} exists but is not owned by this CronJob (current owner: {owner})"
        ),
    ),
    "HistoryLimit": step("deletes {jobs} Jobs beyond the history limits"),
    "InvalidSchedule": warning("Error getting schedule time: {problem}"),
    "InvalidTimeZone": warning("Invalid time zone {zone:quoted}: {problem}"),
    "Jitter": passing(f"starts {{seconds:.3f}} s after each scheduled time ({own_names.JITTER})"),
    "JobDeleted": Row("deleted job {job}: it is beyond the history limits"),
    "JobEnded": Row(
        "job {job} has ended: {outcome}",
        event=Event("Normal", "SawCompletedJob", "Saw completed job: {job}, condition: {outcome}"),
    ),
    "JobGone": Row(
        "active job {job} is gone", event=Event("Normal", "MissingJob", "Active job went missing: {job}")
    ),
    "JobNotRemoved": warning("Deleted job: {problem}", reason="FailedDelete"),
    "JobRemoved": normal("Deleted job {job}", reason="SuccessfulDelete"),
    "JobsNotSeen": passing("some active Jobs are not in the cache: are they gone?"),
    "NameTaken": passing("there is a job {job} already: whose is it?"),
    "NamespaceTerminating": Row(
        "the namespace is being deleted: starts nothing",
        event=Event("Warning", "", "Namespace {namespace} is terminating, skipping job creation"),
    ),
    "NeverFires": Row(
        ("schedule {schedule} never fires", "the schedule never fires"),
        event=Event("Warning", "InvalidSchedule", "invalid schedule: {schedule} : {problem}"),
    ),
    "NotCreated": Row(
        "job {job} could not be created: {problem}",
        event=Event("Warning", "FailedCreate", "Error creating job: {problem}"),
    ),
    "NotReplaced": line("{problem}", "job {job} could not be replaced"),
    "NothingDue": Row(_nothing_due, place=Place.PASSING),
    "OrphanedJob": warning(
        "Detected orphaned job forgotten or not managed by controller: {job} (UID: {uid})"
    ),
    "Recorded": line(
        "the run of {at} had its job {job} already: it goes on the active list",
        "job {job} was started for a scheduled time that no status knows",
    ),
    "ReplaceConcurrent": warning("Replacing active job for CronJob"),
    "Replaced": Row("replaced job {job}, which was still running"),
    "Replaces": passing("replaces job {job}, which is still running"),
    "Skipped": in_tenses(_skipped),
    "StaleReference": warning(
        'Active job reference "{job}" points to a different UID (expected: {uid}, actual: {found})',
        'Active job "{job}" no longer exists (UID: {uid})',
    ),
    "Started": Row(
        ("started the run of {at}: job {job}", "started job {job}"),
        event=Event("Normal", "SuccessfulCreate", "Created job {job}"),
    ),
    "StartedAlready": passing("the run of {at} was started already", "job {job} is active already"),
    "Stranger": Row(
        "job {job} runs and was not started by the schedule: it is left alone",
        event=Event(
            "Warning", "UnexpectedJob", "Saw a job that the controller did not create or forgot: {job}"
        ),
    ),
    "TooLate": Row(
        ("the run of {at} is older than startingDeadlineSeconds ({deadline})", "the run of {at} is {rule}"),
        event=Event("Warning", "MissSchedule", "Missed scheduled time to start a job: {scheduled}"),
    ),
    "TooManyMissedTimes": warning(
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    ),
    "UnParseableCronJobSchedule": warning("unparseable schedule for cronjob: {schedule}"),
    "UnknownJobs": passing("some Jobs are not on the active list: is there a newer one?"),
    "UnknownTimeZone": Row(
        "there is no time zone {zone}: starts nothing",
        event=Event("Warning", "", "invalid timeZone: {zone:quoted}: {problem}"),
    ),
    "Unreadable": line("job {job} cannot be read: {problem}", "the CronJob cannot be read: {problem}"),
    "UnsupportedSchedule": warning(
        "CRON_TZ or TZ used in schedule {schedule:quoted} is not officially supported, "
        "see {docs} for more details",
        "CRON_TZ or TZ in the schedule {schedule:quoted} is not officially supported. "
        "If set, the TimeZone field will be ignored during execution.",
    ),
    "VolcanoJobCreated": normal("Created job {job} for CronJob {cronjob}", reason="SuccessfulCreate"),
    "VolcanoJobEnded": normal("Saw completed job: {job} in active, remove", reason="SawCompletedJob"),
    "VolcanoJobNotCreated": warning("Failed to create job: {problem}", reason="FailedCreate"),
    "VolcanoJobNotRemoved": warning('Error deleting job "{job}": {problem}', reason="FailedDelete"),
    "VolcanoJobRemoved": normal('Deleted job "{job}"', reason="SuccessfulDelete"),
}
