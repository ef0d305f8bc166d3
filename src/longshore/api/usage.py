"""Measured usage of containers and machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec


class Used(NamedTuple):
    cores: float
    """The average over the window of the measurement."""
    memory: int
    """Bytes at the end of the window."""


class Measured(msgspec.Struct, frozen=True):
    """The usage of a node at one moment. `pods` has the running containers, by uid and container."""

    at: int
    """Seconds since 1970."""
    window: float
    node: Used
    pods: Mapping[str, Mapping[str, Used]]
