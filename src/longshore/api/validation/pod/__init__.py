"""Checks of Pods and of the pod templates of other kinds. `spec.py` is where to start reading.

Functions that take a list called `found` add to it; the public ones return a list of their own.
"""

from longshore.api.validation.pod.resize import validate_ephemeral_containers_update, validate_resize
from longshore.api.validation.pod.spec import validate_pod_create, validate_pod_spec, validate_pod_template
from longshore.api.validation.pod.status import validate_pod_status_update
from longshore.api.validation.pod.update import validate_pod_update

__all__ = [
    "validate_ephemeral_containers_update",
    "validate_pod_create",
    "validate_pod_spec",
    "validate_pod_status_update",
    "validate_pod_template",
    "validate_pod_update",
    "validate_resize",
]
