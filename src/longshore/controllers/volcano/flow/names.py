"""Names of Jobs that a flow creates, and the labels that name their flow and template."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key

BY_FLOW: Final = "volcano.sh/createdByJobFlow"
BY_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"


def mark(obj: Obj) -> str:
    """Returns the label value that names a flow or template: `namespace.name`."""
    meta = obj["metadata"]
    return f"{meta['namespace']}.{meta['name']}"


def job_name(flow: Obj, entry: str) -> str:
    return f"{flow['metadata']['name']}-{entry}"


def marked_by(job: Obj, label: str) -> tuple[str, ...]:
    """Returns the flow or template that a Job's `label` names; nothing if that is in another namespace than
    the Job."""
    meta = job["metadata"]
    found: str = (meta.get("labels") or {}).get(label) or ""
    return (found,) if key_of_mark(found)[0] == meta["namespace"] else ()


def key_of_mark(text: str) -> Key:
    """Returns the key of the flow or template that a label value names: namespaces have no dots."""
    namespace, _, name = text.partition(".")
    return namespace, name
