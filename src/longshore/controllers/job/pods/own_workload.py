"""The Workload and the PodGroup of a Job that is a gang by its shape (alpha, upstream's WorkloadWithJob).

A Job is one when it is Indexed, runs all its indexes at the same time, and has at least two. It gets both
objects before its first pod. A Job that began without them never gets them, nor does one whose Workload
somebody else made. Names are made of the Job's UID, so that a second try finds what the first one made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from longshore.api import errors
from longshore.api.facts import kinds, owners
from longshore.api.types import Obj
from longshore.client import Client

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH: Final = 10
_MAX_NAME: Final = 253


def is_gang(job: Obj) -> bool:
    """Whether a Job's shape makes it a gang, and its pods name no group themselves."""
    spec = job["spec"]
    pods = spec.get("parallelism") or 0
    return (
        spec.get("completionMode") == "Indexed"
        and pods > 1
        and pods == spec.get("completions")
        and "schedulingGroup" not in (spec["template"].get("spec") or {})
    )


def is_new(job: Obj) -> bool:
    """Whether a Job has never begun, nor been held."""
    status = job.get("status") or {}
    began = any(status.get(name) for name in ("startTime", "active", "succeeded", "failed"))
    held = any(each["type"] == "Suspended" for each in status.get("conditions") or ())
    return not began and not held


def workload(job: Obj) -> Obj:
    meta = job["metadata"]
    return {
        "metadata": {
            "name": _named(_hash(meta["uid"]), meta["name"]),
            "namespace": meta["namespace"],
            "ownerReferences": [owners.controller_ref(job, kinds.JOBS)],
        },
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": meta["name"]},
            "podGroupTemplates": [
                {
                    "name": f"{meta['name']}-pgt-0",
                    "schedulingPolicy": {"gang": {"minCount": job["spec"]["parallelism"]}},
                }
            ],
        },
    }


def pod_group(job: Obj, made: Obj) -> Obj:
    """The PodGroup of the one template of a Workload. It goes with the Job, and with the Workload."""
    name, (template,) = made["metadata"]["name"], made["spec"]["podGroupTemplates"]
    version, kind = kinds.WORKLOADS
    also = {"apiVersion": version, "kind": kind, "name": name, "uid": made["metadata"]["uid"]}
    return {
        "metadata": {
            "name": _named(_hash(name + template["name"]), name, template["name"]),
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [owners.controller_ref(job, kinds.JOBS), also],
        },
        "spec": {
            "podGroupTemplateRef": {
                "workload": {"workloadName": name, "podGroupTemplateName": template["name"]}
            },
            "schedulingPolicy": template["schedulingPolicy"],
        },
    }


async def group_of(client: Client, job: Obj) -> tuple[str, str]:
    """The names of the PodGroup that a gang's pods join, and of the Workload if this call made it; "" for
    none."""
    namespace, wanted, created = job["metadata"]["namespace"], workload(job), ""
    named = [each for each in (await client.list(kinds.WORKLOADS, namespace)).items if _names(each, job)]
    if not named:
        if not is_new(job):
            return "", ""
        with errors.tolerated(409):
            named = [await client.create(kinds.WORKLOADS, wanted, namespace)]
            created = wanted["metadata"]["name"]
        named = named or [await client.get(kinds.WORKLOADS, wanted["metadata"]["name"], namespace)]
    if len(named) > 1 or not owners.is_controlled_by(named[0], job):
        return "", ""
    if len(named[0]["spec"]["podGroupTemplates"]) != 1:
        return "", ""
    group = pod_group(job, named[0])
    with errors.tolerated(409):
        await client.create(kinds.SCHEDULING_GROUPS, group, namespace)
    return group["metadata"]["name"], created


def joined(bodies: Sequence[Obj], group: str) -> list[Obj]:
    """Pods as members of a group."""
    return [{**body, "spec": {**body["spec"], "schedulingGroup": {"podGroupName": group}}} for body in bodies]


def _names(found: Obj, job: Obj) -> bool:
    ref = (found.get("spec") or {}).get("controllerRef") or {}
    return (ref.get("apiGroup"), ref.get("kind"), ref.get("name")) == (
        "batch",
        "Job",
        job["metadata"]["name"],
    )


def _hash(text: str) -> str:
    """Ten letters and digits of which no words are made."""
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_HASH_LENGTH])


def _named(suffix: str, *parts: str) -> str:
    room = (_MAX_NAME - len(suffix) - len(parts)) // len(parts)
    return "-".join([*(part[:room] for part in parts), suffix])
