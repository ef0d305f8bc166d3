"""Pods as processes of this machine, beside xargs and GNU parallel: `python bench/run.py`.

Four figures of a whole `longshore up` on a fresh data directory, reached over TLS:

- many times /bin/true as one Indexed Job, from the request that creates it to its completion, and the same
  commands by `xargs -P8` and `parallel -j8` in turns with it. Told are the best rounds and their ratios, and
  the CPU time for one pod in longshore and in the keeper, which says more on a machine with other work;
- from the request that `kubectl apply` makes to the process's first instruction: it writes its clock at once.
  What kubectl itself does before that request is not ours to hurry;
- the cost of each level of isolation: the CPU time for one pod at `none`, `process` and `full`, in turns, and
  the ratio to `none`. The keeper's is counted with its fork server's, which makes the walls;
- what longshore and the keeper hold in memory for each of many pods that sleep at the same time.

`--quick` is a smoke test with small numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.client.http import HttpClient

JOBS, PODS = ("batch/v1", "Job"), ("v1", "Pod")
NAMESPACE = "default"
AT_ONCE = 8
LEVELS = ("none", "process", "full")
LIMIT = 600.0
"""Seconds after which a figure is given up."""


@dataclass(frozen=True, slots=True)
class Running:
    """A longshore, its client and its processes."""

    client: Client
    pid: int
    keeper: int
    directory: Path

    def cpu_seconds(self) -> tuple[float, float]:
        """Of longshore, and of its keeper with the fork server."""
        keepers = [self.keeper, *_fork_servers(self.keeper)]
        return _cpu_seconds(self.pid), sum(map(_cpu_seconds, keepers))

    def memory(self) -> float:
        """Megabytes of both processes; pages shared with others count in part."""
        return sum(self.memories())

    def memories(self) -> tuple[float, float]:
        return _pss(self.pid), _pss(self.keeper)


@asynccontextmanager
async def longshore(*options: str) -> AsyncIterator[Running]:
    with tempfile.TemporaryDirectory() as directory:
        words = ("-m", "longshore", "up", "--port", "0", "--data-dir", directory, "--on-stop", "kill")
        up = await asyncio.create_subprocess_exec(
            sys.executable, *words, *options, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert up.stdout is not None
            ready = re.search(r"KUBECONFIG=(\S+)", (await up.stdout.readline()).decode())
            assert ready is not None, "longshore did not start"
            async with HttpClient.from_kubeconfig(Path(ready[1])) as client:
                await run_to_end(client, "warm", AT_ONCE)
                await gone(client, "warm")
                yield Running(client, up.pid, _keeper_of(directory), Path(directory))
        finally:
            up.terminate()
            await up.wait()


def a_job(name: str, completions: int, parallelism: int, *command: str) -> Obj:
    containers = [{"name": "main", "image": "none", "command": [*command]}]
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": containers}
    counts = {"completionMode": "Indexed", "completions": completions, "parallelism": parallelism}
    return {"metadata": {"name": name}, "spec": {**counts, "template": {"spec": spec}}}


async def run_to_end(client: Client, name: str, completions: int) -> float:
    """Seconds from the request that creates the Job to its completion."""
    async with client.watch(JOBS, NAMESPACE, initial_events=True) as events:
        async for event in events:
            if event.type == "BOOKMARK":
                break
        began = time.perf_counter()
        await client.create(JOBS, a_job(name, completions, AT_ONCE, "/bin/true"), NAMESPACE)
        async for event in events:
            if "completionTime" in (event.object.get("status") or ()):
                break
        return time.perf_counter() - began


async def gone(client: Client, name: str) -> None:
    """Deletes a Job, and returns when its pods are gone too."""
    await client.delete(JOBS, name, NAMESPACE, DeleteOptions(propagation="Background"))
    while (await client.list(PODS, NAMESPACE)).items:  # noqa: ASYNC110 - the server is not asked often
        await asyncio.sleep(0.2)


async def by_tool(command: list[str], lines: int) -> float:
    """Seconds a tool takes to run /bin/true once for each line."""
    began = time.perf_counter()
    tool = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
    await tool.communicate("".join(f"{n}\n" for n in range(lines)).encode())
    assert tool.returncode == 0, f"{command[0]} failed"
    return time.perf_counter() - began


async def many(count: int, rounds: int) -> None:
    # parallel appends the line to the command as xargs does; /bin/true does not mind.
    tools = {"xargs": ["xargs", "-P", str(AT_ONCE), "-n", "1", "/bin/true"]}
    if shutil.which("parallel"):
        tools["parallel"] = ["parallel", "-j", str(AT_ONCE), "/bin/true"]
    best = dict.fromkeys(("longshore", *tools), 0.0)
    costs = []
    async with longshore() as running:
        for number in range(rounds):
            before = running.cpu_seconds()
            took = await run_to_end(running.client, f"many-{number}", count)
            after = running.cpu_seconds()
            await gone(running.client, f"many-{number}")
            best["longshore"] = max(best["longshore"], count / took)
            costs.append([1e6 * (b - a) / count for a, b in zip(before, after, strict=True)])
            for tool, command in tools.items():
                best[tool] = max(best[tool], count / await by_tool(command, count))
    ours, keepers = min(costs)
    line(f"{count:,} x /bin/true, one Indexed Job", f"{best['longshore']:,.0f}/s")
    line("  CPU time for a pod: longshore, keeper", f"{ours:,.0f} us, {keepers:,.0f} us", "ours <= 1,400 us")
    for tool, goal in (("xargs", ">= 0.7"), ("parallel", ">= 3")):
        if tool in best:
            line(f"  {' '.join(tools[tool])}", f"{best[tool]:,.0f}/s")
            line(f"  longshore against {tool}", f"{best['longshore'] / best[tool]:.2f}", goal)
        else:
            line(f"  longshore against {tool}", f"no {tool} on this machine", goal)


async def levels(count: int, rounds: int) -> None:
    """The cheapest round of each level counts: other work of the machine only adds."""
    costs: dict[str, list[tuple[float, float]]] = {level: [] for level in LEVELS}
    async with AsyncExitStack() as stack:
        running = {
            level: await stack.enter_async_context(longshore("--isolation", level)) for level in LEVELS
        }
        for number in range(rounds):
            for level, one in running.items():
                before = one.cpu_seconds()
                await run_to_end(one.client, f"level-{number}", count)
                after = one.cpu_seconds()
                await gone(one.client, f"level-{number}")
                ours, keepers = (1e6 * (b - a) / count for a, b in zip(before, after, strict=True))
                costs[level].append((ours, keepers))
    base = min(map(sum, costs["none"]))
    for level, found in costs.items():
        best = min(found, key=sum)
        figures = f"{best[0]:,.0f} us, {best[1]:,.0f} us"
        line(f"isolation {level}: longshore, keeper, ratio", figures, f"x {sum(best) / base:.2f}")


async def first_instruction(times: int) -> None:
    seconds = []
    async with longshore() as running:
        for number in range(times):
            name = f"first-{number}"
            job = a_job(name, 1, 1, "/bin/date", "+%s%N")
            began = time.time()
            await running.client.create(JOBS, job, NAMESPACE)
            seconds.append(await _clock_in_log(running.client, name) - began)
            await running.client.delete(JOBS, name, NAMESPACE, DeleteOptions(propagation="Background"))
            await asyncio.sleep(0.05)  # the next one meets an idle longshore
    seconds.sort()
    for share, goal in ((0.5, "<= 15 ms"), (0.99, "<= 60 ms")):
        at = seconds[min(int(share * times), times - 1)]
        line(f"apply to first instruction, p{share * 100:.0f} of {times}", f"{1000 * at:.1f} ms", goal)


async def _clock_in_log(client: Client, job: str) -> float:
    """What the only pod of a Job wrote, as soon as it is there."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        await asyncio.sleep(0.05)
        for pod in (await client.list(PODS, NAMESPACE, labels=f"job-name={job}")).items:
            if (pod.get("status") or {}).get("phase") == "Succeeded":
                name = pod["metadata"]["name"]
                log = await client.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/log")
                return int(log.body) / 1e9
    raise SystemExit(f"the pod of {job} did not end")


async def memory(pods: int) -> None:
    async with longshore() as running:
        before = running.memory()
        await running.client.create(JOBS, a_job("asleep", pods, pods, "/bin/sleep", "1000"), NAMESPACE)
        until = time.monotonic() + LIMIT
        while (await running.client.get(JOBS, "asleep", NAMESPACE)).get("status", {}).get("ready") != pods:
            assert time.monotonic() < until, "not all pods began"
            await asyncio.sleep(0.2)
        each = (running.memory() - before) / pods
        line(f"memory for each of {pods} sleeping pods", f"{1000 * each:,.0f} kB")
        await gone(running.client, "asleep")


def line(what: str, figure: str, goal: str = "") -> None:
    print(f"{what:<48}{figure:>26}  {goal}".rstrip(), flush=True)


def _keeper_of(directory: str) -> int:
    """The process that is parent of the containers."""
    wanted = f"longshore.node.keeper\0{directory}/".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "cmdline").read_bytes():
                    return int(entry.name)
            except OSError:
                continue  # it has just ended
    raise SystemExit("no keeper runs")


def _fork_servers(keeper: int) -> list[int]:
    children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    return [int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text() == "longshore-fork\n"]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pss(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


async def main(quick: bool) -> None:
    await many(*((50, 1) if quick else (5000, 3)))
    await levels(*((50, 1) if quick else (2000, 3)))
    await first_instruction(5 if quick else 100)
    await memory(10 if quick else 200)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small numbers: does it run at all?")
    uvloop.run(main(parser.parse_args().quick))
