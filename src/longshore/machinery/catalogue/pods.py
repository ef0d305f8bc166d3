"""Reasons of the pod scheduler, of the node, of the pod collector and of the garbage collector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.api.facts import own_names
from longshore.machinery.catalogue.row import Event, Numbers, Place, Row, line, normal, passing, step, warning
from longshore.machinery.sentences import exit_words, quoted


def _container_failed(numbers: Numbers) -> str:
    said = exit_words(numbers.get("exitCode"), str(numbers.get("reason", "")), str(numbers.get("memory", "")))
    if message := quoted(str(numbers.get("message", ""))):
        said += f", {message}"
    how = "was stopped" if numbers.get("stopped") else "ended"
    return f"container {numbers.get('container')} {how}: {said}"


def _only_node(numbers: Numbers) -> str:
    of = f" of {numbers['nodes']} that will do" if numbers["nodes"] > 1 else ""
    return f"placed on node {numbers['node']}, the only one{of}"


def _others_wait(numbers: Numbers) -> str:
    wait = "pod of the same shape waits" if numbers["pods"] == 1 else "pods of the same shape wait"
    return f"{numbers['pods']} other {wait} with it"


ROWS: Final[Mapping[str, Row]] = {
    # ---- the scheduler of single pods
    "BestNode": Row(
        "node {node} is the best of {fit} that will do ({unfit} will not)",
        "placed on node {node}, the best of {fit} that will do; {unfit} will not",
    ),
    "BindingFailed": Row("the binding failed", "the binding failed"),
    "FailedScheduling": warning("{message}"),
    "Insufficient": step("asks {asked} {resource}, node {node} has {left} of {allocatable} left"),
    "NoNodes": step("there are no nodes"),
    "OnlyNode": Row("node {node} is the only one of {nodes} that will do", _only_node),
    "OthersWait": Row(_others_wait, place=Place.STEP),
    "PortTaken": step("port {port}/{protocol} of node {node} is taken"),
    "Preempted": normal("Preempted by pod {pod} on node {node}"),
    "Preempts": line("[makes|the scheduler made] room on node {node} by removing {pods}"),
    "Scheduled": normal("Successfully assigned {pod} to {node}", "pod group is ready"),
    "SchedulingGated": step("waits for its scheduling gates to be removed: {names}"),
    "Tainted": step("node {node} has the taint {taint}"),
    "Uneven": step(
        "{topology}={domain} has {pods} of these pods and the emptiest {least}, "
        "at most {most} more are allowed"
    ),
    # ---- pods on their node
    "AskedToStop": passing("{container} gets SIGTERM"),
    "BackOff": warning("Back-off restarting failed container {container} in pod {pod}"),
    "ContainerCreated": normal("Container created", reason="Created"),
    "ContainerFailed": Row("{container} ended with exit code {exitCode}", _container_failed),
    "ContainerStarted": Row(
        "{container} is started", place=Place.PASSING, event=Event("Normal", "Started", "Container started")
    ),
    "CrashLoopBackOff": Row(
        "{container} ended with {exit_code}; {message}",
        "container {container} starts again about {again} (back-off {seconds:span})",
    ),
    "Deleted": line(
        "it is deleted, with a grace period of {seconds:g} s",
        "it is being deleted, and nothing here holds it",
    ),
    "FailedPostStartHook": warning("PostStartHook failed: {problem}", "PostStartHook failed"),
    "FailedPreStopHook": warning("PreStopHook failed: {problem}", "PreStopHook failed"),
    "Gone": passing("it is not in the API any more"),
    "GracePeriod": passing("{container} has time to end by itself"),
    "ImageBackOff": normal('Back-off pulling image "{image}"', reason="BackOff"),
    "ImageNotPulled": warning('Failed to pull image "{image}": {problem}', reason="Failed"),
    "ImageNotUsed": normal(
        "Container images are not used: the process runtime runs commands of this machine"
    ),
    "Killed": line("[|container ]{container} did not end in time and is killed"),
    "Killing": normal("{message}"),
    "MainsEnded": passing("its main containers have ended, and its sidecars stop"),
    "NeverStarts": step("cannot start as its manifest is, however often it is tried"),
    "NotStarted": warning("Error: {message}", reason="Failed"),
    "NotSupported": warning("{problem}"),
    "Over": passing("nothing of it runs, and nothing will again"),
    "PodStopped": warning("{message}", reason="{verdict}"),
    "PostStartHook": passing("{container} runs; its postStart hook is next"),
    "PreStopHook": step("{container} runs its preStop hook"),
    "Prepared": passing("its volumes and environment are prepared first"),
    "Preparing": passing("its volumes and environment are being prepared"),
    "Probed": passing("{container} runs and is probed"),
    "Pulling": normal('Pulling image "{image}"'),
    "Running": passing("runs"),
    "StartFailed": line("[|container ]{container} did not start, and is tried again after a pause"),
    "Starting": passing("{container} waits for the runtime to start it"),
    "Succeeded": passing("it is {code} already"),
    "Unhealthy": Row("{message}", "{message}", event=Event("Warning")),
    "Unprepared": Row(
        "cannot be prepared yet: {message}",
        "cannot be prepared yet: {message}",
        event=Event("Warning", "{reason}", "{message}"),
    ),
    "Unstartable": line(
        f"[|the pod failed: it ]could not start within the {{patience}} of {own_names.FAIL_UNSTARTABLE_AFTER}"
    ),
    "WaitsForInit": passing("what comes after init container {container} waits until it has ended well"),
    "WaitsForSidecar": passing("what comes after sidecar {container} waits until it has started"),
    "WeakIsolation": warning("{problem}"),
    # ---- nodes
    "NodeNotReady": normal("Node {node} status is now: NodeNotReady"),
    "PodNodeNotReady": warning("Node is not ready", reason="NodeNotReady"),
    "TaintManagerEviction": normal("Marking for deletion Pod {pod}"),
    # ---- garbage, and pods that are collected
    "DeletedAlready": passing("it is being deleted already"),
    "DeletedUnscheduled": Row("it is being deleted and was never assigned to a node"),
    "DependentInForeground": Row("one of these is being deleted in the foreground"),
    "DependentsOrphaned": Row(
        "it leaves {dependents} dependents behind",
        "left behind: {dependents:dependent}, not to be deleted with it",
    ),
    "DependentsRemain": Row("it waits for {blocking} dependents to be deleted"),
    "GoneAlready": passing("it is gone already"),
    "NoDependents": passing("no dependent names it any more"),
    "NoOwner": passing("it has no owner"),
    "NodeGone": Row("its node no longer exists"),
    "NodeOutOfService": Row("it is being deleted on a node that is out of service"),
    "NodeTainted": Row("its node {node} has the taint {taint}, which it tolerates for {seconds:g} s"),
    "NothingBlocks": passing("no dependent holds it back any more"),
    "OwnDependents": Row("it has {dependents} dependents itself"),
    "OwnerGone": Row("its owner {kind} {name} does not exist"),
    "OwnerKindUnknown": Row("its owner {kind} {name} is of a kind that the server does not serve now"),
    "OwnerPresent": Row("its owner {kind} {name} is there"),
    "OwnerRefInvalidNamespace": warning('ownerRef {owner} does not exist in namespace "{namespace}"'),
    "OwnerUnresolvable": Row(
        "its owner {kind} {name} is namespaced, which an object without a namespace cannot name"
    ),
    "OwnerWaiting": Row("its owner {kind} {name} waits for its dependents to be deleted"),
    "OwnersChanged": Row("its owners changed meanwhile"),
    "OwnersGone": Row("{owners} other owners are not there"),
    "RingOfOwners": Row("it and its dependents wait for each other in a ring"),
    "TooManyEnded": Row("there are more ended pods than may be kept"),
}
