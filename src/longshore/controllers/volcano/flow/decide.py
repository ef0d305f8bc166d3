"""The next step of a JobFlow. A pure function of the flow, its Jobs and templates, and the time.

A flow that failed, or is being ended, stays as it is. One that succeeded starts nothing any more: upstream
would run a finished Job again that somebody deleted, or whose time to live was over, as soon as it looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from longshore.api import types
from longshore.api.facts import kinds, owners
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.controllers.volcano.flow import status as statuses
from longshore.controllers.volcano.flow.names import BY_FLOW, BY_TEMPLATE, job_name, mark
from longshore.machinery.reasons import Reason

_INERT: Final = ("Failed", "Terminating")


class View(msgspec.Struct, frozen=True):
    """All that a decision may know. `named` has every Job of the namespace that a flow entry could mean."""

    flow: Obj
    named: Mapping[str, Obj]
    jobs: Sequence[Obj]
    """The Jobs that are marked as this flow's."""
    templates: Mapping[str, Obj]
    now: str
    """RFC 3339, in seconds."""


class Plan(msgspec.Struct, frozen=True):
    why: tuple[Reason, ...]
    delete: tuple[str, ...] = ()
    create: tuple[Obj, ...] = ()
    missing: str = ""
    """The first template that is needed and not there. All that comes after it waits, the status too."""
    status: Obj | None = None
    """The new status; None when it is right already."""
    ended: str = ""
    """The phase in which the flow ends with this status."""
    look_again: float | None = None
    """Never: only a change calls for another look."""


def decide(view: View) -> Plan:
    """The next step."""
    flow, phase = view.flow, phase_of(view.flow)
    if "deletionTimestamp" in flow["metadata"] or phase in _INERT:
        return Plan((Reason("FlowEnded", "it has ended, or is being deleted"),))
    if phase == "Succeed" and (flow.get("spec") or {}).get("jobRetainPolicy") == "delete":
        doomed = tuple(j["metadata"]["name"] for j in view.jobs if "deletionTimestamp" not in j["metadata"])
        why = Reason("KeepsNoJobs", "has succeeded and keeps no Jobs", {"jobs": len(doomed)})
        return Plan((why,), delete=doomed)
    create: list[Obj] = []
    for entry in _due(view) if phase != "Succeed" else ():
        template = view.templates.get(entry)
        if template is None:
            return Plan((*_why(create, entry),), create=tuple(create), missing=entry)
        create.append(made(flow, entry, template))
    status = statuses.updated(flow, view.jobs, view.now)
    ended = status["state"]["phase"] if status["state"]["phase"] in ("Succeed", "Failed") else ""
    return Plan(
        (*_why(create), *_change(phase, status["state"]["phase"])),
        create=tuple(create),
        status=None if status == flow.get("status") else status,
        ended=ended if ended != phase else "",
    )


def _why(create: Sequence[Obj], missing: str = "") -> Iterator[Reason]:
    """The Jobs to start, and the template without which no more can be."""
    if create:
        names = ", ".join(job["metadata"]["name"] for job in create)
        yield Reason("JobsDue", f"starts {names}", {"jobs": len(create)})
    if missing:
        yield Reason("TemplateMissing", f"needs JobTemplate {missing}, which is not there")
    if not create and not missing:
        yield Reason("NothingDue", "no Job is due")


def _change(before: str, after: str) -> Iterator[Reason]:
    if before != after:
        yield Reason("PhaseChanged", f"is {after} now")


def _due(view: View) -> list[str]:
    """Entries whose Job is not there, and whose targets have all completed."""
    found = []
    for entry in (view.flow.get("spec") or {}).get("flows") or ():
        if job_name(view.flow, entry["name"]) in view.named:
            continue
        targets = (entry.get("dependsOn") or {}).get("targets") or ()
        jobs = [view.named.get(job_name(view.flow, target)) for target in targets]
        if all(job is not None and phase_of(job) == "Completed" for job in jobs):
            found.append(entry["name"])
    return found


def made(flow: Obj, entry: str, template: Obj) -> Obj:
    """The Job of an entry."""
    marks = {BY_TEMPLATE: mark(template), BY_FLOW: mark(flow)}
    meta = {
        "name": job_name(flow, entry),
        "namespace": flow["metadata"]["namespace"],
        "labels": marks,
        "annotations": dict(marks),
        "ownerReferences": [owners.controller_ref(flow, kinds.JOB_FLOWS)],
    }
    return {"metadata": meta, "spec": types.copy_of(template.get("spec") or {})}
