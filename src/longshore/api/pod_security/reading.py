"""A pod as the checks of Pod Security read it. Templates in custom kinds are not checked for types, so a
value of another type than mapping or list counts as missing where one of these is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from longshore.api.types import Obj

_PARTS: Final = ("initContainers", "containers", "ephemeralContainers")


class Forbidden(NamedTuple):
    """The result of a check that a pod fails."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Container(NamedTuple):
    """A container, with its securityContext."""

    name: str
    spec: Mapping[str, Any]
    context: Mapping[str, Any]


class Pod:
    """A pod or a pod template. `minor` is the version of the standards, 1.`minor`."""

    def __init__(self, obj: Obj, minor: int) -> None:
        self.minor = minor
        self.annotations = mapping(mapping(obj.get("metadata")).get("annotations"))
        self.spec = mapping(obj.get("spec"))
        self.context = mapping(self.spec.get("securityContext"))
        self.containers = [
            Container(str(each.get("name", "")), each, mapping(each.get("securityContext")))
            for part in _PARTS
            for each in mappings(self.spec.get(part))
        ]

    @property
    def is_of_windows(self) -> bool:
        return bool(mapping(self.spec.get("os")).get("name") == "windows")

    @property
    def has_own_users(self) -> bool:
        return self.spec.get("hostUsers") is False

    def setters(self, is_bad: Callable[[Mapping[str, Any]], bool]) -> str:
        """The pod and the containers whose securityContext is bad, as a text; empty for none."""
        found = ["pod"] if is_bad(self.context) else []
        if bad := [each.name for each in self.containers if is_bad(each.context)]:
            found.append(named(bad))
        return " and ".join(found)


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    """The entries of a list that are mappings."""
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def quoted(values: Iterable[str]) -> str:
    return ", ".join(f'"{value}"' for value in values)


def count(singular: str, many: Sequence[Any] | set[Any]) -> str:
    """The singular or the plural of a word."""
    return singular if len(many) == 1 else f"{singular}s"


def named(containers: Sequence[str], what: str = "container") -> str:
    """Names of containers as messages list them: `containers "a", "b"`."""
    return f"{count(what, containers)} {quoted(containers)}"
