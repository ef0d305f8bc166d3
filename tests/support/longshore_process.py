"""A real longshore for a test: `longshore up` as a process of its own, and plain REST calls to it.

For tests with clients that know nothing of longshore. Tests of longshore's own parts start it in
process instead (`longshore.up.running`), which is quicker.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import signal
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from support import forked_longshore

READY = re.compile(
    r"longshore \S+ is ready at (https://127\.0\.0\.1:\d+); use it with: export KUBECONFIG=(\S+)\n"
)


@dataclass
class RunningLongshore:
    server: str
    kubeconfig: Path
    config: dict[str, Any] = field(init=False)
    tls: ssl.SSLContext = field(init=False)

    def __post_init__(self) -> None:
        self.config = yaml.safe_load(self.kubeconfig.read_text())
        authority = self.config["clusters"][0]["cluster"]["certificate-authority-data"]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())

    @property
    def token(self) -> str:
        return str(self.config["users"][0]["user"]["token"])

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, Any]:
        """Status and decoded answer, also of a refusal."""
        url = self.server + path + ("?" + urllib.parse.urlencode(query) if query else "")
        request = urllib.request.Request(url, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", content_type)
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as err:
            with err:
                return err.code, json.load(err)

    def text(self, path: str) -> str:
        """What is there as plain text, as a pod's log is."""
        request = urllib.request.Request(
            self.server + path, headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, context=self.tls, timeout=20) as answer:
            return str(answer.read().decode())

    def made(self, method: str, path: str, body: object = None, **more: Any) -> Any:
        """The answer of a request that must succeed."""
        status, answer = self.request(method, path, body, **more)
        assert status < 300, answer
        return answer

    def forget(self) -> None:
        """Writes more than longshore remembers of the past (64 MiB), so that old versions are gone."""
        where = "/api/v1/namespaces/default/configmaps"
        self.made("POST", where, {"metadata": {"name": "big"}})
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection = http.client.HTTPSConnection(self.server.removeprefix("https://"), context=self.tls)
        with contextlib.closing(connection):
            for number in range(70):
                data = {"big": f"{number:02}" + "x" * 1_000_000}
                body = json.dumps({"metadata": {"name": "big"}, "data": data})
                connection.request("PUT", where + "/big", body, sent)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200


class Up:
    """A `longshore up` on a directory, which can be killed and started again there."""

    process: subprocess.Popen[str]
    client: RunningLongshore

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory, self.options = directory, options
        self.errors = directory.parent / "stderr"

    def start(self, *more: str) -> None:
        """Starts it, and waits until it serves. `more` are further options."""
        self.begin(*more)
        self.meet()

    def begin(self, *more: str, before: Callable[[], object] | None = None) -> None:
        """Starts it. `before` runs in the process first."""
        words = ["up", "--data-dir", str(self.directory)]
        words += ["--port", "0"]  # not the last one again: while it is dead, anybody may take it
        with self.errors.open("a") as errors:
            self.process = forked_longshore.popen(
                [*words, *self.options, *more], before=before, stdout=subprocess.PIPE, stderr=errors
            )

    def meet(self) -> RunningLongshore:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        ready = READY.fullmatch(line)
        assert ready is not None, f"longshore did not start: {line}{self.said()[-2000:]}"
        self.client = RunningLongshore(ready[1], Path(ready[2]))
        return self.client

    def said(self) -> str:
        """Everything on standard error so far, of all that ran on this directory."""
        return self.errors.read_text()

    def kill(self) -> None:
        """Ends it by SIGKILL; safe to call twice."""
        self.stop(signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends it by a signal; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()
            raise

    def wait(self, seconds: float = 20) -> int:
        """The exit code of a process that ends."""
        assert self.process.stdout is not None
        self.process.wait(seconds)
        self.process.stdout.close()
        return self.process.returncode


@contextlib.contextmanager
def longshore_up(*words: str) -> Iterator[RunningLongshore]:
    """A throw-away longshore on a free port; `words` are further options of `longshore up`."""
    with tempfile.TemporaryDirectory(prefix="longshore-") as folder:
        up = Up(Path(folder) / "data", *words)
        up.begin()
        try:
            yield up.meet()
        finally:
            up.stop()
        said = up.said()
    # A client must never make the server stumble: an unexpected error is logged with its traceback.
    assert "Traceback" not in said, said
