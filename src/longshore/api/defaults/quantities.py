"""Amounts finer than a thousandth are rounded up where they enter, so all later sums are in thousandths."""

from __future__ import annotations

from longshore.api import quantity
from longshore.api.types import Obj


def round_up(resources: Obj) -> None:
    """The `limits` and `requests` of a container, pod or claim."""
    if limits := resources.get("limits"):
        round_up_list(limits)
    if requests := resources.get("requests"):
        round_up_list(requests)


def round_up_list(amounts: dict[str, str]) -> None:
    for name, text in amounts.items():
        if text[-1:] in "un" or "." in text or "e-" in text or "E-" in text:
            rounded = quantity.ceiling_to_milli(text)
            if rounded != text:
                amounts[name] = rounded
