"""Actions of hooks and probes: run a command, request a page, open a connection, sleep. Each has a result."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias
from urllib.parse import quote

import msgspec

from longshore.api.types import Obj
from longshore.machinery.time.clock import Clock
from longshore.node.runtime import Key, Runtime

_MAX_OUTPUT_BYTES: Final = 10 * 1024
"""Bytes of a command's output, or of a page, that are kept."""


class HookResult(msgspec.Struct, frozen=True):
    ok: bool
    message: str = ""


class Target(msgspec.Struct, frozen=True):
    """A container as hooks and probes reach it."""

    runtime: Runtime
    key: Key
    spec: Obj
    ip: str
    clock: Clock


Handle: TypeAlias = Callable[[Obj, Target], Awaitable[HookResult]]
"""Carries out a handler; `run` does it on this machine."""


async def run(handler: Obj, target: Target) -> HookResult:
    """Carries out an exec, httpGet, tcpSocket, grpc or sleep handler. The caller limits its time."""
    if "exec" in handler:
        return await _exec(tuple(handler["exec"].get("command") or ()), target)
    if "httpGet" in handler:
        return await _http(handler["httpGet"], target)
    if "tcpSocket" in handler:
        return await _tcp(handler["tcpSocket"], target)
    if "grpc" in handler:
        from longshore.node.probes import grpc

        return await grpc.check(handler["grpc"], target.ip)
    if "sleep" in handler:
        await target.clock.sleep(handler["sleep"].get("seconds") or 0)
        return HookResult(True)
    return HookResult(False, "missing probe handler")


async def _exec(command: tuple[str, ...], target: Target) -> HookResult:
    try:
        session = await target.runtime.exec(target.key, command, stdin=False, tty=False)
    except Exception as err:  # whatever the runtime says, the command did not run
        return HookResult(False, f"failed to exec in container: {err}")
    said = b""
    try:
        async for _, data in session.output():
            if len(said) < _MAX_OUTPUT_BYTES:
                said += data
        code = await session.wait()
    finally:
        await session.close()
    return HookResult(code == 0, said[:_MAX_OUTPUT_BYTES].decode("utf-8", "replace"))


def port_of(port: int | str, spec: Obj) -> int:
    """A number, or the container port of this name. Raises LookupError if there is none."""
    if isinstance(port, int):
        return port
    if port.isdecimal():
        return int(port)
    for entry in spec.get("ports") or ():
        if entry.get("name") == port:
            return int(entry["containerPort"])
    raise LookupError(f"couldn't find port: {port}")


async def _tcp(handler: Obj, target: Target) -> HookResult:
    try:
        port = port_of(handler["port"], target.spec)
        _, writer = await asyncio.open_connection(handler.get("host") or target.ip, port)
    except (OSError, LookupError) as err:
        return HookResult(False, str(err))
    writer.close()
    return HookResult(True)


async def _http(handler: Obj, target: Target) -> HookResult:
    """Requests a page; 200 to 399 is a success. Unlike upstream, follows no redirects on the same host."""
    host = handler.get("host") or target.ip
    try:
        port = port_of(handler["port"], target.spec)
    except LookupError as err:
        return HookResult(False, str(err))
    secure = (handler.get("scheme") or "HTTP") == "HTTPS"
    path = _escaped(handler.get("path") or "/")
    url = f"{'https' if secure else 'http'}://{host}:{port}{path}"
    headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/longshore", "Accept": "*/*"}
    for header in handler.get("httpHeaders") or ():
        name = next((known for known in headers if known.lower() == header["name"].lower()), header["name"])
        headers[name] = header.get("value") or ""
    lines = [f"GET {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items() if v), "Connection: close"]
    try:
        reader, writer = await asyncio.open_connection(host, port, ssl=_unverified() if secure else None)
    except OSError as err:
        return HookResult(False, f'Get "{url}": {err}')
    try:
        writer.write("\r\n".join((*lines, "", "")).encode())
        first = await reader.readline()
        parts = first.split(None, 2)
        if len(parts) < 2 or not parts[1].isdigit():
            return HookResult(False, f'Get "{url}": malformed HTTP response')
        code = int(parts[1])
    except (OSError, ValueError) as err:
        return HookResult(False, f'Get "{url}": {err}')
    finally:
        writer.close()
    if 200 <= code < 400:
        return HookResult(True)
    return HookResult(False, f"HTTP probe failed with statuscode: {code}")


def _escaped(path: str) -> str:
    """A path as clients send it: from the root, escaped, without a fragment."""
    root = path if path.startswith("/") else f"/{path}"
    return quote(root.partition("#")[0], safe="/?%:@!$&'()*+,;=-._~[]")


def _unverified() -> ssl.SSLContext:
    """A TLS context that checks no certificates: as upstream, a probe asks only for an answer."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
