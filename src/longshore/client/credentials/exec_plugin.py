"""Credentials from a program, as in cloud providers' kubeconfigs (client.authentication.k8s.io).

The program runs when credentials are first needed, when they expire, and after a 401. It is found on an
absolute PATH entry or beside the kubeconfig, never in the current directory, and runs without a shell.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from longshore.api.time import instants, rfc3339
from longshore.api.types import Obj
from longshore.client.credentials import Credentials
from longshore.client.errors import CredentialsError


class ExecSpec(msgspec.Struct, frozen=True):
    """The `exec` part of a kubeconfig's user."""

    api_version: str
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    interactive: str
    """Never, IfAvailable or Always."""
    install_hint: str = ""
    cluster: Obj | None = None
    """The description of the cluster for the program, if it asked for one."""


class ExecPlugin(Credentials):
    def __init__(self, spec: ExecSpec, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._spec, self._clock = spec, clock
        self._lock = asyncio.Lock()
        self._token = ""
        self._pair: tuple[bytes, bytes] | None = None
        self._expires: datetime | None = None
        self._fresh = False

    async def headers(self) -> dict[str, str]:
        async with self._lock:  # many requests, one run
            if not self._fresh or (self._expires is not None and self._clock() >= self._expires):
                self._keep(await self._run())
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._pair

    def forget(self) -> bool:
        self._fresh = False
        return True

    async def _run(self) -> bytes:
        spec = self._spec
        interactive = spec.interactive != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if spec.interactive == "Always" and not interactive:
            raise self._error("needs a terminal on standard input (interactiveMode: Always)")
        info: Obj = {
            "kind": "ExecCredential",
            "apiVersion": spec.api_version,
            "spec": {"interactive": interactive},
        }
        if spec.cluster is not None:
            info["spec"]["cluster"] = spec.cluster
        env = {**os.environ, **spec.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}
        try:
            process = await asyncio.create_subprocess_exec(
                self._program(env),
                *spec.args,
                env=env,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as err:
            raise self._error(f"cannot be run: {err.strerror}") from None
        try:
            output, _ = await process.communicate()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        if process.returncode != 0:
            raise self._error(f"failed with exit code {process.returncode}")
        return output

    def _program(self, env: Mapping[str, str]) -> str:
        command = self._spec.command
        if "/" in command:
            return command
        path = os.pathsep.join(p for p in env.get("PATH", "").split(os.pathsep) if os.path.isabs(p))
        found = shutil.which(command, path=path)
        if found is None:
            raise self._error("is not on the PATH")
        return found

    def _keep(self, output: bytes) -> None:
        try:
            answer = msgspec.json.decode(output)
        except (msgspec.DecodeError, UnicodeDecodeError) as err:
            raise self._error(f"printed something that is not JSON: {err}") from None
        if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
            raise self._error("did not print an ExecCredential")
        if answer.get("apiVersion") != self._spec.api_version:
            version = answer.get("apiVersion")
            raise self._error(f"answered in version {version!r}, expected {self._spec.api_version}")
        status = answer.get("status")
        if not isinstance(status, dict):
            raise self._error("printed an ExecCredential without a status")
        token = status.get("token") or ""
        cert, key = status.get("clientCertificateData"), status.get("clientKeyData")
        if bool(cert) != bool(key):
            raise self._error("must give clientCertificateData and clientKeyData together")
        if not token and not cert:
            raise self._error("gave neither a token nor a client certificate")
        self._token = token
        self._pair = (cert.encode(), key.encode()) if cert and key else None
        self._expires = self._expiry(status.get("expirationTimestamp"))
        self._fresh = True

    def _expiry(self, text: str | None) -> datetime | None:
        if not text:
            return None
        try:
            return instants.moment(rfc3339.parse(text))
        except (ValueError, TypeError, OverflowError):
            raise self._error(f"gave an expirationTimestamp that is no time: {text!r}") from None

    def _error(self, what: str) -> CredentialsError:
        hint = f"\n{self._spec.install_hint}" if self._spec.install_hint else ""
        return CredentialsError(f"exec plugin {self._spec.command!r} of the kubeconfig {what}{hint}")
