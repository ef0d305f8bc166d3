"""Webhook configurations on an API server that has no such kinds of its own: as custom resources.

longshore calls no webhooks; the tests do so in its place, as Kubernetes' API server would.
"""

from __future__ import annotations

from apiserver.crd import widgets
from longshore.api.types import Obj
from longshore.client import Client

GROUP = "admissionregistration.k8s.io"
DEFINITIONS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def definition(kind: str) -> Obj:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = widgets.version(schema={"openAPIV3Schema": schema})
    made = widgets.definition(version, kind=kind, group=GROUP, scope="Cluster")
    approved = "https://github.com/kubernetes/enhancements"
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": approved}
    return made


KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


async def define(client: Client) -> None:
    for kind in KINDS:
        await client.create(DEFINITIONS, definition(kind))
