"""The images that longshore knows without being told.

Patterns of images begin with `*`, so a user's entry of the same name, or a more particular one, wins.
"""

from __future__ import annotations

from typing import Final

from longshore.node.images.image_table import Entry, Row, Table

PAUSE: Final = ("sh", "-c", 'trap "kill \\$!; exit 0" INT TERM; while :; do sleep 86400 & wait; done')
"""Waits until it is told to end, and then ends with 0. As the first process of a container it takes up the
ends of processes that lost their parents, because the shell's `wait` does."""
_SHELL: Final = Entry(args=("sh",))
HOST: Final = "host"
"""The image of what `longshore run -- COMMAND` makes: no image at all."""

ROWS: Final = tuple(
    Row(pattern, entry, "built-in")
    for pattern, entry in (
        (HOST, Entry()),
        ("*/pause:*", Entry(command=PAUSE)),
        ("*/pause-*:*", Entry(command=PAUSE)),
        ("*/busybox:*", Entry(args=("sh",), applets="busybox")),
        ("*/alpine:*", _SHELL),
        ("*/debian:*", _SHELL),
        ("*/ubuntu:*", _SHELL),
    )
)
TABLE: Final = Table(ROWS)
