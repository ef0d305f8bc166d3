"""Columns of events and of the small groups: leases, priorities, network policies, budgets, role bindings."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.apiserver.tables.cells import (
    AGE,
    NAME,
    Printer,
    age_of,
    column,
    name_of,
    selector_text,
    wide,
)


def _event(event: Obj, now: datetime) -> list[Any]:
    """Reads the fields of either form: core's, or events.k8s.io's other names for them."""
    about = event.get("involvedObject") or event.get("regarding") or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    message = event.get("message") or event.get("note") or ""
    first = ages.age(event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp"), now)
    if first == ages.UNKNOWN:
        first = ages.age(event.get("eventTime"), now)
    last = ages.age(event.get("lastTimestamp") or event.get("deprecatedLastTimestamp"), now)
    if last == ages.UNKNOWN:
        last = first
    # A single event of the newer API carries no count.
    count = event.get("count") or event.get("deprecatedCount") or 1
    series = event.get("series")
    if series is not None:
        last = ages.age(series.get("lastObservedTime"), now)
        count = series.get("count", 0)
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        _target(about),
        about.get("fieldPath", ""),
        _source(event, source),
        message.strip(),
        first,
        count,
        name_of(event),
    ]


def _target(about: Obj) -> str:
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _source(event: Obj, source: Obj) -> str:
    controller = event.get("reportingComponent") or event.get("reportingController") or ""
    component = source.get("component") or controller
    instance = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


_EVENT: Final = Printer(
    (
        column("Last Seen", "Time since this last happened."),
        column("Type", "Normal or Warning."),
        column("Reason", "Why the event was sent, in one word."),
        column("Object", "What the event is about."),
        wide("Subobject", "The part of the object the event is about."),
        wide("Source", "Who sent the event."),
        column("Message", "What happened."),
        wide("First Seen", "Time since this first happened."),
        wide("Count", "How often this happened."),
        column("Name", "Name of the event itself.", format="name", priority=1),
    ),
    _event,
)


def _lease(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("spec", {}).get("holderIdentity") or "", age_of(obj, now)]


def _priority_class(obj: Obj, now: datetime) -> list[Any]:
    return [
        name_of(obj),
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        age_of(obj, now),
        obj.get("preemptionPolicy") or "",
    ]


def _network_policy(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), selector_text(obj.get("spec", {}).get("podSelector")), age_of(obj, now)]


def _budget(obj: Obj, now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    return [
        name_of(obj),
        _or_na(spec.get("minAvailable")),
        _or_na(spec.get("maxUnavailable")),
        obj.get("status", {}).get("disruptionsAllowed", 0),
        age_of(obj, now),
    ]


def _or_na(value: int | str | None) -> str:
    return "N/A" if value is None else str(value)


def _role_binding(obj: Obj, now: datetime) -> list[Any]:
    ref = obj.get("roleRef", {})
    users, groups, accounts = [], [], []
    for subject in obj.get("subjects") or ():
        name = subject.get("name", "")
        match subject.get("kind"):
            case "User":
                users.append(name)
            case "Group":
                groups.append(name)
            case "ServiceAccount":
                accounts.append(f"{subject.get('namespace', '')}/{name}")
    return [
        name_of(obj),
        f"{ref.get('kind', '')}/{ref.get('name', '')}",
        age_of(obj, now),
        ", ".join(users),
        ", ".join(groups),
        ", ".join(accounts),
    ]


def _runtime_class(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), obj.get("handler", ""), age_of(obj, now)]


_ROLE_BINDING: Final = Printer(
    (
        NAME,
        column("Role", "Role that is given."),
        AGE,
        wide("Users", "Users who get it."),
        wide("Groups", "Groups that get it."),
        wide("ServiceAccounts", "Service accounts that get it."),
    ),
    _role_binding,
)

PRINTERS: Final = {
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("node.k8s.io", "RuntimeClass"): Printer(
        (NAME, column("Handler", "Engine that runs the pods."), AGE), _runtime_class
    ),
    ("coordination.k8s.io", "Lease"): Printer((NAME, column("Holder", "Who holds the lease."), AGE), _lease),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        (
            NAME,
            column("Value", "Priority of pods of this class.", "integer"),
            column("Global-Default", "Whether pods without a class get this one.", "boolean"),
            AGE,
            column("PreemptionPolicy", "Whether such pods push others out."),
        ),
        _priority_class,
    ),
    ("networking.k8s.io", "NetworkPolicy"): Printer(
        (NAME, column("Pod-Selector", "Labels of the pods it is for."), AGE), _network_policy
    ),
    ("policy", "PodDisruptionBudget"): Printer(
        (
            NAME,
            column("Min Available", "Pods that must stay available."),
            column("Max Unavailable", "Pods that may be unavailable."),
            column("Allowed Disruptions", "Pods that may be disrupted now.", "integer"),
            AGE,
        ),
        _budget,
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): _ROLE_BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _ROLE_BINDING,
}
