"""Amounts of resources that people type: `500m`, `1Gi`."""

from __future__ import annotations

from argparse import ArgumentTypeError


def quantity(text: str) -> str:
    """An amount as it was written, for argparse, if Kubernetes can read it; an empty one asks for nothing."""
    from longshore.api import quantity

    try:
        if text:
            quantity.parse(text)
    except quantity.QuantityError:
        raise ArgumentTypeError(f"{text!r} is not an amount: write 2, 500m, 512Mi or 1.5Gi") from None
    return text
