"""Sources that turn keys and fields into files: projected, downward API, items of secrets and config maps."""

from __future__ import annotations

from typing import Final

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation.pod import env, paths

_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_CLASH: Final = "conflicting duplicate paths"


def _mode(mode: int | None, path: str, found: list[FieldError]) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        found.append(field.invalid(path, mode, _MODE))


def validate_items(source: Obj, path: str, found: list[FieldError]) -> None:
    """Checks `defaultMode` and `items` of a secret or config map volume."""
    _mode(source.get("defaultMode"), f"{path}.defaultMode", found)
    for i, item in enumerate(source.get("items") or ()):
        _key_to_path(item, f"{path}.items[{i}]", found)


def _key_to_path(item: Obj, path: str, found: list[FieldError]) -> None:
    found += field.missing(item, path, "key", "path")
    file = item.get("path") or ""
    paths.not_reserved(file, f"{path}.path", found)
    _mode(item.get("mode"), f"{path}.mode", found)


def validate_downward(source: Obj, path: str, found: list[FieldError]) -> None:
    _mode(source.get("defaultMode"), f"{path}.defaultMode", found)
    for item in source.get("items") or ():
        _downward_file(item, path, found)


def _downward_file(item: Obj, path: str, found: list[FieldError]) -> None:
    """Checks one file of the downward API. Errors name the volume, not the item."""
    file = item.get("path") or ""
    if not file:
        found.append(field.required(f"{path}.path"))
    paths.not_reserved(file, f"{path}.path", found)
    ref, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if ref is not None:
        env.validate_field_ref(ref, env.VOLUME_FIELDS, f"{path}.fieldRef", found)
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(field.invalid(path, "resource", text))
    elif resource is not None:
        env.validate_resource_ref(resource, f"{path}.resourceFieldRef", found, in_volume=True)
    else:
        found.append(field.required(path, "one of fieldRef and resourceFieldRef is required"))
    _mode(item.get("mode"), f"{path}.mode", found)


def validate_projected(source: Obj, path: str, found: list[FieldError]) -> None:
    _mode(source.get("defaultMode"), f"{path}.defaultMode", found)
    files: set[str] = set()
    for i, part in enumerate(source.get("sources") or ()):
        here = f"{path}.sources[{i}]"
        count = 0
        for kind in ("secret", "configMap"):
            if (keys := part.get(kind)) is not None:
                count += 1
                _projected_keys(keys, f"{here}.{kind}", path, files, found)
        if (downward := part.get("downwardAPI")) is not None:
            count += 1
            for item in downward.get("items") or ():
                _downward_file(item, f"{here}.downwardAPI", found)
                _claim_path(item.get("path") or "", item.get("path") or "", path, files, found)
        if (token := part.get("serviceAccountToken")) is not None:
            count += 1
            _token(token, f"{here}.serviceAccountToken", path, found)
        if count > 1:
            found.append(field.forbidden(here, "may not specify more than 1 volume type per source"))


def _projected_keys(keys: Obj, path: str, volume: str, files: set[str], found: list[FieldError]) -> None:
    name = keys.get("name") or ""
    if not name:
        found.append(field.required(f"{path}.name"))
    for i, item in enumerate(keys.get("items") or ()):
        _key_to_path(item, f"{path}.items[{i}]", found)
        _claim_path(item.get("path") or "", name, volume, files, found)


def _claim_path(file: str, shown: str, path: str, files: set[str], found: list[FieldError]) -> None:
    if file in files:
        found.append(field.invalid(path, shown, _CLASH))
    elif file:
        files.add(file)


def _token(token: Obj, path: str, volume: str, found: list[FieldError]) -> None:
    seconds = token.get("expirationSeconds") or 0
    if seconds < 600:
        text = "may not specify a duration less than 10 minutes"
        found.append(field.invalid(f"{path}.expirationSeconds", seconds, text))
    if seconds > 1 << 32:
        text = "may not specify a duration larger than 2^32 seconds"
        found.append(field.invalid(f"{path}.expirationSeconds", seconds, text))
    file = token.get("path") or ""
    if not file:
        found.append(field.required(f"{volume}.path"))
    else:
        paths.not_reserved(file, f"{volume}.path", found)
