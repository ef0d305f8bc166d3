"""The cost of longshore's HTTP client beside others: `python bench/http_client.py`.

GETs of a 2 kB answer over TLS from the bare server, one after the other, each client in a process of its own:
CPU microseconds for a request (best of five), CPU milliseconds until the first answer (imports are most of
it), and memory after it. aiohttp is measured if it is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from processes import bare

COUNT, TURNS = 1000, 5
TARGET = "/api/v1/pods"


def ours(url: str, ca: str) -> None:
    """As controllers outside and `run`."""
    from longshore.client.config.connection import Connection
    from longshore.client.http.transport import Transport
    from longshore.client.protocol import Request

    connection = Connection(url, ca=Path(ca).read_bytes())

    async def main() -> None:
        transport = Transport(connection, agent="bench")
        request = Request("GET", TARGET, headers={"Accept": "application/json"})
        await measure(lambda: transport.send(request, seconds=60))
        await transport.close()

    run(main)


def aiohttp(url: str, ca: str) -> None:
    import aiohttp  # only in development environments, where other packages need it

    async def main() -> None:
        context = ssl.create_default_context(cafile=ca)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:

            async def get() -> None:
                async with session.get(url + TARGET, headers={"Accept": "application/json"}) as answer:
                    await answer.read()

            await measure(get)

    run(main)


def blocking(url: str, ca: str) -> None:
    """As commands."""
    from longshore.cli.server.requests import Server
    from longshore.client.config.connection import Connection

    server = Server(Connection(url, ca=Path(ca).read_bytes()))
    measure_blocking(lambda: server.request("GET", TARGET))


def http_client(url: str, ca: str) -> None:
    import http.client

    context = ssl.create_default_context(cafile=ca)
    connection = http.client.HTTPSConnection(url.removeprefix("https://"), context=context)

    def get() -> None:
        connection.request("GET", TARGET, headers={"Accept": "application/json"})
        connection.getresponse().read()

    measure_blocking(get)


def run(main: Callable[[], Awaitable[None]]) -> None:
    import uvloop

    uvloop.run(main())  # type: ignore[arg-type] # a coroutine


async def measure(get: Callable[[], Awaitable[object]]) -> None:
    await get()
    first = time.process_time()
    say(first, [await one_turn(get) for _ in range(TURNS)])


async def one_turn(get: Callable[[], Awaitable[object]]) -> float:
    began = time.process_time()
    for _ in range(COUNT):
        await get()
    return time.process_time() - began


def measure_blocking(get: Callable[[], object]) -> None:
    get()
    first, turns = time.process_time(), []
    for _ in range(TURNS):
        began = time.process_time()
        for _ in range(COUNT):
            get()
        turns.append(time.process_time() - began)
    say(first, turns)


def say(first: float, turns: list[float]) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    figures = {
        "CPU us for a request": round(min(turns) / COUNT * 1e6, 1),
        "CPU ms until the first answer": round(first * 1000),
        "MB": round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1),
    }
    print(json.dumps(figures), flush=True)


CLIENTS = {"ours": ours, "aiohttp": aiohttp, "blocking": blocking, "http.client": http_client}


def main() -> None:
    from longshore.up import own_certificates

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = own_certificates.ensure(folder / "pki", datetime.now(UTC))
        (folder / "answer").write_bytes(b'{"metadata":{},"x":"%b"}' % (b"y" * 2000))
        with bare(made.server, made.ca_cert, folder / "answer") as server:
            for client in CLIENTS:
                if client == "aiohttp" and importlib.util.find_spec("aiohttp") is None:
                    continue
                words = [client, f"https://127.0.0.1:{server.port}", str(server.ca)]
                done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True)
                print(f"{client:12}", done.stdout.strip() or done.stderr)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        CLIENTS[sys.argv[1]](*sys.argv[2:])
    else:
        main()
