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
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

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


@contextlib.contextmanager
def longshore_up(*words: str) -> Iterator[RunningLongshore]:
    """A throw-away longshore on a free port; `words` are further options of `longshore up`."""
    with tempfile.TemporaryDirectory(prefix="longshore-") as data, tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "longshore", "up", "--data-dir", data, "--port", "0", *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout is not None
        try:
            ready = READY.fullmatch(process.stdout.readline())
            if ready is None:
                errors.seek(0)
                raise RuntimeError(f"longshore did not start: {errors.read()}")
            yield RunningLongshore(ready[1], Path(ready[2]))
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        errors.seek(0)
        said = errors.read()
    # A client must never make the server stumble: an unexpected error is logged with its traceback.
    assert "Traceback" not in said, said
