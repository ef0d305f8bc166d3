"""`make demo`: starts a throw-away longshore and takes examples/hello-job.yaml to its end on it.

Everything goes over TLS through the same API that kubectl uses, and the real controllers do their work.
There is no node in this version: the demo plays one, reports each pod as run (and one as failed, so that
there is a retry to see), and says so. No process of the Job runs.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml
from rich.console import Console

from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.client.http import HttpClient

MANIFEST = Path(__file__).parent / "hello-job.yaml"
JOBS, PODS, NODES = ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "Node")
INDEX = "batch.kubernetes.io/job-completion-index"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
say = Console(highlight=False, soft_wrap=True).print


async def main() -> int:
    say("[bold]$ longshore up --in-memory --port 0[/]")
    async with longshore() as kubeconfig, HttpClient.from_kubeconfig(kubeconfig, manager="demo") as client:
        await client.create(NODES, {"metadata": {"name": "played-by-the-demo"}})
        (manifest,) = yaml.safe_load_all(MANIFEST.read_text())
        say(f"\n[bold]$ kubectl apply --server-side -f {MANIFEST.name}[/]")
        await client.apply(JOBS, manifest, "default", manager="demo")
        say("job.batch/hello serverside-applied\n")
        node = asyncio.create_task(play_node(client))
        outcome = await asyncio.wait_for(follow(client), 60)
        node.cancel()

        say("\n[bold]$ kubectl get jobs[/]")
        await table(client, "/apis/batch/v1/namespaces/default/jobs")
        say("\n[bold]$ kubectl get pods[/]")
        await table(client, "/api/v1/namespaces/default/pods")
        say("\n[bold]$ kubectl delete job hello[/]")
        await client.delete(JOBS, "hello", "default", DeleteOptions(propagation="Background"))
        left = await gone(client)
        say(f'job.batch "hello" deleted; the garbage collector removed its pods, {left} are left')
    say(
        f"\n[green]Result: Job hello is {outcome}.[/]\n"
        "[yellow]This version has no node yet: the demo played it, so no greeting was printed.[/]"
    )
    return 0 if outcome == "Complete" else 1


async def follow(client: Client) -> str:
    """Prints each change of the Job's progress; returns how it ended."""
    shown = ""
    async with client.watch(JOBS, "default", fields="metadata.name=hello", timeout=60) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                continue
            status = event.object.get("status") or {}
            done, wanted = status.get("succeeded", 0), event.object["spec"]["completions"]
            line = f"  [cyan]{'#' * done}{'.' * (wanted - done)}[/] {done}/{wanted} succeeded"
            line += f", {status.get('failed', 0)} failed, {status.get('active', 0)} active"
            if line != shown:
                say(line)
                shown = line
            for condition in status.get("conditions") or ():
                if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
                    return str(condition["type"])
    return "unfinished"


async def play_node(client: Client) -> None:
    """Stands in for the node: every pod it sees is bound, runs a moment, and ends."""
    failed_once = False
    async with client.watch(PODS, "default", labels="job-name=hello") as events:
        async for event in events:
            pod = event.object
            if event.type != "ADDED" or pod["spec"].get("nodeName"):
                continue
            fails = not failed_once and pod["metadata"]["annotations"][INDEX] == "1"
            failed_once = failed_once or fails
            await run(client, pod, 1 if fails else 0)


async def run(client: Client, pod: Obj, exit_code: int) -> None:
    name = pod["metadata"]["name"]
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "played-by-the-demo"}}
    await client.create(PODS, binding, "default", name=name, subresource="binding")
    await asyncio.sleep(0.3)
    moment = "2020-01-01T00:00:00Z"  # long ago, so that the retry need not wait for its back-off
    reason = "Error" if exit_code else "Completed"
    ended = {"exitCode": exit_code, "reason": reason, "startedAt": moment, "finishedAt": moment}
    container = {"name": "hello", "image": "busybox:1.36", "imageID": "", "state": {"terminated": ended}}
    status = {
        "phase": "Failed" if exit_code else "Succeeded",
        "containerStatuses": [{**container, "ready": False, "restartCount": 0}],
    }
    await client.patch(PODS, name, {"status": status}, "default", subresource="status")


async def gone(client: Client) -> int:
    """Waits until the Job's pods are gone, and returns how many are not after ten seconds."""
    for _ in range(100):
        left = (await client.list(PODS, "default", labels="job-name=hello")).items
        if not left:
            return 0
        await asyncio.sleep(0.1)
    return len(left)


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


async def table(client: Client, path: str) -> None:
    """Prints a list as kubectl would: the server decides the columns."""
    answer = json.loads((await client.request("GET", path, headers=TABLE)).body)
    shown = [i for i, column in enumerate(answer["columnDefinitions"]) if column["priority"] == 0]
    rows = [[answer["columnDefinitions"][i]["name"].upper() for i in shown]]
    rows += [[str(row["cells"][i]) for i in shown] for row in answer["rows"]]
    widths = [max(len(row[i]) for row in rows) + 3 for i in range(len(shown))]
    for row in rows:
        say("".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
