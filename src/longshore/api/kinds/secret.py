"""Secrets: base64 values, a type that asks for certain keys, and no change once `immutable`.

`stringData` is for writing only: its values are moved into `data` and replace values there.
"""

from __future__ import annotations

import base64
import json
from typing import Final

from longshore.api import field, identifiers
from longshore.api.codec import gosyntax
from longshore.api.defaults import fill
from longshore.api.field import FieldError
from longshore.api.kinds.configmap import MAX_DATA_BYTES, decoded_size, frozen
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata

OPAQUE: Final = "Opaque"
_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
_DOCKER_CONFIGS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def _default(obj: Obj) -> None:
    texts = obj.pop("stringData", None)
    if texts:
        data = obj["data"] = dict(obj.get("data") or {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode()).decode()
    fill(obj, type=OPAQUE)


def _validate_create(obj: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    data = obj.get("data") or {}
    size = 0
    for key, value in data.items():
        found += [field.invalid(f"data[{key}]", key, text) for text in identifiers.config_map_key(key)]
        size += decoded_size(value or "")
    if size > MAX_DATA_BYTES:
        found.append(field.too_long("data", MAX_DATA_BYTES))
    if obj["type"] != OPAQUE:
        found += _type_problems(obj, data)
    return found


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    found += field.changed(new, old, "type")
    if old.get("immutable"):
        found += frozen(new, old, ("data",))
    found += metadata.validate_create(new["metadata"], namespaced=True, name_rule="subdomain")
    return found + _validate_create(new)


def _type_problems(obj: Obj, data: dict[str, str]) -> list[FieldError]:
    """Checks that the keys which a well-known type requires are there."""
    kind = obj["type"]
    if kind in _DOCKER_CONFIGS:
        return _docker_config(_DOCKER_CONFIGS[kind], data)
    missing: list[str] = []
    match kind:
        case "kubernetes.io/service-account-token":
            if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT_NAME):
                return [field.required(f"metadata.annotations[{_ACCOUNT_NAME}]")]
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                missing = ["username", "password"]
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                missing = ["ssh-privatekey"]
        case "kubernetes.io/tls":
            missing = [key for key in ("tls.crt", "tls.key") if key not in data]
    return [field.required(f"data[{key}]") for key in missing]


def _docker_config(key: str, data: dict[str, str]) -> list[FieldError]:
    if key not in data:
        return [field.required(f"data[{key}]")]
    problem = _json_problem(base64.b64decode(data[key] or ""))
    return [field.invalid(f"data[{key}]", "<secret contents redacted>", problem)] if problem else []


_JSON_TYPES: Final = {list: "array", str: "string", int: "number", float: "number", bool: "bool"}


def _json_problem(raw: bytes) -> str:
    """Why the bytes are no JSON object; empty if they are one."""
    wrong = gosyntax.syntax_error(raw)
    if wrong is not None:
        return wrong
    value = json.loads(raw)
    if value is None or isinstance(value, dict):
        return ""
    found = _JSON_TYPES[type(value)]
    return f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    default=_default,
    validate_create=_validate_create,
    validate_update=_validate_update,
)
