"""ConfigMaps and Secrets: keys, sizes, types and the immutable mark."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from support.places import RECORDED

VECTORS = RECORDED / "vectors/api"
FROZEN = "Forbidden: field is immutable when `immutable` is set"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_recorded_config_maps_are_refused_in_kubernetes_words(kind: Callable[..., Any]) -> None:
    maps, checked = kind("configmaps"), 0
    for exchange in json.loads((VECTORS / "metadata.json").read_text()):
        if exchange["response"]["status"] != 422 or not exchange["request"]["path"].endswith("/configmaps"):
            continue
        body = exchange["request"]["body"]
        if "<repeat" in json.dumps(body):
            continue
        with pytest.raises(StatusError) as caught:
            maps.create(body)
        assert caught.value.status() == exchange["response"]["body"], exchange["name"]
        checked += 1
    assert checked > 15


def test_a_config_map_is_limited_to_one_mebibyte(kind: Callable[..., Any]) -> None:
    maps = kind("configmaps")
    half = 512 * 1024
    body = {
        "metadata": {"name": "m"},
        "data": {"a": "x" * half},
        "binaryData": {"b": base64.b64encode(b"y" * half).decode()},
    }
    maps.create(body)
    body["data"]["a"] += "x"
    with pytest.raises(StatusError) as caught:
        maps.create(body)
    text = "Too long: may not be more than 1048576 bytes"
    assert caught.value.message == f'ConfigMap "m" is invalid: : {text}'
    assert (caught.value.details or {})["causes"] == [{"reason": "FieldValueTooLong", "message": text}]


def test_an_immutable_config_map_keeps_its_mark_and_its_values(kind: Callable[..., Any]) -> None:
    maps = kind("configmaps")
    old = maps.create({"metadata": {"name": "m"}, "data": {"a": "1"}, "immutable": True})
    maps.update(old, {"metadata": {**old["metadata"], "labels": {"a": "b"}}})
    assert maps.refusal(maps.update, old, {"data": {"a": "2"}, "immutable": None}) == (
        f"[immutable: {FROZEN}, data: {FROZEN}]"
    )
    assert maps.refusal(maps.update, old, {"binaryData": {"b": "AA=="}}) == f"binaryData: {FROZEN}"


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ({"type": "kubernetes.io/tls"}, "[data[tls.crt]: Required value, data[tls.key]: Required value]"),
        (
            {"type": "kubernetes.io/basic-auth"},
            "[data[username]: Required value, data[password]: Required value]",
        ),
        ({"type": "kubernetes.io/ssh-auth"}, "data[ssh-privatekey]: Required value"),
        (
            {"type": "kubernetes.io/service-account-token"},
            "metadata.annotations[kubernetes.io/service-account.name]: Required value",
        ),
        ({"type": "kubernetes.io/dockerconfigjson"}, "data[.dockerconfigjson]: Required value"),
        (
            {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": encoded("{")}},
            'data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input',
        ),
        (
            {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": encoded("[]")}},
            'data[.dockercfg]: Invalid value: "<secret contents redacted>": '
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        ({"data": {"a/b": "AA=="}}, "data[a/b]: Invalid value: "),
    ],
)
def test_a_secret_of_a_known_type_needs_its_keys(kind: Callable[..., Any], secret: Obj, text: str) -> None:
    secrets = kind("secrets")
    found = secrets.refusal(secrets.create, {"metadata": {"name": "s"}, **secret})
    assert found.startswith(text)


@pytest.mark.parametrize(
    "secret",
    [
        {"type": "kubernetes.io/basic-auth", "stringData": {"username": ""}},
        {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "", "tls.key": ""}},
        {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}},
        {"type": "example.com/anything"},
    ],
)
def test_a_complete_secret_is_taken(kind: Callable[..., Any], secret: Obj) -> None:
    kind("secrets").create({"metadata": {"name": "s"}, **secret})


def test_the_type_of_a_secret_is_fixed(kind: Callable[..., Any]) -> None:
    secrets = kind("secrets")
    old = secrets.create({"metadata": {"name": "s"}, "data": {"a": "AA=="}, "immutable": True})
    assert secrets.refusal(secrets.update, old, {"type": "x", "stringData": {"a": "b"}}) == (
        f'[type: Invalid value: "x": field is immutable, data: {FROZEN}]'
    )


def test_a_secret_is_limited_to_one_mebibyte(kind: Callable[..., Any]) -> None:
    secrets = kind("secrets")
    body = {"metadata": {"name": "s"}, "stringData": {"a": "x" * (1024 * 1024 + 1)}}
    assert secrets.refusal(secrets.create, body) == "data: Too long: may not be more than 1048576 bytes"
