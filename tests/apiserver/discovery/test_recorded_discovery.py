"""Discovery documents as Kubernetes gave them, trimmed to what the recording keeps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.kinds import table as kinds
from longshore.apiserver.documents.discovery import Discovery
from longshore.apiserver.documents.document import Document
from longshore.apiserver.request.negotiate import Output
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api/discovery.json"
EXCHANGES = json.loads(VECTORS.read_text())
PATHS = [e for e in EXCHANGES if e["request"]["path"].startswith("/api")]
FOUND = [e for e in PATHS if e["response"]["status"] == 200]
REFUSED = [e for e in PATHS if e["response"]["status"] == 406]


def reach(value: Any, path: str) -> Any:
    for part in path.split("/"):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def trim(value: Any, at: list[str], by: str, wanted: list[str]) -> Any:
    """Keeps only the entries of the list at a pointer whose value `by` is wanted."""
    if not at:
        return [entry for entry in value if reach(entry, by) in wanted]
    head, *rest = at
    if head == "*":
        return [trim(entry, rest, by, wanted) for entry in value]
    return {**value, head: trim(value[head], rest, by, wanted)}


def test_there_are_recorded_exchanges_to_compare() -> None:
    assert len(FOUND) > 15
    assert len(FOUND) + len(REFUSED) == len(PATHS)


def find(exchange: dict[str, Any]) -> tuple[Document, Output] | None:
    discovery = Discovery(lambda: kinds.RESOURCES)
    accept = (exchange["request"].get("headers") or {}).get("Accept")
    return discovery.find(exchange["request"]["path"], accept, "127.0.0.1:6443")


@pytest.mark.parametrize("exchange", REFUSED, ids=lambda e: e["name"])
def test_a_refusal_is_the_recorded_one(exchange: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as refused:
        find(exchange)
    assert refused.value.status() == exchange["response"]["body"]


@pytest.mark.parametrize("exchange", FOUND, ids=lambda e: e["name"])
def test_a_document_is_the_recorded_one(exchange: dict[str, Any]) -> None:
    response = exchange["response"]
    found = find(exchange)
    assert found is not None
    document, output = found
    body = json.loads(document.body)
    for keep in exchange.get("keep", []):
        body = trim(body, keep["at"].strip("/").split("/"), keep["by"], keep["in"])
    for pointer in exchange.get("ignore", []):
        body[pointer.strip("/")] = "<any>"
    assert body == response["body"]
    assert document.content_type == output.media_type == response["headers"]["Content-Type"]
