"""Kinds, and what marks a Job as made by a flow from a template."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key

BY_FLOW: Final = "volcano.sh/createdByJobFlow"
BY_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"


def mark(obj: Obj) -> str:
    """How Jobs name the flow or template they come from: `namespace.name`."""
    meta = obj["metadata"]
    return f"{meta['namespace']}.{meta['name']}"


def job_name(flow: Obj, entry: str) -> str:
    return f"{flow['metadata']['name']}-{entry}"


def marked_by(job: Obj, label: str) -> tuple[str, ...]:
    """The mark that a Job carries under `label`. A flow or template of another namespace has no Jobs here,
    whatever a Job says."""
    meta = job["metadata"]
    found: str = (meta.get("labels") or {}).get(label) or ""
    return (found,) if key_of_mark(found)[0] == meta["namespace"] else ()


def key_of_mark(text: str) -> Key:
    """The flow or template that a mark names: namespaces have no dots."""
    namespace, _, name = text.partition(".")
    return namespace, name
