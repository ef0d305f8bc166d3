"""Carries out a plan: status, then deletes, then the finalizer, so that a crash in between loses nothing."""

from __future__ import annotations

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.client import Client, DeleteOptions
from longshore.controllers.namespace.decide import FINALIZER, NamespacePlan
from longshore.controllers.namespace.observe import Content, NamespaceView

_BACKGROUND = DeleteOptions(propagation="Background")


async def act(client: Client, view: NamespaceView, plan: NamespacePlan) -> tuple[str, ...]:
    """Carries out the plan and returns the errors of failed deletes."""
    namespace = view.namespace
    if plan.conditions is not None:
        status = {**(namespace.get("status") or {}), "conditions": plan.conditions}
        namespace = await client.update_status(kinds.NAMESPACES, {**namespace, "status": status})
    failures: list[str] = []
    for content in plan.delete:
        failures += await _delete(client, content, namespace["metadata"]["name"])
    if plan.finalize:
        spec = dict(namespace["spec"])
        spec["finalizers"] = [f for f in spec["finalizers"] if f != FINALIZER]
        await client.update(kinds.NAMESPACES, {**namespace, "spec": spec}, subresource="finalize")
    return tuple(failures)


async def _delete(client: Client, content: Content, namespace: str) -> list[str]:
    if content.at_once:
        try:
            await client.delete_collection(content.what, namespace, _BACKGROUND)
        except StatusError as err:
            return [str(err)]
        return []
    failures = []
    for obj in content.objects:
        try:
            await client.delete(content.what, obj["metadata"]["name"], namespace, _BACKGROUND)
        except StatusError as err:
            if err.code != 404:
                failures.append(str(err))
    return failures
