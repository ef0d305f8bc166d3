"""The objects that benchmarks write, and their requests as bytes."""

from __future__ import annotations

import json
import time
from typing import Any

_TEMPLATE = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": "busybox:1.36",
                "command": ["sh", "-c", "echo hello"],
                "env": [{"name": "LEVEL", "value": "info"}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            }
        ],
    }
}
_KINDS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "pods": ("/api/v1/namespaces/default/pods", "v1", "Pod", _TEMPLATE),
    "jobs": ("/apis/batch/v1/namespaces/default/jobs", "batch/v1", "Job", {"spec": {"template": _TEMPLATE}}),
    "configmaps": ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap", {"data": {"k": "v" * 100}}),
}
KINDS = tuple(_KINDS)
WATCHED = 200
"""How many ConfigMaps `touch` writes to, in turn."""


def request_bytes(kind: str, number: int, token: str) -> bytes:
    """The whole request that creates object `number`; `touch` changes a ConfigMap instead."""
    if kind == "touch":
        return _touch(number, token)
    path, api_version, name, rest = _KINDS[kind]
    metadata = {"name": f"{name.lower()}-{number:07}", "labels": {"app": "bench", "n": str(number % 100)}}
    body = {"apiVersion": api_version, "kind": name, "metadata": metadata, **rest}
    return _request("POST", path, "application/json", body, token)


def _touch(number: int, token: str) -> bytes:
    path = f"{_KINDS['configmaps'][0]}/configmap-{number % WATCHED:07}"
    body = {"data": {"sent": f"{time.monotonic_ns():020}", "number": str(number)}}
    return _request("PATCH", path, "application/merge-patch+json", body, token)


def _request(method: str, path: str, media: str, body: Any, token: str) -> bytes:
    raw = json.dumps(body, separators=(",", ":")).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"User-Agent: bench/1\r\nAccept: application/json\r\nContent-Type: {media}\r\n"
        f"Content-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw
