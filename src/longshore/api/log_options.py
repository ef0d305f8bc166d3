"""The options of pods/log, checked: which lines of a container's log a reader wants."""

from __future__ import annotations

from typing import Literal

import msgspec

from longshore.api.time.instants import Instant


class LogOptions(msgspec.Struct, frozen=True):
    """None and False mean: no such wish."""

    follow: bool = False
    """Go on with what the container writes, until it ends."""
    previous: bool = False
    """The run before the present one."""
    attempt: int | None = None
    """This run of the container, counted from 0: longshore's own option, for followers of restarts."""
    since_seconds: int | None = None
    since_time: Instant | None = None
    """Not both of these two."""
    timestamps: bool = False
    """Each line begins with its time and a space."""
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: Literal["All", "Stdout", "Stderr"] = "All"
    """Lines of one of the container's two outputs alone, where its engine tells them apart."""
