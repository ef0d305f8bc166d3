"""ConfigMaps: keys that can be file names, 1 MiB of values, and no change once `immutable`."""

from __future__ import annotations

from typing import Final

from longshore.api import field, identifiers
from longshore.api.field import FieldError
from longshore.api.strategy import Strategy
from longshore.api.types import Obj
from longshore.api.validation import metadata

MAX_DATA_BYTES: Final = 1024 * 1024
IMMUTABLE: Final = "field is immutable when `immutable` is set"


def _validate_create(obj: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        found += [field.invalid(f"data[{key}]", key, text) for text in identifiers.config_map_key(key)]
        if key in binary:
            found.append(field.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        found += [field.invalid(f"binaryData[{key}]", key, text) for text in identifiers.config_map_key(key)]
        size += decoded_size(value)
    if size > MAX_DATA_BYTES:
        found.append(field.too_long("", MAX_DATA_BYTES))
    return found


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    if old.get("immutable"):
        found += frozen(new, old, ("data", "binaryData"))
    found += metadata.validate_create(new["metadata"], namespaced=True, name_rule="subdomain")
    return found + _validate_create(new)


def decoded_size(base64_text: str) -> int:
    """How many bytes a canonical base64 text decodes to."""
    return len(base64_text) * 3 // 4 - base64_text[-2:].count("=")


def frozen(new: Obj, old: Obj, parts: tuple[str, ...]) -> list[FieldError]:
    """The forbidden changes to an object marked immutable: the mark itself, or one of its parts."""
    changed = [] if new.get("immutable") else ["immutable"]
    changed += [part for part in parts if (new.get(part) or {}) != (old.get(part) or {})]
    return [field.forbidden(part, IMMUTABLE) for part in changed]


STRATEGY: Final = Strategy(
    counts_generation=False,
    has_status=False,
    validate_create=_validate_create,
    validate_update=_validate_update,
)
