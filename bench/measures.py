"""The measurements behind bench/table.py. Each runs in a process of its own and returns its figures by name.

Beside longshore's figures stand those of the peer or limit in the same run, where there is one.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import goload
import growth
import jobs
import run
import start
import volcano
import writes
import yaml
from processes import HERE

import api
from longshore.api.types import Obj, copy_of
from longshore.store import Key, Store

Figures = dict[str, float]
Measure = Callable[[bool], Awaitable[Figures]]


async def processes(quick: bool) -> Figures:
    """Many times /bin/true as one Indexed Job, by xargs and by GNU parallel."""
    count = 50 if quick else 5000
    command = ["-n", "1", "/bin/true"]
    async with run.longshore() as running:
        before = running.cpu_seconds()
        took = await run.run_to_end(running.client, "many", count)
        ours, keepers = (1e3 * (b - a) / count for a, b in zip(before, running.cpu_seconds(), strict=True))
    xargs = await run.by_tool(["xargs", "-P", str(run.AT_ONCE), *command], count)
    found = {"longshore_ms": ours, "keeper_ms": keepers, "rate": count / took, "xargs": count / xargs}
    found["against_xargs"] = xargs / took
    if shutil.which("parallel"):
        parallel = await run.by_tool(["parallel", "-j", str(run.AT_ONCE), "/bin/true"], count)
        found |= {"parallel": count / parallel, "against_parallel": parallel / took}
    return found


async def written(quick: bool) -> Figures:
    """Writes and events for a pod of one Indexed Job."""
    async with writes.following() as (client, seen):
        counts = await writes.counted(client, seen, 1, 20 if quick else 1000)
    return {"writes": counts.writes, "events": counts.events}


async def job_rates(quick: bool) -> Figures:
    """One-pod Jobs a second, in process and over HTTP, and bare writes by the same clients."""
    count = 50 if quick else 2000
    async with jobs.embedded() as client:
        bare = await jobs.bare_writes(client, 5 * count)
        here = await jobs.run_jobs(client, "one", count, 1)
    async with jobs.over_http() as (lanes, client):
        bare_http = await jobs.bare_writes(lanes, 5 * count)
        over = await jobs.run_jobs(client, "one", count, 1, lanes)
    return {
        "in_process": here.each_second,
        "in_process_bare": bare,
        "http": over.each_second,
        "http_bare": bare_http,
    }


async def go_client(quick: bool) -> Figures:
    """The server's CPU time under a Go client's load, and for a TLS handshake with its certificate."""
    count, pods = ("30", "50") if quick else ("1000", "2000")
    one = ["--jobs", count]
    many = ["--jobs", "1", "--parallelism", "500", "--completions", pods, "--indexed"]
    with _up("--no-node", "--no-scheduler") as (pid, directory):
        found = {
            "job_protobuf": _goload(pid, directory, *one)["server_cpu_ms_per_job"],
            "job_json": _goload(pid, directory, "--json", "--workers", "8", *one)["server_cpu_ms_per_job"],
            "pod_protobuf": _goload(pid, directory, *many)["server_cpu_ms_per_pod"],
            "pod_json": _goload(pid, directory, "--json", *many)["server_cpu_ms_per_pod"],
        }
        found |= await _handshake(pid, directory, 20 if quick else 400)
    return found


def _goload(pid: int, directory: Path, *words: str) -> dict[str, float]:
    command = [sys.executable, str(HERE / "goload.py"), "--kubeconfig", str(directory / "kubeconfig")]
    told = subprocess.run([*command, "--pid", str(pid), *words], stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(told.stdout)
    return found


async def _handshake(pid: int, directory: Path, times: int) -> Figures:
    """Milliseconds for a new connection with one request, less those for a request on an open one. A client
    that keeps its session, as Go's does, has its handshakes resumed.
    """
    config = yaml.safe_load((directory / "kubeconfig").read_text())
    host, port, tls, head = goload.access(config)
    request = f"GET /version HTTP/1.1\r\n{head}\r\n".encode()

    def spent(connections: int, resume: bool) -> float:
        """Milliseconds for each request, on so many connections in all."""
        before, session, secured = goload.cpu(pid), None, None
        for number in range(times):
            if secured is None or number % (times // connections) == 0:
                raw = socket.create_connection((host, port))
                secured = tls.wrap_socket(raw, session=session if resume else None)
            secured.sendall(request)
            assert secured.recv(1 << 16).startswith(b"HTTP/1.1 200")
            session = secured.session
        return (goload.cpu(pid) - before) / times

    open_one = await asyncio.to_thread(spent, 1, False)
    return {
        "full_handshake": await asyncio.to_thread(spent, times, False) - open_one,
        "resumed_handshake": await asyncio.to_thread(spent, times, True) - open_one,
    }


async def volcano_jobs(quick: bool) -> Figures:
    """One-pod Volcano Jobs a second, and bare writes by the same client."""
    count = 20 if quick else 1500
    async with volcano.control_plane(nodes=10) as client:
        bare = await volcano.bare_writes(client, 5 * count)
        rate = await volcano.run_jobs(client, "one", count, 1)
    return {"rate": rate.each_second, "bare": bare, "cpu_ms": rate.cpu}


async def creates(quick: bool) -> Figures:
    """Durable creates of ConfigMaps a second over TLS with 32 connections, beside bare server."""
    return await asyncio.to_thread(api.create_rates, "configmaps", _sizes(quick))


async def watchers(quick: bool) -> Figures:
    """Events a second that the slowest of 100 watchers sees while more are written than the budget asks."""
    return await asyncio.to_thread(api.watch_rates, _sizes(quick))


def _sizes(quick: bool) -> api.Sizes:
    return api.QUICK if quick else api.Sizes(1, 1, 2.0, 0, 100, 2500, (), 0)


async def starts(quick: bool) -> Figures:
    """A start of the whole of longshore with a warm file cache, and a bare `python -c pass` beside it."""
    with tempfile.TemporaryDirectory() as folder:
        found = [start.start(start.HERE, Path(folder), []) for _ in range(2 if quick else 6)][1:]
    return {
        "ready": statistics.median(one.ready for one in found),
        "cpu": statistics.median(one.cpu for one in found),
        "memory": statistics.median(one.memory for one in found),
        "python": await _command(sys.executable, "-c", "pass"),
    }


async def get_pods(quick: bool) -> Figures:
    """`longshore get pods` with 50 pods, whole command, and kubectl's beside it."""
    with _up("--controllers", "none", "--no-node", "--no-scheduler") as (_, directory):
        where = ["--kubeconfig", str(directory / "kubeconfig")]
        client = run.HttpClient.from_kubeconfig(directory / "kubeconfig")
        async with client:
            for number in range(50):
                pod = {"metadata": {"name": f"pod-{number}"}, "spec": jobs.POD}
                await client.create(run.PODS, pod, "default")
        found = {"longshore": await _command(sys.executable, "-m", "longshore", "get", "pods", *where)}
        kubectl = shutil.which("kubectl") or shutil.which("kubectl", path=HERE.parent / ".tools")
        if kubectl:
            found["kubectl"] = await _command(kubectl, "get", "pods", *where)
    return found


async def _command(*words: str) -> float:
    """Milliseconds of the best of five runs of a command."""
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        command = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.DEVNULL)
        assert await command.wait() == 0, words
        spent.append(1e3 * (time.perf_counter() - began))
    return min(spent)


async def ends(quick: bool) -> Figures:
    """One pod's end with few and with many active pods of its Job."""
    points = await growth.active_pods([10, 100] if quick else [50, 5000], 4 if quick else 40)
    return {"few": points[0][1], "many": points[1][1], "ratio": points[1][1] / points[0][1]}


async def finished(quick: bool) -> Figures:
    """A one-pod Job in stores with ever more finished Jobs, each with its pod."""
    costs: Figures = {}
    sizes = [10, 50, 100] if quick else [100, 10_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        async with growth.kept(directory) as client:
            await client.create(("v1", "Namespace"), {"metadata": {"name": jobs.NAMESPACE}})
            await jobs.run_jobs(client, "first", 1, 1)
        there = 1
        for name, size in zip(("few", "more", "many"), sizes, strict=True):
            await _copies(directory, there, size)
            there = size
            async with growth.kept(directory) as client:
                await jobs.run_jobs(client, f"warm-{size}", 5 if quick else 200, 1)
                spent = [
                    (await jobs.run_jobs(client, f"at-{size}-{turn}", 5 if quick else 300, 1)).cpu
                    for turn in range(3)
                ]
            costs[name] = 1e3 * statistics.median(spent)
    return {**costs, "ratio_more": costs["more"] / costs["few"], "ratio_many": costs["many"] / costs["few"]}


async def _copies(directory: Path, first: int, last: int) -> None:
    """Puts copies of the first finished Job and its pod into the store, as many as it lacks."""
    store = Store.open(directory)
    namespace = jobs.NAMESPACE
    job = store.get(Key("batch/jobs", namespace, "first-0"))
    pod = next(entry for entry in store.list("pods", namespace).entries if "first-0" in entry.key.name)
    assert job is not None
    for number in range(first, last):
        one, uid = copy_of(job.obj), f"00000000-0000-4000-8000-{number:012}"
        one["metadata"] |= {"name": f"copy-{number}", "uid": uid}
        one["metadata"].pop("labels", None)
        store.stage(Key("batch/jobs", namespace, f"copy-{number}"), _told(one, number))
        its: Obj = copy_of(pod.obj)
        its["metadata"] |= {"name": f"copy-{number}-pod", "uid": f"00000000-0000-4000-9000-{number:012}"}
        its["metadata"]["ownerReferences"][0] |= {"name": f"copy-{number}", "uid": uid}
        staged = store.stage(Key("pods", namespace, f"copy-{number}-pod"), _told(its, number))
        if number % 250 == 0:
            await staged.done()
    await store.drained()
    await store.close()


def _told(obj: Obj, number: int) -> Obj:
    """With the labels that tell a Job's pods apart."""
    uid = f"00000000-0000-4000-8000-{number:012}"
    mine = {"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid}
    names = {"batch.kubernetes.io/job-name": f"copy-{number}", "job-name": f"copy-{number}"}
    if "template" in obj.get("spec", {}):
        obj["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        obj["spec"]["template"].setdefault("metadata", {})["labels"] = {**mine, **names}
    else:
        obj["metadata"]["labels"] = {**mine, **names}
    return obj


async def large(quick: bool) -> Figures:
    """100,000 finished pods of one Indexed Job: pages of 500, memory, and three restarts."""
    few, many = (1100, 1200) if quick else (2500, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        async with growth.kept(directory) as client:
            await client.create(("v1", "Namespace"), {"metadata": {"name": jobs.NAMESPACE}})
            await jobs.run_jobs(client, "few", 1, few)
            page, before = await growth.page(client), jobs.memory()
            await jobs.run_jobs(client, "many", 1, many - few)
            last, held = await growth.page(client), jobs.memory()
        restarts = [await asyncio.to_thread(_restart, folder) for _ in range(1 if quick else 3)]
    return {
        "page_few": page,
        "page_many": last,
        "page_ratio": last / page,
        "pod_kb": 1e3 * (held - before) / (many - few),
        "memory": held,
        "restart": statistics.median(restarts),
    }


def _restart(folder: str) -> float:
    """Seconds of CPU time for a restart there, in a process that has held nothing before."""
    return float(subprocess.check_output([sys.executable, str(HERE / "growth.py"), "--restart", folder]))


@contextmanager
def _up(*words: str) -> Iterator[tuple[int, Path]]:
    """A `longshore up` with these options: its process and its data directory."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "longshore", "up", "--port", "0", "--data-dir", directory, *words]
        up = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert up.stdout is not None
            if "ready" not in up.stdout.readline():
                raise SystemExit("longshore did not start")
            yield up.pid, Path(directory)
        finally:
            up.terminate()
            up.wait()


MEASURES: dict[str, Measure] = {
    "processes": processes,
    "written": written,
    "jobs": job_rates,
    "goload": go_client,
    "volcano": volcano_jobs,
    "creates": creates,
    "watchers": watchers,
    "starts": starts,
    "get": get_pods,
    "ends": ends,
    "finished": finished,
    "large": large,
}
