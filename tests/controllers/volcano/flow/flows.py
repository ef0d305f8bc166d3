"""JobFlows and templates, and a hand that moves Jobs from phase to phase."""

from __future__ import annotations

from typing import Any

from longshore.api.types import Obj
from longshore.client import Client
from longshore.machinery.time.virtual import VirtualClock
from support.volcano_manifests import task

FLOWS = ("flow.volcano.sh/v1alpha1", "JobFlow")
TEMPLATES = ("flow.volcano.sh/v1alpha1", "JobTemplate")
JOBS = ("batch.volcano.sh/v1alpha1", "Job")


async def template(client: Client, *names: str) -> None:
    for name in names:
        body = {"metadata": {"name": name}, "spec": {"tasks": [task()]}}
        await client.create(TEMPLATES, body, "default")


async def flow(client: Client, entries: dict[str, list[str]], policy: str = "retain") -> None:
    flows: list[dict[str, Any]] = [
        {"name": name, **({"dependsOn": {"targets": targets}} if targets else {})}
        for name, targets in entries.items()
    ]
    body = {"metadata": {"name": "f"}, "spec": {"flows": flows, "jobRetainPolicy": policy}}
    await client.create(FLOWS, body, "default")


async def move(client: Client, clock: VirtualClock, name: str, *phases: str) -> None:
    """Writes the status a Job has after these phases, as the Job controller does."""
    job = await client.get(JOBS, name, "default")
    passed = [c for c in (job.get("status") or {}).get("conditions") or () if c["status"] not in phases]
    at = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    passed += [{"status": phase, "lastTransitionTime": at} for phase in phases]
    status: Obj = {"state": {"phase": phases[-1], "lastTransitionTime": at}, "conditions": passed}
    if phases[-1] in ("Completed", "Failed", "Terminated"):
        status["runningDuration"] = "1m5.5s"
    await client.patch(JOBS, name, {"status": status}, "default", subresource="status")


async def jobs(client: Client) -> list[str]:
    return sorted(job["metadata"]["name"] for job in (await client.list(JOBS)).items)
