"""`--sort-by`: objects in the order of one of their fields, as kubectl has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from longshore.cli.printing import path_templates

Each = TypeVar("Each")


def by_field(things: Sequence[Each], path: str, obj: Callable[[Each], Any]) -> list[Each]:
    """The things in the order of the field at `path` in the object of each: missing values, then numbers by
    size, then texts. Texts that are all quantities are compared as quantities: 9Gi is less than 10Gi.
    """
    find = path_templates.finder(path)
    values = [(find(obj(thing)) or [None])[0] for thing in things]
    texts = _keys([str(value) for value in values if not isinstance(value, int | float | None)])
    order = sorted(range(len(things)), key=lambda i: _place(values[i], texts))
    return [things[i] for i in order]


def _place(value: Any, texts: dict[str, Any]) -> tuple[int, Any]:
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, texts[str(value)])


def _keys(texts: Sequence[str]) -> dict[str, Any]:
    """Each text with what it is compared by."""
    from longshore.api import quantity

    try:
        return {text: quantity.parse(text).amount for text in texts}
    except quantity.QuantityError:
        return {text: text for text in texts}
