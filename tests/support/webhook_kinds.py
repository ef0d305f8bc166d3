"""Webhook configurations on an API server that has no such kinds of its own: as custom resources.

longshore calls no webhooks; the tests do so in its place, as Kubernetes' API server would.
"""

from __future__ import annotations

from longshore.api.types import Obj
from longshore.client import Client

GROUP = "admissionregistration.k8s.io"
DEFINITIONS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def definition(kind: str) -> Obj:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}", "annotations": approved},
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "plural": plural},
            "scope": "Cluster",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


async def define(client: Client) -> None:
    """Makes both kinds known."""
    for kind in KINDS:
        await client.create(DEFINITIONS, definition(kind))
