"""A load generator that behaves as a program on Go's Kubernetes client does: `python bench/goload.py`.

It creates Jobs, plays the kubelet (patches each new pod's status to Succeeded) and waits until every Job is
Complete. Like Go's client it speaks protobuf (or JSON), watches Jobs and pods of its namespace, uses HTTP/1.1
with as many connections as there are requests at a time, and keeps at most 25 idle ones: the rest are closed,
so a burst costs TLS handshakes. Prints one line of JSON; with --pid also the server's CPU milliseconds for a
Job and for a pod, which say more than rates where other work shares the machine.

    python bench/goload.py --kubeconfig FILE --jobs 1000 --workers 32 --pid PID
    python bench/goload.py --kubeconfig FILE --jobs 1 --parallelism 500 --completions 2000 --indexed
    python bench/goload.py --kubeconfig FILE --json --workers 8

Only this machine's addresses are ever contacted.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import ssl
import struct
import tempfile
import time
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import uvloop
import yaml

MAGIC = b"k8s\x00"
IDLE_CONNECTIONS = 25
PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON = "application/json"
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


# Protobuf by hand: only what a Job's creation and a watch need.


def varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field: int, n: int) -> bytes:
    return varint(field << 3) + varint(n)


def text(field: int, value: str | bytes) -> bytes:
    data = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def fields(buf: bytes) -> Iterator[tuple[int, Any]]:
    """Field number and value of each field; length-delimited ones as bytes, varints as int."""
    i, end = 0, len(buf)
    while i < end:
        key = shift = 0
        while True:
            b = buf[i]
            i += 1
            key |= (b & 127) << shift
            shift += 7
            if b < 128:
                break
        kind = key & 7
        n = shift = 0
        if kind in (0, 2):
            while True:
                b = buf[i]
                i += 1
                n |= (b & 127) << shift
                shift += 7
                if b < 128:
                    break
        if kind == 0:
            yield key >> 3, n
        elif kind == 2:
            yield key >> 3, buf[i : i + n]
            i += n
        else:
            i += {1: 8, 5: 4}[kind]


def first(buf: bytes, field: int, default: bytes = b"") -> Any:
    for number_, value in fields(buf):
        if number_ == field:
            return value
    return default


def raw_of(document: bytes) -> Any:
    """The message inside an envelope."""
    assert document[:4] == MAGIC, document[:40]
    return first(document[4:], 2)


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return (
        MAGIC + text(1, text(1, api_version) + text(2, kind)) + text(2, message) + text(3, "") + text(4, "")
    )


def job_message(name: str, parallelism: int, completions: int, indexed: bool) -> bytes:
    pod = text(2, text(1, "c") + text(2, "i")) + text(3, "Never")
    spec = number(1, parallelism) + number(2, completions) + text(6, text(1, b"") + text(2, pod))
    if indexed:
        spec += text(9, "Indexed")
    return text(1, text(1, name)) + text(2, spec) + text(3, b"")


def job_object(name: str, parallelism: int, completions: int, indexed: bool) -> dict[str, Any]:
    spec = {
        "parallelism": parallelism,
        "completions": completions,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}},
    }
    if indexed:
        spec["completionMode"] = "Indexed"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


# HTTP/1.1 over TLS, as much as is needed.


class Connections:
    """A pool as net/http's: any number at a time, at most 25 kept idle."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext, head: str) -> None:
        self.host, self.port, self.tls, self.head = host, port, tls, head
        self.idle: list[Pair] = []
        self.handshakes = 0

    async def open(self) -> Pair:
        self.handshakes += 1
        return await asyncio.open_connection(self.host, self.port, ssl=self.tls, limit=1 << 22)

    async def ask(
        self, method: str, path: str, body: bytes = b"", content_type: str = "", accept: str = JSON
    ) -> bytes:
        reader, writer = self.idle.pop() if self.idle else await self.open()
        extra = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(
            f"{method} {path} HTTP/1.1\r\n{self.head}Accept: {accept}\r\n{extra}\r\n".encode() + body
        )
        code, data = await answer(reader)
        if len(self.idle) < IDLE_CONNECTIONS:
            self.idle.append((reader, writer))
        else:
            writer.close()
        if code >= 400:
            raise SystemExit(f"{method} {path}: {code} {data[:300]!r}")
        return data


async def head_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    return int(head[0].split()[1]), {
        k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:])
    }


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    code, headers = await head_of(reader)
    if headers.get("transfer-encoding") == "chunked":
        return code, b"".join([chunk async for chunk in chunks(reader)])
    return code, await reader.readexactly(int(headers.get("content-length", 0)))


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        data = await reader.readexactly(size + 2)
        yield data[:-2]
    await reader.readexactly(2)


async def watch(pool: Connections, path: str, proto: bool, told: Callable[[str, Any], None]) -> None:
    """Calls `told(type, object)` for each change; the object is a message's bytes, or decoded JSON."""
    reader, writer = await pool.open()
    query = "watch=1&allowWatchBookmarks=true&timeoutSeconds=600"
    accept = f"{PROTOBUF};stream=watch" if proto else "application/json"
    writer.write(f"GET {path}?{query} HTTP/1.1\r\n{pool.head}Accept: {accept}\r\n\r\n".encode())
    code, _ = await head_of(reader)
    assert code == 200, code
    rest = b""
    async for chunk in chunks(reader):
        rest += chunk
        if not proto:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                event = json.loads(line)
                told(event["type"], event["object"])
            continue
        while len(rest) >= 4 and len(rest) >= 4 + (size := struct.unpack(">I", rest[:4])[0]):
            frame, rest = rest[4 : 4 + size], rest[4 + size :]
            event = raw_of(frame) if frame[:4] == MAGIC else frame
            told(first(event, 1).decode(), raw_of(first(first(event, 2), 1)))


def access(config: Any) -> tuple[str, int, ssl.SSLContext, str]:
    """Host, port, TLS settings and header lines for the first cluster of a kubeconfig."""
    server = urllib.parse.urlsplit(config["clusters"][0]["cluster"]["server"])
    assert server.hostname in ("127.0.0.1", "localhost", "::1"), "only this machine"
    assert server.port is not None
    user, tls = config["users"][0]["user"], ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    head = f"Host: {server.hostname}:{server.port}\r\nUser-Agent: goload/1\r\n"
    if "token" in user:
        head += f"Authorization: Bearer {user['token']}\r\n"
    else:
        for name in ("client-certificate-data", "client-key-data"):
            with tempfile.NamedTemporaryFile(delete=False) as f:
                f.write(base64.b64decode(user[name]))
            user[name] = f.name
        tls.load_cert_chain(user["client-certificate-data"], user["client-key-data"])
    return server.hostname, server.port, tls, head


async def main(args: argparse.Namespace, config: Any) -> None:
    pool, proto = Connections(*access(config)), not args.json
    ns = f"load-{time.time_ns()}"
    await pool.ask(
        "POST",
        "/api/v1/namespaces",
        json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}}).encode(),
        "application/json",
    )
    pods: asyncio.Queue[str] = asyncio.Queue()
    done: set[Any] = set()
    ended, finished = 0, asyncio.Event()

    def pod(kind: str, obj: Any) -> None:
        if kind == "ADDED":
            if proto:
                if first(first(obj, 3), 1) == b"Pending":
                    pods.put_nowait(first(first(obj, 1), 1).decode())
            elif obj["status"].get("phase") == "Pending":
                pods.put_nowait(obj["metadata"]["name"])

    def job(kind: str, obj: Any) -> None:
        if kind != "MODIFIED":
            return
        if proto:
            over = any(
                f == 1 and first(c, 1) == b"Complete" and first(c, 2) == b"True"
                for f, c in fields(first(obj, 3))
            )
            name = first(first(obj, 1), 1)
        else:
            over = any(
                c["type"] == "Complete" and c["status"] == "True"
                for c in obj.get("status", {}).get("conditions", ())
            )
            name = obj["metadata"]["name"]
        if over:
            done.add(name)
            if len(done) == args.jobs:
                finished.set()

    tasks = [
        asyncio.ensure_future(watch(pool, f"/api/v1/namespaces/{ns}/pods", proto, pod)),
        asyncio.ensure_future(watch(pool, f"/apis/batch/v1/namespaces/{ns}/jobs", proto, job)),
    ]
    accept = f"{PROTOBUF},application/json" if proto else "application/json"

    async def kubelet() -> None:
        nonlocal ended
        while True:
            name = await pods.get()
            await pool.ask(
                "PATCH",
                f"/api/v1/namespaces/{ns}/pods/{name}/status",
                b'{"status":{"phase":"Succeeded"}}',
                "application/merge-patch+json",
                accept,
            )
            ended += 1

    numbers = iter(range(args.jobs))

    async def creator() -> None:
        for n in numbers:
            how = (f"j{n}", args.parallelism, args.completions, args.indexed)
            body = (
                envelope("batch/v1", "Job", job_message(*how))
                if proto
                else json.dumps(job_object(*how)).encode()
            )
            await pool.ask(
                "POST",
                f"/apis/batch/v1/namespaces/{ns}/jobs",
                body,
                PROTOBUF if proto else "application/json",
                accept,
            )

    await asyncio.sleep(0.2)
    before, begun = cpu(args.pid), time.perf_counter()
    tasks += [asyncio.ensure_future(kubelet()) for _ in range(args.workers)]
    creators = [asyncio.ensure_future(creator()) for _ in range(args.workers)]
    over = asyncio.ensure_future(finished.wait())
    await asyncio.wait([over, *tasks], timeout=args.timeout, return_when=asyncio.FIRST_COMPLETED)
    for task in [*tasks, *creators]:
        if task.done():
            task.result()
    seconds = time.perf_counter() - begun
    result = {
        "content": "protobuf" if proto else "json",
        "jobs": len(done),
        "seconds": round(seconds, 2),
        "jobs_per_s": round(len(done) / seconds, 1),
        "pods_per_s": round(ended / seconds, 1),
        "handshakes": pool.handshakes,
    }
    if args.pid:
        used = cpu(args.pid) - before
        result |= {
            "server_cpu_ms_per_job": round(used / max(len(done), 1), 2),
            "server_cpu_ms_per_pod": round(used / max(ended, 1), 2),
        }
    print(json.dumps(result))
    for task in [*tasks, *creators]:
        task.cancel()
    if not over.done():
        raise SystemExit("timed out")


def cpu(pid: int | None) -> float:
    """Milliseconds of CPU the process has used."""
    if not pid:
        return 0
    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) * 1000 / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--parallelism", type=int, default=1)
    parser.add_argument("--completions", type=int, default=1)
    parser.add_argument("--indexed", action="store_true")
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--json", action="store_true", help="JSON instead of protobuf")
    parser.add_argument("--pid", type=int, help="the server's process, for its CPU time")
    parser.add_argument("--timeout", type=float, default=300)
    options = parser.parse_args()
    uvloop.run(main(options, yaml.safe_load(Path(options.kubeconfig).read_text())))
