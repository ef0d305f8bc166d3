"""Every body that was ever sent to Kubernetes in the recordings gets the recorded verdict."""

from __future__ import annotations

import re
from typing import Any

import pytest

from api.codec.codec_vectors import body_of, content_type_of, exchanges, resource_of
from longshore.api.errors import StatusError
from longshore.apiserver.request import body

_REFUSAL = re.compile(
    "cannot be handled as|object provided is unrecognized|in an unknown format|the API version in the data"
)
_FINDING = re.compile(r'299 - "((?:unknown field|duplicate field|line \d+: key).*)"')
_SUBRESOURCES = {
    "binding": ("Binding", "v1"),
    "eviction": ("Eviction", "policy/v1"),
    "token": ("TokenRequest", "authentication.k8s.io/v1"),
}


def _writes() -> list[Any]:
    return [
        pytest.param(e, id=e["id"])
        for e in exchanges()
        if e["request"]["method"] in ("POST", "PUT") and resource_of(e["request"]["path"])
        and e["response"].get("status") != 405
    ]  # fmt: skip


def _read(exchange: dict[str, Any], warnings: list[str]) -> Any:
    request = exchange["request"]
    found = resource_of(request["path"])
    assert found is not None
    row, sub = found
    kind, group_version = _SUBRESOURCES.get(sub, ("", ""))
    if row.plural == "bindings":
        kind, group_version = "Binding", "v1"
    validation = (request.get("query") or {}).get("fieldValidation", "Warn")
    return body.object_from(
        body_of(request),
        content_type_of(request),
        row,
        field_validation=validation,
        warnings=warnings,
        kind=kind,
        group_version=group_version,
    )


@pytest.mark.parametrize("exchange", _writes())
def test_a_body_is_taken_or_refused_as_recorded(exchange: dict[str, Any]) -> None:
    answer = exchange["response"]
    recorded = answer.get("body") or {}
    message = recorded.get("message", "") if isinstance(recorded, dict) else ""
    warnings: list[str] = []
    if answer["status"] in (400, 415) and _REFUSAL.search(message):
        with pytest.raises(StatusError) as caught:
            _read(exchange, warnings)
        status = caught.value.status()
        shown = re.sub(r'in scheme "[^"]*"', 'in scheme "<scheme>"', status["message"])
        assert {**status, "message": shown} == recorded
        return
    if (exchange["request"].get("query") or {}).get("fieldValidation", "Warn") not in (
        "Warn",
        "Strict",
        "Ignore",
    ):
        return
    _read(exchange, warnings)
    found = [_FINDING.fullmatch(w) for w in (answer.get("headers") or {}).get("Warning") or []]
    assert warnings == [m[1].replace('\\"', '"') for m in found if m]
