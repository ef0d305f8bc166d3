"""Columns of the small groups: leases, priorities, network policies, budgets, role bindings."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

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
