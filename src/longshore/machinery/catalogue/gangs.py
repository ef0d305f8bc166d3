"""Reasons about Volcano's kinds, and reasons of the gang scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    waits,
    warning,
)
from longshore.machinery.sentences import filled


def _pods_deleted(numbers: Numbers) -> str:
    kept = f", keeps {numbers['kept']} that have ended" if numbers.get("kept") else ""
    target = filled(
        (
            " of partition {partition!r} of task {task!r}",
            " of task {task!r}",
            " of pod {pod}",
            " of {target}",
        ),
        numbers,
    )
    return f"[deletes|deleted] {numbers['pods']} pods{target}{kept}" if "pods" in numbers else ""


def _policy(numbers: Numbers) -> str:
    if "event" not in numbers:
        return ""
    task = f"task {numbers['task']!r}, " if "task" in numbers else ""
    wait = f" after {numbers['timeout']}" if "timeout" in numbers else ""
    rule = f"{numbers['event']} of {numbers['about']}: {task}policy {numbers['policy']}"
    return f"{rule} ({numbers['rule']}) says {numbers['action']}{wait}"


def _asked_to_close(numbers: Numbers) -> str:
    groups = numbers.get("podGroups")
    when = f", and does when its {groups} pod groups are gone" if groups else ""
    return f"it [is|was] asked to close{when}"


def _gang_waits(numbers: Numbers) -> str:
    if "needs" not in numbers:
        return ""
    said = f"needs {numbers['needs']}, queue {numbers['queue']} has {numbers['left']} left"
    if "nodes" not in numbers:
        return said
    nodes, pods = numbers["nodes"], numbers["pods"]
    fit = f"{nodes} node{' fits' if nodes == 1 else 's fit'} {pods}" if nodes else "no node fits one"
    return f"{said}, {fit}" + (f" of {numbers['one']}" if "one" in numbers else "")


ROWS: Final[Mapping[str, Row]] = {
    # ---- Volcano Jobs
    "Action": step("{action} while {phase}: {kind}"),
    "CommandAsks": line("a command [asks|asked] for {action}"),
    "CommandGone": Row("the command {command} is gone: it is not executed"),
    "CommandIssued": normal(
        "Start to execute command {action}, and clean it up to make sure executed not more than once."
    ),
    "CountersLater": passing("others wait for their turn: the counters are written later"),
    "DelayedActionCancelled": Row("{action} after {event} of {pod} is cancelled"),
    "DelayedActionDue": Row("{action} after {event} is due"),
    "EarlierJob": passing("{event} of {about} belongs to an earlier Job of this name"),
    "EarlierVersion": passing(
        "{event} of {about} is of version {version}, and the Job is at {jobVersion}: no policy applies"
    ),
    "EnoughStarted": Row("{phase}: {started} pods have started, {minAvailable} are needed"),
    "EnoughSucceeded": line(
        "{phase}: {succeeded} pods succeeded, minSuccess is {minSuccess}",
        "{phase}: all pods ended and {succeeded} succeeded, {minAvailable} are needed",
    ),
    "ExecuteAction": normal("Execute action {action} after {after}", "Start to execute action {action} "),
    "FewEnoughLeft": Row(
        "{phase}: {terminating} of {replicas} pods are still going, few enough to start again"
    ),
    "GateClosed": Row("the PodGroup is {phase}: no pods are made yet"),
    "JobStatusError": warning("Failed to initialize job status, err: {problem}"),
    "GoesOn": step("goes on with {action}, which was begun before"),
    "NoPodAlive": Row("{phase}: no pod is alive any more"),
    "NoPolicy": passing("no policy is about {event} of {about}"),
    "NoSuchPartition": Row("there is no such partition: nothing to do"),
    "NothingButALook": passing("what happened calls for nothing but a look"),
    "NothingLeft": Row("all its pods are gone already"),
    "NothingLeftToDo": passing("the Job has ended, and nothing of it is left to clean up"),
    "PVCError": warning("Failed to create PVC, err: {problem}"),
    "PluginError": warning("Execute plugin when job add failed, err: {problem}"),
    "PodGroupError": warning("Failed to create PodGroup, err: {problem}"),
    "PodGroupPending": warning("PodGroup {namespace}:{name} {condition}, reason: {message}"),
    "PodsDeleted": in_tenses(_pods_deleted),
    "PolicyMatched": Row(_policy),
    "Restarted": Row(
        (
            "{phase}: it is restarted, which spends a retry",
            "{container} ended with {exit_code} and is restarted by its restart policy",
        ),
        (
            "{phase}: it is restarted, which spends a retry",
            "container {container} started again, as restartPolicy says (restart {restarts})",
        ),
    ),
    "RetriesSpent": Row("{phase}: {retryCount} retries are spent, maxRetry is {maxRetry}"),
    "RetryLimitReached": Row(
        "Job failed on action {action} for retry limit reached", event=Event("Normal", "ExecuteAction")
    ),
    "TaskShortOfSuccesses": Row(
        "{phase}: {taskSucceeded} pods of task {task!r} succeeded, {minAvailable} are needed"
    ),
    "TaskWaits": Row("task {task!r} waits for {waitsFor}"),
    "ToldToAbort": Row("{phase}: it is told to abort"),
    "ToldToComplete": Row("{phase}: it is told to complete"),
    "ToldToTerminate": Row("{phase}: it is told to terminate"),
    "TooFewSucceeded": line(
        "{phase}: all pods ended and {succeeded} succeeded, minSuccess is {minSuccess}",
        "{phase}: all pods ended and only {succeeded} succeeded, {minAvailable} are needed",
    ),
    "TooManyPending": Row(
        "{phase}: {pending} of {replicas} pods wait, so that fewer than {minAvailable} can be there"
    ),
    "TooManyPods": line("node {node} has {pods} of {limit} pods", "task {task!r} has {pods} pods too many"),
    # ---- Volcano's PodGroups, queues and JobFlows
    "Adopted": Row("has no parent: root becomes it", "root became its parent, as it named none"),
    "AsItShouldBe": passing("it is as it should be"),
    "AskedToClose": in_tenses(_asked_to_close),
    "AskedToOpen": line("it [is|was] asked to open"),
    "FlowEnded": passing("it has ended, or is being deleted"),
    "FlowJobCreated": normal("create a job named {job}!", reason="Created"),
    "FlowNotSynced": warning("SyncJobFlow JobFlow failed for {problem}", reason="SyncJobFlow"),
    "GroupCreated": line(
        "[creates|created] the group of {workload}, as its pod {pod} wants it",
        "[creates|created] the group for pod {pod}, which brings none",
        "[creates|created] the PodGroup",
    ),
    "GroupUpdated": line(
        "[writes|wrote] the group of {workload}, as its pod {pod} wants it",
        "[brings|brought] the PodGroup up to the spec",
    ),
    "JobsDue": line("[starts|started] {names}"),
    "KeepsNoJobs": Row("has succeeded and keeps no Jobs"),
    "ParentOpen": Row("opens with its parent"),
    "ParentShut": Row(
        ("cannot open below {parent}, which is shut", "closes with its parent"),
        event=Event(
            "Normal",
            "",
            "Failed to open queue {queue} because its parent queue {parent} is closing or closed. "
            "Open the parent queue first.",
        ),
    ),
    "PhaseChanged": Row("is {phase} now", "the flow is {phase}"),
    "PodTold": line("[writes|wrote] the name of the group on pod {pod}"),
    "QueueActed": normal("{verb} queue succeed", reason="{action}"),
    "QueueNotActed": warning("{action} queue failed for {problem}", reason="{action}"),
    "RootStaysOpen": Row("root cannot be closed"),
    "ScaledToNothing": Row("{workload} is scaled to nothing: removes its group"),
    "Settled": Row("is {state} now", "the queue is {state}"),
    "TemplateMissing": Row("needs JobTemplate {template}, which is not there"),
    # ---- the scheduler of gangs
    **{
        f"Phase{phase}": Row(f"phase {phase}", f"the gang is {phase}")
        for phase in ("Pending", "Inqueue", "Running", "Unknown", "Completed")
    },
    "ClusterOverused": waits(
        "of the cluster's {total} {resource} (times {factor:g}) {used} are used and {promised} promised to "
        "other gangs"
    ),
    "Evict": warning("Pod is evicted, because of {action}"),
    "Evicts": Row("removes {pod} to make room ({action})"),
    "EvictsAfterHours": Row("removes {pod}: the hours of its node are over ({action})"),
    "EvictsFromBusyNode": Row("removes {pod}: its node is busy and others are not ({action})"),
    "GangEvicts": normal("{action}", reason="Evict"),
    "GangInvalid": waits(
        "Not enough valid tasks for gang-scheduling, valid: {valid}, min: {min}",
        "Not enough valid {lack} of each task for gang-scheduling",
    ),
    "GangRefused": normal(
        "queue resource quota insufficient: {queueLacks}",
        "resource in cluster is overused: {clusterLacks}",
        "resource quota insufficient: {quotasLack}",
        reason="Unschedulable",
    ),
    "GangUnschedulable": warning("{message}", reason="Unschedulable"),
    "GangWaits": Row(_gang_waits, place=Place.WAITS),
    "GangsWaiting": Row("leaves {gangs:gang} waiting"),
    "InGang": Row("belongs to podgroup/{group}", place=Place.STEP),
    "NearEnough": Row("is placed within HyperNode {hypernode}"),
    "NoNodeFits": waits("{pod}: {message}"),
    "NotNearEnough": line(
        "no HyperNode of tier {tier} or nearer has room for the whole gang",
        "no part of the network has room for the whole gang",
    ),
    "PodsBound": Row("binds {pods:pod}"),
    "PodsEvicted": Row("removes {pods:pod} to make room"),
    "QueueClosed": waits("queue {queue} is not open"),
    "QueueOverused": waits(
        "of the {limit} {resource} that queue {queue} may have, {used} are used or promised"
    ),
    "QueueUsedUp": waits(
        "{pod} asks {asked} {resource}, queue {queue} is given {given} and has {used} of it in use"
    ),
    "QuotaUsedUp": Row("quotas of namespace {namespace} have too little: {lacks}"),
    "Unschedulable": waits("{message}"),
    "WaitedTooLong": waits("let in because it waited longer than its sla-waiting-time"),
}
