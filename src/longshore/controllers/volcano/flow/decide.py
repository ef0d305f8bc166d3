"""Decides the next step of a JobFlow. A pure function of the flow, its Jobs and templates, and the time.

A failed or terminating flow is left alone. A succeeded flow starts no Job: upstream would run a finished Job
again after it was deleted or its time to live was over.
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
from longshore.machinery.informers.cache import Key
from longshore.machinery.reasons import Reason

BY_FLOW: Final = "volcano.sh/createdByJobFlow"
BY_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"
_INERT: Final = ("Failed", "Terminating")


def mark(obj: Obj) -> str:
    """Returns the label value that names a flow or template: `namespace.name`."""
    meta = obj["metadata"]
    return f"{meta['namespace']}.{meta['name']}"


def job_name(flow: Obj, entry: str) -> str:
    return f"{flow['metadata']['name']}-{entry}"


def marked_by(job: Obj, label: str) -> tuple[str, ...]:
    """Returns the flow or template that a Job's `label` names; nothing if it is in another namespace."""
    meta = job["metadata"]
    found: str = (meta.get("labels") or {}).get(label) or ""
    return (found,) if key_of_mark(found)[0] == meta["namespace"] else ()


def key_of_mark(text: str) -> Key:
    """Returns the key of the flow or template that a label value names: namespaces have no dots."""
    namespace, _, name = text.partition(".")
    return namespace, name


class FlowView(msgspec.Struct, frozen=True):
    """The input of `decide`. `named` holds the existing Jobs of all flow entries, by name."""

    flow: Obj
    named: Mapping[str, Obj]
    jobs: Sequence[Obj]
    """The Jobs whose label names this flow."""
    templates: Mapping[str, Obj]
    now: str
    """The current time in RFC 3339, in whole seconds."""


class FlowPlan(msgspec.Struct, frozen=True):
    why: tuple[Reason, ...]
    delete: tuple[str, ...] = ()
    create: tuple[Obj, ...] = ()
    missing: str = ""
    """The first missing template. All later entries wait for it, and so does the status."""
    status: Obj | None = None
    """The new status; None if it does not change."""
    ended: str = ""
    """The phase in which the flow ends with this status; empty if it goes on."""
    look_again: float | None = None
    """Always None: only a change causes another sync."""


def decide(view: FlowView) -> FlowPlan:
    """Returns the next step."""
    flow, phase = view.flow, phase_of(view.flow)
    if "deletionTimestamp" in flow["metadata"] or phase in _INERT:
        return FlowPlan((Reason("FlowEnded"),))
    if phase == "Succeed" and (flow.get("spec") or {}).get("jobRetainPolicy") == "delete":
        doomed = tuple(j["metadata"]["name"] for j in view.jobs if "deletionTimestamp" not in j["metadata"])
        why = Reason("KeepsNoJobs", {"jobs": len(doomed)})
        return FlowPlan((why,), delete=doomed)
    create: list[Obj] = []
    for entry in _due(view) if phase != "Succeed" else ():
        template = view.templates.get(entry)
        if template is None:
            return FlowPlan((*_why(create, entry),), create=tuple(create), missing=entry)
        create.append(made(flow, entry, template))
    status = statuses.updated(flow, view.jobs, view.now)
    ended = status["state"]["phase"] if status["state"]["phase"] in ("Succeed", "Failed") else ""
    return FlowPlan(
        (*_why(create), *_change(phase, status["state"]["phase"])),
        create=tuple(create),
        status=None if status == flow.get("status") else status,
        ended=ended if ended != phase else "",
    )


def _why(create: Sequence[Obj], missing: str = "") -> Iterator[Reason]:
    """Yields reasons for the Jobs to start, and for a missing template."""
    if create:
        names = ", ".join(job["metadata"]["name"] for job in create)
        yield Reason("JobsDue", {"jobs": len(create), "names": names})
    if missing:
        yield Reason("TemplateMissing", {"template": missing})
    if not create and not missing:
        yield Reason("NothingDue")


def _change(before: str, after: str) -> Iterator[Reason]:
    if before != after:
        yield Reason("PhaseChanged", {"phase": after})


def _due(view: FlowView) -> list[str]:
    """Returns entries whose Job does not exist, and whose targets have all completed."""
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
    """Returns the Job to create for an entry."""
    marks = {BY_TEMPLATE: mark(template), BY_FLOW: mark(flow)}
    meta = {
        "name": job_name(flow, entry),
        "namespace": flow["metadata"]["namespace"],
        "labels": marks,
        "annotations": dict(marks),
        "ownerReferences": [owners.controller_ref(flow, kinds.JOB_FLOWS)],
    }
    return {"metadata": meta, "spec": types.copy_of(template.get("spec") or {})}
