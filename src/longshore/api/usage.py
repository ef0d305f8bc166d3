"""Measured usage of containers and machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec


class Used(NamedTuple):
    cores: float
    """On average over the window of the measurement."""
    memory: int
    """Bytes, at its end."""


class Measured(msgspec.Struct, frozen=True):
    """A node at one moment. `pods` holds what runs, by uid and container."""

    at: int
    """Seconds since 1970."""
    window: float
    node: Used
    pods: Mapping[str, Mapping[str, Used]]
