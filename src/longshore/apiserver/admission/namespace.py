"""Whether a namespace takes new objects: it must exist and not be terminating.

Existing objects can be changed and deleted until the namespace is gone. The Namespace kind says which
namespaces can never be deleted.
"""

from __future__ import annotations

from longshore.api import errors
from longshore.api.kinds.namespace import TERMINATING
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import Get, shown_name


def is_open(namespace: Obj) -> bool:
    """Whether this namespace, which exists, takes new objects."""
    if "deletionTimestamp" in namespace["metadata"]:
        return False
    return (namespace.get("status") or {}).get("phase") != TERMINATING


def check_open(get: Get, resource: Resource, namespace: str, obj: Obj) -> None:
    """Raises 404 for a namespace that is not there, 403 for one that is terminating."""
    found = get("namespaces", "", namespace)
    if found is None:
        raise errors.not_found("", "namespaces", namespace)
    if not is_open(found):
        raise errors.forbidden(
            resource.group,
            resource.plural,
            shown_name(obj),
            f"unable to create new content in namespace {namespace} because it is being terminated",
            [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        )
