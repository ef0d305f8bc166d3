"""What must hold after every request, whatever it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from apiserver.fuzz.wishes import Wish
from longshore.api.types import encode
from longshore.apiserver.api import Api
from longshore.store import Key

UPSTREAM_5XX: Final = {
    "apply.json: unknown-field-is-an-error, wrong-type, duplicate-list-keys": (
        r"failed to create typed (patch|live) object|failed to convert new typed object"
    ),
    "binding-eviction.json: bind-no-target, bind-wrong-kind": r"\[?target\.(name|kind): ",
    "errors.json: get-with-version-too-large; list.json: version-future": (
        r"Timeout: Too large resource version: "
    ),
    "errors.json: get-with-version-bad; watch.json: bad-version": (
        r"resourceVersion: Invalid value: .*: strconv\.ParseUint: "
    ),
    "validation-update.json: cronjob-put-bad-version": r"strconv\.ParseUint: parsing ",
    "patch.json: smp-order-disagrees-with-list, smp-order-missing-item": r"The order in patch list:",
    "patch.json: smp-missing-merge-key, smp-delete-without-key": (
        r"map: .* does not contain declared merge key: "
    ),
    "patch.json: smp-*; other faults of such a patch, which upstream hands on in the same way": (
        r"unknown patch type: |unable to find api field in struct |expected a .*, but received a |"
        r"cannot merge lists without merge key|merging lists cannot yet be specified|"
        r"value for key \d+ is not a map|no elements in any of the given slices|"
        r"list element types are not identical"
    ),
    "upstream's registry, a create with a version": (
        r"resourceVersion should not be set on objects to be created"
    ),
}
"""Faults of the client that Kubernetes itself answers with a 5xx, with the recording that shows it."""
NO_NODE: Final = re.compile(r"/(log|exec|attach|portforward|proxy)(\?|/|$)")
"""Paths that answer 503 as long as no node is there."""

_UPSTREAM: Final = re.compile("|".join(f"({text})" for text in UPSTREAM_5XX.values()), re.DOTALL)


def check_answer(wish: Wish, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """A well-formed answer of the kind the status promises."""
    media = headers.get("content-type", "").partition(";")[0]
    assert b"see the server's log" not in body
    if status >= 500:
        _check_known(wish, status, media, body)
    if wish.method == "HEAD" or status in (204, 304):
        assert not body
        return
    if wish.is_stream and status == 200:
        return
    if media in ("application/json", "application/yaml"):
        document = _parsed(media, body)
    elif media == "application/vnd.kubernetes.protobuf":
        assert status < 300
        assert body.startswith(b"k8s\0")
        return
    else:
        assert media in ("text/plain", "") or "openapi" in wish.target, f"odd Content-Type {media!r}"
        assert status in (200, 404), body
        return
    if re.match(r"/+(openapi|version|\?|$)", wish.target):
        return  # no API objects
    assert document["kind"]
    assert document.get("apiVersion") or document["kind"] in ("APIResourceList", "APIVersions")
    if status >= 400:
        _check_status(status, document)


def _parsed(media: str, body: bytes) -> Any:
    return json.loads(body) if media == "application/json" else yaml.load(body, Loader=yaml.CSafeLoader)


def _check_status(status: int, document: Any) -> None:
    assert document["kind"] == "Status"
    assert document["apiVersion"] == "v1"
    assert document["status"] == "Failure"
    assert document["code"] == status
    assert isinstance(document["message"], str)
    assert document["message"]
    assert isinstance(document["metadata"], dict)
    for cause in (document.get("details") or {}).get("causes") or ():
        assert set(cause) <= {"reason", "message", "field"}


def _check_known(wish: Wish, status: int, media: str, body: bytes) -> None:
    if status == 503 and NO_NODE.search(wish.target):
        return
    if wish.method == "HEAD":
        return
    message = _parsed(media, body)["message"]
    assert _UPSTREAM.match(message), f"{status}: {message}"


def check_unchanged(api: Api, revision: int, wish: Wish, before: bytes | None) -> None:
    """After an error nothing was written, and nobody wrote into an object that is shared."""
    assert api.store.revision == revision, "an error, but something was written"
    if wish.resource is not None and wish.name:
        assert stored(api, wish) == before


def stored(api: Api, wish: Wish) -> bytes | None:
    """The bytes of the object a request is about; its decoded view must still say the same."""
    if wish.resource is None or not wish.name:
        return None
    namespace = "default" if wish.resource.namespaced else ""
    entry = api.store.latest(Key(wish.resource.storage, namespace, wish.name))
    if entry is None:
        return None
    assert encode(entry.obj) == entry.raw, "a stored object was written into"
    return entry.raw
