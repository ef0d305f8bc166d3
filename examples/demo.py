"""`make demo`: starts a throw-away longshore, puts examples/hello-job.yaml on it, shows what a client sees.

Everything goes over TLS through the same API that kubectl uses. There is no node in this version, so the
Job is accepted, defaulted, validated, stored and watched, but nothing runs it; the demo says so.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from longshore.client import Client, DeleteOptions
from longshore.client.http import HttpClient

MANIFEST = Path(__file__).parent / "hello-job.yaml"
JOBS = ("batch/v1", "Job")
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
say = Console(highlight=False, soft_wrap=True).print


async def main() -> int:
    say("[bold]$ longshore up --in-memory --port 0[/]")
    async with longshore() as kubeconfig, HttpClient.from_kubeconfig(kubeconfig, manager="demo") as client:
        (manifest,) = yaml.safe_load_all(MANIFEST.read_text())
        say(f"\n[bold]$ kubectl apply --server-side -f {MANIFEST.name}[/]")
        watching = asyncio.create_task(watch(client))
        job = await client.apply(JOBS, manifest, "default", manager="demo")
        say(f"job.batch/{job['metadata']['name']} serverside-applied")
        say(f"  the server filled in: {filled_in(manifest, job)}")

        say("\n[bold]$ kubectl get jobs[/]")
        await table(client, "/apis/batch/v1/namespaces/default/jobs")

        say('\n[bold]$ kubectl patch job hello -p \'{"spec":{"parallelism":3}}\'[/]')
        job = await client.patch(JOBS, "hello", {"spec": {"parallelism": 3}}, "default")
        say(f"job.batch/hello patched, now of generation {job['metadata']['generation']}")

        say("\n[bold]$ kubectl delete job hello[/]")
        await client.delete(JOBS, "hello", "default", DeleteOptions(propagation="Background"))
        say('job.batch "hello" deleted')
        say("\n[bold]what a watch saw meanwhile[/]")
        for line in await asyncio.wait_for(watching, 10):
            say(f"  {line}")
    say(
        "\n[green]Result: the control plane took the Job through its whole life over the API.[/]\n"
        "[yellow]This version has no node yet, so no pod ran: no greeting was printed.[/]"
    )
    return 0


@asynccontextmanager
async def longshore() -> AsyncIterator[Path]:
    """A throw-away longshore in a process of its own; gives its kubeconfig."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "longshore", "up", "--in-memory", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    ready = (await process.stdout.readline()).decode()
    found = re.search(r"KUBECONFIG=(\S+)", ready)
    if found is None:
        raise SystemExit("longshore did not start; see above")
    say(ready.rstrip())
    try:
        yield Path(found[1])
    finally:
        process.terminate()
        await process.wait()


async def watch(client: Client) -> list[str]:
    """Every change of the Job, until it is gone."""
    lines: list[str] = []
    async with client.watch(JOBS, "default", fields="metadata.name=hello", timeout=30) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                parallelism = event.object["spec"]["parallelism"]
                lines.append(
                    f"{event.type:<9}resourceVersion {event.resource_version}, parallelism {parallelism}"
                )
            if event.type == "DELETED":
                break
    return lines


async def table(client: Client, path: str) -> None:
    """Prints a list as kubectl would: the server decides the columns."""
    answer = json.loads((await client.request("GET", path, headers=TABLE)).body)
    shown = [i for i, column in enumerate(answer["columnDefinitions"]) if column["priority"] == 0]
    rows = [[answer["columnDefinitions"][i]["name"].upper() for i in shown]]
    rows += [[str(row["cells"][i]) for i in shown] for row in answer["rows"]]
    widths = [max(len(row[i]) for row in rows) + 3 for i in range(len(shown))]
    for row in rows:
        say("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def filled_in(sent: Any, got: Any) -> str:
    """Names of the spec's fields that the client left to the server."""
    return ", ".join(sorted(got["spec"].keys() - sent["spec"].keys()))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
