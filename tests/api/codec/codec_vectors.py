"""The exchanges recorded from Kubernetes, as the codec's tests need them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from longshore.api.kinds import table
from longshore.api.resources import Resource
from support.places import RECORDED

_STAMPS = {"<time>": "2026-01-01T00:00:00Z", "<microtime>": "2026-01-01T00:00:00.000000Z"}
_PATH = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))(?:/namespaces/[^/]+)?"
    r"/(?P<plural>[a-z]+)(?:/[^/]+(?:/(?P<sub>[a-z]+))?)?"
)


def exchanges(*names: str) -> Iterator[dict[str, Any]]:
    """The exchanges of the named files, or of all."""
    files = sorted((RECORDED / "vectors/api").glob("*.json"))
    assert files, "the recorded exchanges are missing"
    for file in files:
        if not names or file.stem in names:
            text = file.read_text()
            for mark, value in _STAMPS.items():
                text = text.replace(mark, value)
            for exchange in json.loads(text):
                yield {**exchange, "id": f"{file.stem}:{exchange['name']}"}


def body_of(request: dict[str, Any]) -> bytes:
    text = request.get("bodyText")
    if text is None:
        text = json.dumps(request["body"], ensure_ascii=False) if request.get("body") is not None else ""
    return re.sub(r"<repeat:(.):(\d+)>", lambda m: m[1] * int(m[2]), text).encode()


def content_type_of(request: dict[str, Any]) -> str | None:
    headers = request.get("headers") or {}
    found: str | None = headers.get("Content-Type", "application/json")
    return found


def resource_of(path: str) -> tuple[Resource, str] | None:
    """The row of the table and the subresource that a path leads to."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    place = (match["group"] or "", match["core"] or match["version"], match["plural"])
    for row in table.RESOURCES:
        if (row.group, row.version, row.plural) == place:
            return row, match["sub"] or ""
    return None


def protobuf_samples() -> list[dict[str, Any]]:
    samples = RECORDED / "protobuf/samples.jsonl"
    return [json.loads(line) for line in samples.read_text().splitlines()]


def without_type(document: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in document.items() if k not in ("apiVersion", "kind")}
