"""Fields of objects by path, as kustomize's configuration writes them: `spec/containers[]/image`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A map or list, and the key of a value in it."""

    holder: Any
    key: Any

    @property
    def value(self) -> Any:
        return self.holder[self.key]

    def set(self, value: Any) -> None:
        self.holder[self.key] = value


def find(obj: Any, path: str, *, create: bool = False) -> Iterator[Place]:
    """All places that a path leads to. `create` makes missing maps on the way, and the last value."""
    yield from _walk(obj, path.split("/"), create)


def _walk(at: Any, steps: list[str], create: bool) -> Iterator[Place]:
    step, rest = steps[0].removesuffix("[]"), steps[1:]
    if not isinstance(at, dict):
        return
    if at.get(step) is None:
        if not create or steps[0].endswith("[]"):
            return
        at[step] = {}
    if steps[0].endswith("[]"):
        items = at[step] if isinstance(at[step], list) else []
        for index, item in enumerate(items):
            if rest:
                yield from _walk(item, rest, create)
            else:
                yield Place(items, index)
    elif rest:
        yield from _walk(at[step], rest, create)
    else:
        yield Place(at, step)
