"""Reads Volcano's objects as its own programs do: into Go types, before the schema is checked.

A webhook decodes an object before it checks it, and so refuses an unreadable duration or quantity in Go's
words. The types are in `data/volcano-types.json`.
"""

from __future__ import annotations

from typing import Final

from longshore.api import codec
from longshore.api.types import Obj

_MESSAGES: Final = {
    "batch.volcano.sh/cronjobs": "batch.volcano.sh/v1alpha1.CronJob",
    "batch.volcano.sh/jobs": "batch.volcano.sh/v1alpha1.Job",
    "flow.volcano.sh/jobflows": "flow.volcano.sh/v1alpha1.JobFlow",
    "scheduling.volcano.sh/podgroups": "scheduling.volcano.sh/v1beta1.PodGroup",
    "scheduling.volcano.sh/queues": "scheduling.volcano.sh/v1beta1.Queue",
}
"""By storage; no webhook reads Commands and JobTemplates."""


def read(storage: str, obj: Obj) -> Obj:
    """The spec of an object with all values canonical. Raises DecodeError with Go's words."""
    decoded: Obj = codec.from_value({"spec": obj.get("spec")}, _MESSAGES[storage]).obj
    return decoded.get("spec") or {}
