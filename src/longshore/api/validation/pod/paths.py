"""Rules for file paths inside volumes: where they may lead, and where not."""

from __future__ import annotations

from longshore.api import field
from longshore.api.field import FieldError


def climbs(value: str) -> bool:
    """Whether some element of the path is `..`."""
    return ".." in value and ".." in value.split("/")


def no_backsteps(value: str, path: str, found: list[FieldError]) -> None:
    if climbs(value):
        found.append(field.invalid(path, value, "must not contain '..'"))


def descending(value: str, path: str, found: list[FieldError]) -> None:
    """Checks that a path is relative and stays below its start."""
    if value.startswith("/"):
        found.append(field.invalid(path, value, "must be a relative path"))
    no_backsteps(value, path, found)


def not_reserved(value: str, path: str, found: list[FieldError]) -> None:
    """Checks a descending path that must not begin with `..`, which is reserved for the kubelet."""
    descending(value, path, found)
    if value.startswith("..") and not value.startswith("../"):
        found.append(field.invalid(path, value, "must not start with '..'"))
